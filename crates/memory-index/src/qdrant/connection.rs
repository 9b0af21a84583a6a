//! The connection to a Qdrant cluster: asks one of its nodes, and another one when it does not
//! answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use qdrant_client::{Qdrant, QdrantError};
use tokio::time::{Instant, timeout};
use tonic::Code;

use super::addresses::Addresses;
use crate::backend::Backend;
use crate::candidate_cache::CandidateCache;
use crate::config::IndexConfig;
use crate::error::IndexError;
use crate::index::IndexState;
use crate::schema::IndexSchema;

/// Bit: the index is being rebuilt.
const REBUILDING: u8 = 1;
/// Bit: it did not answer the last request.
const SILENT: u8 = 2;
/// Before the first request.
const UNKNOWN: u8 = SILENT;

/// An index in a Qdrant cluster, over gRPC.
pub struct QdrantIndex {
    addresses: Addresses,
    pub(super) schema: IndexSchema,
    pub(super) config: IndexConfig,
    state: AtomicU8,
    pub(super) cache: CandidateCache,
}

impl QdrantIndex {
    /// Creates a client for each address, which connects on first use.
    ///
    /// # Errors
    /// [`IndexError::Config`] if an address is missing or invalid.
    pub fn connect(config: &IndexConfig, schema: IndexSchema) -> Result<Self, IndexError> {
        Ok(Self {
            addresses: Addresses::new(config)?,
            schema,
            config: config.clone(),
            state: AtomicU8::new(UNKNOWN),
            cache: CandidateCache::default(),
        })
    }

    /// Records whether Qdrant answered. The rebuild flag survives an outage.
    pub(super) fn answered(&self, answered: bool) {
        if answered {
            self.state.fetch_and(!SILENT, Ordering::Relaxed);
        } else {
            self.state.fetch_or(SILENT, Ordering::Relaxed);
        }
    }

    pub(super) fn set_rebuilding(&self, rebuilding: bool) {
        self.state
            .store(if rebuilding { REBUILDING } else { 0 }, Ordering::Relaxed);
    }

    /// The state at the last answer.
    pub(super) fn state(&self) -> IndexState {
        match self.state.load(Ordering::Relaxed) {
            0 => IndexState::Ready,
            REBUILDING => IndexState::Rebuilding,
            _ => IndexState::Unavailable,
        }
    }

    /// Waits at most `limit` for an answer, and records whether Qdrant answered. A node that
    /// does not answer is not asked first again. Every request is idempotent, so another node
    /// may be sent it once more. Each node has its share of the time that is left, so a silent
    /// one leaves time for the others.
    pub(super) async fn ask<T, F>(
        &self,
        operation: &'static str,
        limit: Duration,
        request: impl Fn(Arc<Qdrant>) -> F,
    ) -> Result<T, IndexError>
    where
        F: Future<Output = Result<T, QdrantError>>,
    {
        let deadline = Instant::now() + limit;
        let mut silent = None;
        for (nodes_left, (place, client)) in (1..=self.addresses.count())
            .rev()
            .zip(self.addresses.in_turn())
        {
            let share = deadline.saturating_duration_since(Instant::now()) / nodes_left;
            let answer = match timeout(share, request(Arc::clone(client))).await {
                Ok(answer) => answer.map_err(|error| self.failed(operation, error)),
                Err(_) => Err(IndexError::Timeout {
                    backend: Backend::Qdrant,
                    after: limit,
                }),
            };
            match answer {
                Err(error @ (IndexError::Unavailable { .. } | IndexError::Timeout { .. })) => {
                    self.addresses.turn_from(place);
                    silent = Some(error);
                }
                answer => {
                    if answer.is_ok() {
                        self.answered(true);
                    }
                    return answer;
                }
            }
        }
        self.answered(false);
        Err(silent.unwrap_or(IndexError::Timeout {
            backend: Backend::Qdrant,
            after: limit,
        }))
    }

    fn failed(&self, operation: &'static str, error: QdrantError) -> IndexError {
        let backend = Backend::Qdrant;
        let code = match &error {
            // The client's own message for a failed connection.
            QdrantError::ResponseError { status }
                if status.message().starts_with("Failed to connect") =>
            {
                Code::Unavailable
            }
            QdrantError::ResponseError { status } => status.code(),
            QdrantError::ResourceExhaustedError { .. } => Code::ResourceExhausted,
            QdrantError::Io(_) => Code::Unavailable,
            _ => Code::InvalidArgument,
        };
        match code {
            Code::NotFound => IndexError::Lost {
                backend,
                collection: self.schema.collection().to_owned(),
            },
            Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Cancelled
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Unknown => IndexError::Unavailable {
                backend,
                source: short(&error).into(),
            },
            Code::Ok
            | Code::InvalidArgument
            | Code::AlreadyExists
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::Internal
            | Code::DataLoss
            | Code::Unauthenticated => IndexError::Refused {
                backend,
                operation,
                source: short(&error).into(),
            },
        }
    }
}

/// The client's error without the Debug output of metadata and transport errors in it.
fn short(error: &QdrantError) -> String {
    let (QdrantError::ResponseError { status }
    | QdrantError::ResourceExhaustedError { status, .. }) = error
    else {
        return error.to_string();
    };
    let message = status.message();
    match message.split_once(": tonic::transport::Error") {
        Some((what, why)) => match why.split_once("message: \"") {
            Some((_, why)) => format!("{what}: {}", why.split('"').next().unwrap_or_default()),
            None => what.to_owned(),
        },
        None => format!("{}: {message}", status.code()),
    }
}

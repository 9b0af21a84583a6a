//! The nodes of a Qdrant cluster: asks one of them, and another when it does not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use qdrant_client::{Qdrant, QdrantError};
use secrecy::ExposeSecret;
use tokio::time::{Instant, timeout};
use tonic::Code;

use super::QdrantIndex;
use crate::config::IndexConfig;
use crate::error::RecallError;
use crate::index::Backend;

/// A client for each address, of which one is in use.
pub(super) struct Addresses {
    clients: Vec<Arc<Qdrant>>,
    /// The place of the one in use.
    current: AtomicUsize,
}

impl Addresses {
    pub(super) fn new(config: &IndexConfig) -> Result<Self, RecallError> {
        let wrong = |problem: String| RecallError::Config {
            key: "index.url",
            problem,
        };
        let mut clients = Vec::new();
        for address in config.addresses() {
            let mut settings = Qdrant::from_url(address)
                .timeout(config.write_timeout)
                .connect_timeout(config.connect_timeout)
                .keep_alive_while_idle()
                .skip_compatibility_check();
            if let Some(key) = &config.api_key {
                settings.set_api_key(key.expose_secret());
            }
            let client = settings.build().map_err(|error| wrong(error.to_string()))?;
            clients.push(Arc::new(client));
        }
        if clients.is_empty() {
            return Err(wrong("the Qdrant backend needs an address".to_owned()));
        }
        Ok(Self {
            clients,
            current: AtomicUsize::new(0),
        })
    }

    fn count(&self) -> u32 {
        u32::try_from(self.clients.len()).unwrap_or(u32::MAX)
    }

    /// Each client once, beginning with the one in use, and its place.
    fn in_turn(&self) -> impl Iterator<Item = (usize, &Arc<Qdrant>)> {
        let (first, count) = (self.current.load(Ordering::Relaxed), self.clients.len());
        (first..first + count).map(move |place| (place % count, &self.clients[place % count]))
    }
}

impl QdrantIndex {
    /// Awaits an answer for at most `limit`, and records whether Qdrant answered. A node that
    /// does not answer is not asked first again. Every request is idempotent, so another node
    /// may be sent it once more. Each node has its share of the time that is left, so a silent
    /// one leaves time for the others.
    pub(super) async fn ask<T, F>(
        &self,
        operation: &'static str,
        limit: Duration,
        request: impl Fn(Arc<Qdrant>) -> F,
    ) -> Result<T, RecallError>
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
                Err(_) => Err(RecallError::IndexTimeout {
                    backend: Backend::Qdrant,
                    after: limit,
                }),
            };
            let current = &self.addresses.current;
            match answer {
                Err(
                    error @ (RecallError::IndexUnavailable { .. }
                    | RecallError::IndexTimeout { .. }),
                ) => {
                    let next = (place + 1) % self.addresses.clients.len();
                    // Another request may have chosen one already.
                    let _ =
                        current.compare_exchange(place, next, Ordering::Relaxed, Ordering::Relaxed);
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
        Err(silent.unwrap_or(RecallError::IndexTimeout {
            backend: Backend::Qdrant,
            after: limit,
        }))
    }

    fn failed(&self, operation: &'static str, error: QdrantError) -> RecallError {
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
            Code::NotFound => RecallError::IndexLost {
                backend,
                collection: self.schema.collection().to_owned(),
            },
            Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Cancelled
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Unknown => RecallError::IndexUnavailable {
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
            | Code::Unauthenticated => RecallError::IndexRefused {
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

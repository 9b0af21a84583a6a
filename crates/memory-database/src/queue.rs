//! What the queues of workers have in common.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio_postgres::Row;
use uuid::Uuid;

use crate::{StoreError, rows::column};

/// Characters of an error that are kept.
const ERROR_CHARS: usize = 2_000;
/// The pause after the first failure; it doubles with each further one.
const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// The longest pause. Jobs are never given up. The configuration allows no longer lease, nor a
/// longer time until a thread is quiet.
pub const MAX_RETRY_PAUSE: Duration = Duration::from_secs(3_600);

/// Identifies a claim of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseId(Uuid);

impl LeaseId {
    /// A new unique name.
    #[expect(
        clippy::new_without_default,
        reason = "a random default would surprise"
    )]
    pub fn new() -> Self {
        Self(Uuid::new_v4())
    }

    /// The name as a query parameter.
    pub fn uuid(self) -> Uuid {
        self.0
    }
}

/// Which tenant has its turn in a queue: the one after the last that had it.
#[derive(Debug, Default)]
pub struct Turn(Mutex<String>);

impl Turn {
    /// The last tenant that had its turn.
    pub fn last(&self) -> String {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    /// Passes the turn on from the last tenant of a claim.
    ///
    /// # Errors
    /// `Corrupt` for a row without `turn` and `tenant_id`.
    pub fn pass(&self, claimed: &[Row]) -> Result<(), StoreError> {
        let mut latest = (0, None);
        for row in claimed {
            let turn: i64 = column(row, "turn")?;
            if turn >= latest.0 {
                latest = (turn, Some(column(row, "tenant_id")?));
            }
        }
        if let (_, Some(tenant)) = latest {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = tenant;
        }
        Ok(())
    }
}

/// The pause after a number of attempts: 5 seconds, doubled each time, at most an hour.
pub fn retry_pause(attempts: i32) -> Duration {
    let doublings = attempts.saturating_sub(1).clamp(0, 16).unsigned_abs();
    (RETRY_PAUSE * (1 << doublings)).min(MAX_RETRY_PAUSE)
}

/// An error text without NUL, cut to the stored length.
pub fn error_text(error: &str) -> String {
    let readable = error.chars().filter(|c| *c != '\0');
    readable.take(ERROR_CHARS).collect()
}

#[cfg(test)]
mod tests;

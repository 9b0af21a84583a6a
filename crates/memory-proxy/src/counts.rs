//! What became of requests and turns, since the start.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

/// Counters.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) requests: AtomicU64,
    pub(crate) used: AtomicU64,
    pub(crate) unavailable: AtomicU64,
    pub(crate) waiting: AtomicU64,
    pub(crate) stored: AtomicU64,
    pub(crate) known: AtomicU64,
    pub(crate) unfinished: AtomicU64,
    pub(crate) lost: AtomicU64,
}

/// The counters at one moment, as `/recollect/status` shows them.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    /// Requests to which memory could be added.
    requests: u64,
    /// Requests that got memory.
    requests_with_memory: u64,
    /// Requests that went on without memory because Recollect did not answer in time.
    requests_without_recollect: u64,
    /// Turns that wait to be stored.
    turns_waiting: u64,
    turns_stored: u64,
    /// Turns that were stored already.
    turns_known: u64,
    /// Answers that did not arrive whole.
    turns_unfinished: u64,
    /// Turns that could not be stored. The log has the reason of each.
    turns_lost: u64,
}

impl Counts {
    pub(crate) fn status(&self) -> Status {
        Status {
            requests: self.requests.load(Relaxed),
            requests_with_memory: self.used.load(Relaxed),
            requests_without_recollect: self.unavailable.load(Relaxed),
            turns_waiting: self.waiting.load(Relaxed),
            turns_stored: self.stored.load(Relaxed),
            turns_known: self.known.load(Relaxed),
            turns_unfinished: self.unfinished.load(Relaxed),
            turns_lost: self.lost.load(Relaxed),
        }
    }

    /// Counts and logs a turn that is lost.
    pub(crate) fn lose(&self, reason: &str) {
        self.lost.fetch_add(1, Relaxed);
        tracing::warn!(reason, "a turn was not stored");
    }
}

/// Adds one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

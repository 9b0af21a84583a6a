//! How many changes a lane claims at a time.

use std::time::Duration;

/// The largest batch has this many times the configured changes.
const GROWTH: usize = 8;
/// After a batch that took longer than [`LONG`] the next one is not larger, and after
/// [`TOO_LONG`] it is smaller: calls that begin meanwhile share the cores with it.
const LONG: Duration = Duration::from_secs(2);
const TOO_LONG: Duration = Duration::from_secs(5);

/// The most changes of a claim: of imports and rebuilds (`bulk`), or of others.
pub(super) struct Limits {
    pub(super) live: usize,
    pub(super) bulk: usize,
}

/// The size of a lane's batches of imports and rebuilds while no user calls. They grow while many
/// changes wait, because each batch costs a flush of the index and several queries, however small
/// it is.
#[derive(Debug)]
pub(super) struct BatchSize {
    /// The configured size, which is the first.
    least: usize,
    size: usize,
}

impl BatchSize {
    pub(super) fn new(least: usize) -> Self {
        Self { least, size: least }
    }

    pub(super) fn get(&self) -> usize {
        self.size
    }

    /// Notes how long a batch of `changes` took.
    pub(super) fn note(&mut self, changes: usize, took: Duration) {
        let is_full = changes >= self.size;
        if took > TOO_LONG {
            self.size = (self.size / 2).max(self.least);
        } else if is_full && took <= LONG {
            self.size = self.size.saturating_mul(2).min(GROWTH * self.least);
        }
    }

    /// Starts again with the smallest size, after a failure: the index may refuse a large batch, or
    /// not finish it in time.
    pub(super) fn reset(&mut self) {
        self.size = self.least;
    }
}

#[cfg(test)]
mod tests;

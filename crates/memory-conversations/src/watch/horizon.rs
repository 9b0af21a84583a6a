//! The position up to which all changes are visible.
//!
//! A change's id is the time of its writing, which precedes its commit, so it may become
//! visible after changes with later ids. Transaction numbers bound the delay: a number
//! assigned now is greater than the number of each transaction that has written by now. Once
//! all transactions up to it have ended, changes that become visible were written later.
//! A transaction has its number before it takes the id of its change, because it has
//! written or locked something else before.
//!
//! No timeout of Postgres ends a transaction that waits in its commit for a standby.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// The ids of a second.
const SECOND: i64 = 1_000_000 * 256;
/// How far a clock may be set back without changes being missed.
const SLACK: i64 = SECOND;
/// Moments closer together than this count as one.
const RESOLUTION: i64 = SECOND / 20;
/// The most moments: a minute of them, [`RESOLUTION`] apart. A further one replaces the newest.
const MAX_MARKS: usize = 1_200;

/// The state of a database at a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// The id that a change would get.
    pub(super) now: i64,
    /// The oldest number of a running transaction.
    pub(super) oldest: i64,
    /// A transaction number assigned at that moment.
    pub(super) own: i64,
}

/// The position up to which every change of a database is visible.
#[derive(Debug)]
pub(super) struct Horizon {
    /// Exceeds the time that most transactions of the service live after they have written their
    /// audit row.
    overlap: i64,
    /// Moments whose transactions may still be running, the oldest first.
    marks: VecDeque<Moment>,
    settled: i64,
    polled_at: Option<Instant>,
}

impl Horizon {
    pub(super) fn new(overlap: Duration) -> Self {
        Self {
            overlap: ids(overlap),
            marks: VecDeque::new(),
            settled: 0,
            polled_at: None,
        }
    }

    /// A read that begins now sees every change up to this position.
    pub(super) fn settled(&self) -> i64 {
        self.settled
    }

    /// Whether the last moment is at most this old.
    pub(super) fn is_fresh(&self, within: Duration) -> bool {
        self.polled_at.is_some_and(|at| at.elapsed() <= within)
    }

    /// Whether a transaction has gone on for so long that [`Moment::oldest`] has to be that of
    /// the transactions that note changes: others, such as those of reports, may go on for hours.
    pub(super) fn is_held(&self, moment: Moment) -> bool {
        let first = self.marks.front();
        let is_open = first.is_some_and(|mark| mark.own > moment.oldest);
        is_open && self.settled < moment.now - self.overlap
    }

    /// Whether the settled position is older than it mostly is: a transaction goes on for long.
    pub(super) fn is_late(&self) -> bool {
        self.settled < self.recent()
    }

    /// The position that only such transactions keep from being settled, if there are any; otherwise
    /// the settled one.
    pub(super) fn recent(&self) -> i64 {
        let last = self.marks.back();
        last.map_or(self.settled, |mark| {
            self.settled.max(mark.now - self.overlap)
        })
    }

    /// Adds a moment and returns the settled position.
    pub(super) fn see(&mut self, moment: Moment) -> i64 {
        while let Some(mark) = self.marks.front()
            && mark.own <= moment.oldest
        {
            self.settled = self.settled.max(mark.now - SLACK);
            self.marks.pop_front();
        }
        // A moment that arrives late from another connection would break the order.
        let later = |mark: &Moment| moment.now > mark.now + RESOLUTION && moment.own > mark.own;
        if self.marks.back().is_none_or(later) {
            if self.marks.len() >= MAX_MARKS {
                self.marks.pop_back();
            }
            self.marks.push_back(moment);
        }
        self.polled_at = Some(Instant::now());
        self.settled
    }
}

/// How many ids are given out in a time, at most.
pub(super) fn ids(time: Duration) -> i64 {
    i64::try_from(time.as_micros().saturating_mul(256)).unwrap_or(i64::MAX / 2)
}

#[cfg(test)]
mod tests;

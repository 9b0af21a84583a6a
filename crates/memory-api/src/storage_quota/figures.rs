//! What a process knows about one tenant's usage.

use std::time::Duration;

use tokio::time::Instant;

use super::amount::{Amount, Exceeded, Limits};

/// Age at which a sum is replaced while its tenant writes.
const ROUTINE: Duration = Duration::from_secs(10);
/// How long a call waits for a sum.
pub(super) const WAIT: Duration = Duration::from_secs(2);
/// The pause after a sum, in durations of it.
const PAUSE_FACTOR: u32 = 20;
/// The shortest pause after a sum.
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// The shortest pause after one that failed.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// The last sum, and what this process has accepted since.
#[derive(Debug, Default)]
pub(super) struct Figures {
    sum: Amount,
    /// When the last sum began.
    summed: Option<Instant>,
    failed: bool,
    /// The earliest begin of the next one.
    next: Option<Instant>,
    summing: bool,
    /// Writes that are accepted and have not ended.
    under_way: Amount,
    /// Writes that have ended and that the last sum may lack.
    settled: Amount,
    /// What is in the last sum and also in one of the two above, at most.
    overlap: Amount,
    /// The same of a sum that is under way, which will have all of `settled_before`.
    next_overlap: Amount,
    settled_before: Amount,
}

/// What to do with a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Do it. It is counted as under way.
    Admit {
        /// Whether a new sum is due.
        sum: bool,
    },
    Refuse(Exceeded),
    /// Ask again after the next sum, or at a time.
    Wait {
        /// Whether to begin the sum now.
        sum: bool,
        until: Instant,
    },
}

impl Figures {
    /// Decides about a call that arrived at a time.
    pub(super) fn step(
        &mut self,
        wanted: Amount,
        limits: &Limits,
        arrived: Instant,
        now: Instant,
    ) -> Step {
        let used = self.sum + self.under_way + self.settled + wanted;
        let give_up = arrived + WAIT;
        let may_begin = !self.summing && self.next.is_none_or(|next| next <= now);
        if let Some(exceeded) = limits.exceeded_by(used) {
            let certain = limits.exceeded_by(used - self.overlap).is_some();
            let newer = self.summed.is_some_and(|summed| summed >= arrived);
            let sum_in_time = self.summing || self.next.is_none_or(|next| next < give_up);
            let last = now >= give_up || !sum_in_time;
            if certain && (newer || last) {
                return Step::Refuse(exceeded);
            }
            if !certain && last {
                return self.admit(wanted, false);
            }
        } else if self.summed.is_some() || self.failed || now >= give_up {
            let old = self.summed.is_none_or(|summed| now - summed >= ROUTINE);
            return self.admit(wanted, may_begin && old);
        }
        let next = self.next.filter(|_| !self.summing && !may_begin);
        Step::Wait {
            sum: may_begin,
            until: next.unwrap_or(give_up).min(give_up),
        }
    }

    fn admit(&mut self, wanted: Amount, sum: bool) -> Step {
        self.under_way += wanted;
        if self.summing {
            self.next_overlap += wanted;
        }
        Step::Admit { sum }
    }

    /// Begins a sum, unless one is under way or it is too early.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        if self.summing || self.next.is_some_and(|next| now < next) {
            return false;
        }
        self.summing = true;
        self.settled_before = self.settled;
        self.next_overlap = self.under_way;
        true
    }

    /// Ends the sum that began at `started`; `None`: it failed.
    pub(super) fn end(&mut self, summed: Option<Amount>, started: Instant, now: Instant) {
        self.summing = false;
        let shortest: Duration;
        if let Some(sum) = summed {
            self.sum = sum;
            self.summed = Some(started);
            self.settled -= self.settled_before;
            self.overlap = self.next_overlap;
            self.failed = false;
            shortest = MIN_PAUSE;
        } else {
            self.failed = true;
            shortest = FAILURE_PAUSE;
        }
        self.next = Some(now + (PAUSE_FACTOR * (now - started)).max(shortest));
    }

    /// Ends a write.
    pub(super) fn settle(&mut self, reserved: Amount, stored: Amount) {
        self.under_way -= reserved;
        self.settled += stored;
    }

    pub(super) fn is_summing(&self) -> bool {
        self.summing
    }

    /// What is stored, and the age of the sum; `None` before the first sum.
    pub(super) fn stored(&self, now: Instant) -> (Amount, Option<Duration>) {
        let age = self.summed.map(|summed| now - summed);
        (self.sum + self.settled, age)
    }
}

#[cfg(test)]
mod tests;

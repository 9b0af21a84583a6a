//! What a process knows about one tenant's usage.

use std::time::Duration;

use tokio::time::Instant;

use super::{Amount, Exceeded, FAILURE_PAUSE, Limits, MIN_PAUSE, PAUSE_FACTOR, ROUTINE, WAIT};

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
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        messages: Some(10),
        bytes: Some(1_000),
    };
    const TICK: Duration = Duration::from_millis(1);

    fn messages(messages: i64) -> Amount {
        Amount {
            messages,
            bytes: 10 * messages,
        }
    }

    /// Figures after a sum that took a millisecond, and the time of its end.
    fn summed(sum: Amount) -> (Figures, Instant) {
        let (mut figures, start) = (Figures::default(), Instant::now());
        assert!(figures.begin(start));
        figures.end(Some(sum), start, start + TICK);
        (figures, start + TICK)
    }

    fn refused(step: Step) -> Option<&'static str> {
        match step {
            Step::Refuse(exceeded) => Some(exceeded.setting),
            _ => None,
        }
    }

    fn admitted(step: &Step) -> bool {
        matches!(step, Step::Admit { .. })
    }

    #[test]
    fn a_write_waits_for_the_first_sum_but_not_for_ever() {
        let (mut figures, now) = (Figures::default(), Instant::now());
        let step = figures.step(messages(1), &LIMITS, now, now);
        let until = now + WAIT;
        assert_eq!(step, Step::Wait { sum: true, until });
        assert!(figures.begin(now));
        let step = figures.step(messages(1), &LIMITS, now, now);
        assert_eq!(step, Step::Wait { sum: false, until });
        let step = figures.step(messages(1), &LIMITS, now, until);
        assert_eq!(step, Step::Admit { sum: false });
        assert_eq!(figures.under_way, messages(1));
    }

    #[test]
    fn what_is_accepted_between_two_sums_counts() {
        let (mut figures, now) = summed(messages(7));
        for _ in 0..3 {
            let step = figures.step(messages(1), &LIMITS, now, now);
            assert_eq!(step, Step::Admit { sum: false });
        }
        figures.settle(messages(3), messages(2));
        assert!(admitted(&figures.step(messages(1), &LIMITS, now, now)));
        // A refusal needs a sum that is newer than the call.
        let Step::Wait { sum: false, until } = figures.step(messages(1), &LIMITS, now, now) else {
            panic!("{figures:?}");
        };
        assert_eq!(until, now + MIN_PAUSE);
        let next = Step::Wait {
            sum: true,
            until: now + WAIT,
        };
        assert_eq!(figures.step(messages(1), &LIMITS, now, until), next);
        assert!(figures.begin(until));
        figures.end(Some(messages(9)), until, until + TICK);
        let step = figures.step(messages(1), &LIMITS, now, until + TICK);
        // One write was under way during the sum, which has it or not.
        assert!(matches!(step, Step::Wait { .. }), "{step:?}");
        figures.settle(messages(1), messages(1));
        let again = until + TICK + MIN_PAUSE;
        assert!(figures.begin(again));
        figures.end(Some(messages(10)), again, again + TICK);
        let step = figures.step(messages(1), &LIMITS, now, again + TICK);
        assert_eq!(refused(step), Some("server.tenant_messages"));
    }

    #[test]
    fn bytes_are_a_quota_of_their_own() {
        let (mut figures, now) = summed(Amount {
            messages: 1,
            bytes: 990,
        });
        let before = now - TICK;
        let wanted = |bytes| Amount { messages: 1, bytes };
        let step = figures.step(wanted(11), &LIMITS, before, now);
        assert_eq!(refused(step), Some("server.tenant_bytes"));
        assert!(admitted(&figures.step(wanted(10), &LIMITS, before, now)));
    }

    #[test]
    fn a_sum_has_what_ended_before_it_and_not_what_came_later() {
        let (mut figures, now) = summed(messages(0));
        assert!(admitted(&figures.step(messages(2), &LIMITS, now, now)));
        figures.settle(messages(2), messages(2));
        let start = now + MIN_PAUSE;
        assert!(figures.begin(start));
        assert!(admitted(&figures.step(messages(3), &LIMITS, now, start)));
        figures.settle(messages(3), messages(3));
        // The sum saw the first write only.
        figures.end(Some(messages(2)), start, start + TICK);
        let (stored, age) = figures.stored(start + TICK);
        assert_eq!((stored, age), (messages(5), Some(TICK)));
        assert_eq!(figures.overlap, messages(3));
    }

    #[test]
    fn sums_take_a_small_share_of_the_time() {
        let (mut figures, start) = (Figures::default(), Instant::now());
        let took = Duration::from_secs(3);
        assert!(figures.begin(start));
        assert!(!figures.begin(start + took));
        let end = start + took;
        figures.end(Some(messages(11)), start, end);
        assert!(!figures.begin(end + 19 * took));
        // The next sum is too far away to wait for.
        let step = figures.step(messages(1), &LIMITS, end, end);
        assert_eq!(refused(step), Some("server.tenant_messages"));
        assert!(figures.begin(end + 20 * took));
    }

    #[test]
    fn an_old_sum_is_replaced_while_writes_go_on() {
        let (mut figures, now) = summed(messages(0));
        let step = figures.step(messages(1), &LIMITS, now, now + ROUTINE);
        assert_eq!(step, Step::Admit { sum: true });
    }

    #[test]
    fn a_failed_sum_leaves_the_last_one_and_stops_no_write() {
        let (mut figures, start) = (Figures::default(), Instant::now());
        assert!(figures.begin(start));
        figures.end(None, start, start + TICK);
        let now = start + TICK;
        assert!(admitted(&figures.step(messages(1), &LIMITS, now, now)));
        assert!(!figures.begin(now + FAILURE_PAUSE - TICK));
        assert!(figures.begin(now + FAILURE_PAUSE));
    }
}

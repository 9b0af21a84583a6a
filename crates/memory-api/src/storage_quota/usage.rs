//! The cached usage of one tenant.

use std::time::Duration;

use tokio::time::Instant;

use super::amount::Amount;

/// Age at which a sum is replaced while its tenant writes.
const ROUTINE: Duration = Duration::from_secs(10);
/// The pause after a sum, in durations of it: sums of a tenant take at most a twentieth of one
/// connection's time.
const PAUSE_FACTOR: u32 = 20;
/// The shortest pause after a sum.
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// The shortest pause after one that failed.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// The last sum, and what this process has accepted since it began. A write that was under
/// way when the sum began may be in both until the next sum.
#[derive(Debug, Default)]
pub(super) struct CachedUsage {
    sum: Amount,
    /// When the last sum that succeeded began.
    summed: Option<Instant>,
    /// The earliest begin of the next one.
    next: Option<Instant>,
    /// Writes that are accepted and have not ended.
    under_way: Amount,
    /// Writes that have ended and that the last sum may lack.
    settled: Amount,
    /// Those of `settled` that the sum under way has.
    settled_before_sum: Amount,
}

impl CachedUsage {
    /// What is stored or about to be.
    pub(super) fn total(&self) -> Amount {
        self.sum + self.under_way + self.settled
    }

    /// What is stored, and the age of the sum; `None` before the first sum.
    pub(super) fn stored(&self, now: Instant) -> (Amount, Option<Duration>) {
        let age = self.summed.map(|summed| now - summed);
        (self.sum + self.settled, age)
    }

    pub(super) fn is_known(&self) -> bool {
        self.summed.is_some()
    }

    pub(super) fn is_old(&self, now: Instant) -> bool {
        self.summed.is_none_or(|summed| now - summed >= ROUTINE)
    }

    /// Counts a write as under way.
    pub(super) fn reserve(&mut self, wanted: Amount) {
        self.under_way += wanted;
    }

    /// Ends a write, which stored an amount.
    pub(super) fn settle(&mut self, reserved: Amount, stored: Amount) {
        self.under_way -= reserved;
        self.settled += stored;
    }

    /// Begins a sum that is to contain what was stored at `newer_than`. `false`: the last sum
    /// does, or the pause after it is not over. A caller has to be the only one that sums.
    pub(super) fn begin(&mut self, newer_than: Instant, now: Instant) -> bool {
        let contained = self.summed.is_some_and(|summed| summed >= newer_than);
        if contained || self.next.is_some_and(|next| now < next) {
            return false;
        }
        self.settled_before_sum = self.settled;
        true
    }

    /// Ends the sum that began at `started`; `None`: it failed.
    pub(super) fn end(&mut self, summed: Option<Amount>, started: Instant, now: Instant) {
        let mut shortest = FAILURE_PAUSE;
        if let Some(sum) = summed {
            self.sum = sum;
            self.summed = Some(started);
            self.settled -= self.settled_before_sum;
            shortest = MIN_PAUSE;
        }
        self.next = Some(now + (PAUSE_FACTOR * (now - started)).max(shortest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(1);

    fn messages(messages: i64) -> Amount {
        Amount {
            messages,
            bytes: 10 * messages,
        }
    }

    /// Usage after a sum that took a millisecond, and the time of its end.
    fn summed(sum: Amount) -> (CachedUsage, Instant) {
        let (mut usage, start) = (CachedUsage::default(), Instant::now());
        assert!(usage.begin(start, start));
        usage.end(Some(sum), start, start + TICK);
        (usage, start + TICK)
    }

    #[test]
    fn what_is_accepted_between_two_sums_counts() {
        let (mut usage, now) = summed(messages(7));
        usage.reserve(messages(3));
        assert_eq!(usage.total(), messages(10));
        usage.settle(messages(3), messages(2));
        assert_eq!(usage.total(), messages(9));
        assert_eq!(usage.stored(now).0, messages(9));
    }

    #[test]
    fn a_sum_has_what_ended_before_it_and_not_what_came_later() {
        let (mut usage, now) = summed(messages(0));
        usage.reserve(messages(2));
        usage.settle(messages(2), messages(2));
        let start = now + MIN_PAUSE;
        assert!(usage.begin(start, start));
        usage.reserve(messages(3));
        usage.settle(messages(3), messages(3));
        // The sum saw the first write only.
        usage.end(Some(messages(2)), start, start + TICK);
        assert_eq!(usage.stored(start + TICK), (messages(5), Some(TICK)));
    }

    #[test]
    fn a_sum_that_is_new_enough_is_kept() {
        let (mut usage, end) = summed(messages(1));
        let later = end + MIN_PAUSE;
        assert!(!usage.begin(end - TICK, later));
        assert!(usage.begin(later, later));
    }

    #[test]
    fn sums_take_a_small_share_of_the_time() {
        let (mut usage, start) = (CachedUsage::default(), Instant::now());
        let took = Duration::from_secs(3);
        let end = start + took;
        assert!(usage.begin(start, start));
        usage.end(Some(messages(11)), start, end);
        assert!(!usage.begin(end, end + 19 * took));
        assert!(usage.begin(end, end + 20 * took));
    }

    #[test]
    fn a_failed_sum_leaves_the_last_one_and_is_not_repeated_at_once() {
        let (mut usage, now) = summed(messages(4));
        let start = now + MIN_PAUSE;
        assert!(usage.begin(start, start));
        usage.end(None, start, start + TICK);
        assert_eq!(usage.total(), messages(4));
        let end = start + TICK;
        assert!(!usage.begin(end, end + FAILURE_PAUSE - TICK));
        assert!(usage.begin(end, end + FAILURE_PAUSE));
    }
}

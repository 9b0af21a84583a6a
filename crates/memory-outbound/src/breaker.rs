//! A circuit breaker (M. Nygard, "Release It!", 2007): consecutive failures open it for a
//! pause; then one trial call closes or reopens it.
//!
//! The time is a parameter, so that tests need no clock.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The state of a circuit breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BreakerState {
    /// Calls are made.
    #[default]
    Closed,
    /// Calls are refused, after failures.
    Open,
    /// One trial call is made.
    HalfOpen,
}

impl BreakerState {
    /// The name, lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Calls are made.
    Closed { failures: u32 },
    /// Calls are refused until this time.
    Open { until: Instant },
    /// The trial call is under way.
    Trying,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The model is available.
    Good,
    /// The model is not available.
    Outage,
    /// Unknown, because the call was cancelled.
    Unknown,
}

/// A circuit breaker, which all callers of a service share.
#[derive(Debug)]
pub struct Breaker {
    failures: u32,
    pause: Duration,
    /// The state, and the number of times that it opened, so that calls that began before
    /// are ignored.
    state: Mutex<(State, u64)>,
}

/// The permission for one call. Dropped without an outcome, it counts as unknown.
#[derive(Debug)]
pub struct Permit<'a> {
    breaker: &'a Breaker,
    round: u64,
    reported: bool,
}

impl Breaker {
    /// A closed breaker. `failures`: consecutive outages that open it, 1 or more. `pause`: how long
    /// it then stays open.
    pub fn new(failures: u32, pause: Duration) -> Self {
        Self {
            failures: failures.max(1),
            pause,
            state: Mutex::new((State::Closed { failures: 0 }, 0)),
        }
    }

    /// Permits a call.
    ///
    /// # Errors
    /// The rest of the pause, if the breaker is open.
    pub fn admit(&self, now: Instant) -> Result<Permit<'_>, Duration> {
        let mut guard = self.lock();
        let (state, round) = &mut *guard;
        match *state {
            State::Closed { .. } => {}
            State::Open { until } if now < until => return Err(until - now),
            State::Open { .. } => *state = State::Trying,
            // The duration of the trial call is unknown.
            State::Trying => return Err(self.pause),
        }
        Ok(Permit {
            breaker: self,
            round: *round,
            reported: false,
        })
    }

    /// The state.
    pub fn state(&self, now: Instant) -> BreakerState {
        match self.lock().0 {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { until } if now < until => BreakerState::Open,
            State::Open { .. } | State::Trying => BreakerState::HalfOpen,
        }
    }

    fn report(&self, round: u64, outcome: Outcome, now: Instant) {
        let mut guard = self.lock();
        let (state, current) = &mut *guard;
        if round != *current {
            return;
        }
        match (*state, outcome) {
            (_, Outcome::Good) => *state = State::Closed { failures: 0 },
            (State::Closed { failures }, Outcome::Outage) => {
                let failures = failures.saturating_add(1);
                *state = State::Closed { failures };
                if failures >= self.failures {
                    *state = State::Open {
                        until: now + self.pause,
                    };
                    *current += 1;
                }
            }
            (State::Trying, Outcome::Outage) => {
                *state = State::Open {
                    until: now + self.pause,
                };
                *current += 1;
            }
            // The next call may be the trial.
            (State::Trying, Outcome::Unknown) => *state = State::Open { until: now },
            (State::Closed { .. }, Outcome::Unknown) | (State::Open { .. }, _) => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, (State, u64)> {
        // No code panics while it holds the lock, and any state is a valid one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// Reports how the call ended.
    pub fn report(mut self, outcome: Outcome, now: Instant) {
        self.reported = true;
        self.breaker.report(self.round, outcome, now);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if !self.reported {
            self.breaker
                .report(self.round, Outcome::Unknown, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAUSE: Duration = Duration::from_secs(30);

    #[derive(Clone, Debug)]
    enum Step {
        Admit,
        Report(usize, Outcome),
        Wait(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let outcome = prop_oneof![
            Just(Outcome::Good),
            Just(Outcome::Outage),
            Just(Outcome::Unknown)
        ];
        prop_oneof![
            3 => Just(Step::Admit),
            3 => (0..8_usize, outcome).prop_map(|(call, outcome)| Step::Report(call, outcome)),
            1 => (1..40_u64).prop_map(Step::Wait),
        ]
    }

    proptest! {
        /// For any order of calls and outcomes: an open breaker permits no call before its
        /// pause ends, then one at a time, and every refusal ends.
        #[test]
        fn an_open_breaker_lets_one_call_try(steps in prop::collection::vec(step(), 1..80)) {
            let breaker = Breaker::new(3, PAUSE);
            let mut now = Instant::now();
            let mut calls: Vec<Permit<'_>> = Vec::new();
            for step in steps {
                let (before, round) = *breaker.lock();
                match step {
                    Step::Admit => match breaker.admit(now) {
                        Ok(permit) => {
                            match before {
                                State::Open { until } => prop_assert!(now >= until),
                                State::Trying => prop_assert!(false, "a second call tries"),
                                State::Closed { failures } => prop_assert!(failures < 3),
                            }
                            calls.push(permit);
                        }
                        Err(left) => {
                            let closed = matches!(before, State::Closed { .. });
                            prop_assert!(!closed && left > Duration::ZERO && left <= PAUSE);
                        }
                    },
                    Step::Report(call, outcome) if !calls.is_empty() => {
                        let permit = calls.swap_remove(call % calls.len());
                        let late = permit.round != round;
                        permit.report(outcome, now);
                        let after = breaker.lock().0;
                        prop_assert!(!late || after == before, "a late answer changed something");
                        if outcome == Outcome::Good && !late {
                            prop_assert_eq!(after, State::Closed { failures: 0 });
                        }
                    }
                    Step::Report(..) => {}
                    Step::Wait(seconds) => now += Duration::from_secs(seconds),
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_given_up_leaves_the_try_to_the_next() {
        let breaker = Breaker::new(1, PAUSE);
        let permit = breaker.admit(Instant::now()).ok().unwrap();
        permit.report(Outcome::Outage, Instant::now());
        assert_eq!(breaker.admit(Instant::now()).err(), Some(PAUSE));
        tokio::time::advance(PAUSE).await;
        drop(breaker.admit(Instant::now()).ok().unwrap());
        assert!(breaker.admit(Instant::now()).is_ok());
    }
}

//! The requests of one kind, queries or documents: their deadline, retries and circuit breaker.
//! Each kind has its own, so that slow batches of documents do not turn queries off.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use memory_outbound::{Breaker, Outcome};
use tokio::time::{Instant, timeout_at};

use super::error::EndpointError;
use crate::config::EmbeddingCalls;

pub(super) struct Lane {
    breaker: Breaker,
    /// Until when the provider asks to pause.
    paused_until: Mutex<Option<Instant>>,
    calls: EmbeddingCalls,
    deadline: Duration,
}

impl Lane {
    /// `deadline`: of one answer with all its attempts.
    pub(super) fn new(calls: &EmbeddingCalls, deadline: Duration) -> Self {
        Self {
            breaker: Breaker::new(calls.breaker_failures, calls.breaker_pause),
            paused_until: Mutex::default(),
            calls: calls.clone(),
            deadline,
        }
    }

    /// The deadline of a request that begins now.
    pub(super) fn end(&self) -> Instant {
        Instant::now() + self.deadline
    }

    /// Attempts a request until it succeeds, the attempts are used up, or `end`.
    pub(super) async fn attempt<T, F>(
        &self,
        end: Instant,
        request: impl Fn() -> F,
    ) -> Result<T, EndpointError>
    where
        F: Future<Output = Result<T, EndpointError>>,
    {
        let pauses = ExponentialBuilder::default()
            .with_min_delay(self.calls.first_pause)
            .with_max_delay(self.calls.longest_pause)
            .with_max_times(self.calls.max_attempts - 1)
            .with_jitter();
        (|| self.once(end, request()))
            .retry(pauses)
            .when(EndpointError::is_transient)
            .adjust(|error, pause| {
                let asked = match error {
                    EndpointError::RateLimited { retry_after } => retry_after.unwrap_or_default(),
                    _ => Duration::ZERO,
                };
                // No retry if the pause ends after the deadline.
                pause
                    .map(|pause| pause.max(asked))
                    .filter(|pause| Instant::now() + *pause < end)
            })
            .await
    }

    async fn once<T>(
        &self,
        end: Instant,
        request: impl Future<Output = Result<T, EndpointError>>,
    ) -> Result<T, EndpointError> {
        if let Some(rest) = self.rest_of_pause() {
            return Err(EndpointError::RateLimited {
                retry_after: Some(rest),
            });
        }
        let permit = self
            .breaker
            .admit(Instant::now())
            .map_err(|retry_after| EndpointError::BreakerOpen { retry_after })?;
        let answer = timeout_at(end, request)
            .await
            .unwrap_or(Err(EndpointError::Timeout {
                after: self.deadline,
            }));
        let outcome = match &answer {
            Err(error) if error.is_outage() => Outcome::Outage,
            // Also a rejected request shows that the endpoint is available.
            Ok(_) | Err(_) => Outcome::Good,
        };
        permit.report(outcome, Instant::now());
        if let Err(EndpointError::RateLimited {
            retry_after: Some(pause),
        }) = &answer
        {
            *self.lock() = Some(Instant::now() + *pause);
        }
        answer
    }

    fn rest_of_pause(&self) -> Option<Duration> {
        let until = (*self.lock())?;
        let rest = until.saturating_duration_since(Instant::now());
        (!rest.is_zero()).then_some(rest)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.paused_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(60);

    /// Answers with these one after the other; the time and number of attempts that it took.
    async fn attempts(
        lane: &Lane,
        answers: &[Result<(), EndpointError>],
    ) -> (Result<(), EndpointError>, Duration, usize) {
        let asked = Cell::new(0);
        let start = Instant::now();
        let answer = lane
            .attempt(lane.end(), async || {
                let answer = answers[asked.get().min(answers.len() - 1)].clone();
                asked.set(asked.get() + 1);
                answer
            })
            .await;
        (answer, start.elapsed(), asked.get())
    }

    fn limited(seconds: u64) -> Result<(), EndpointError> {
        Err(EndpointError::RateLimited {
            retry_after: Some(Duration::from_secs(seconds)),
        })
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_that_a_provider_asks_for_is_kept() {
        let lane = Lane::new(&EmbeddingCalls::default(), DEADLINE);
        let (answer, took, asked) = attempts(&lane, &[limited(7), Ok(())]).await;
        assert_eq!((answer, asked), (Ok(()), 2));
        assert!(took >= Duration::from_secs(7), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_asked_during_a_pause_that_is_longer_than_the_deadline() {
        let lane = Lane::new(&EmbeddingCalls::default(), DEADLINE);
        let (answer, took, asked) = attempts(&lane, &[limited(300)]).await;
        assert_eq!((answer, asked), (limited(300), 1));
        assert!(took < Duration::from_secs(1), "{took:?}");
        let (answer, _, asked) = attempts(&lane, &[Ok(())]).await;
        assert_eq!((answer, asked), (limited(300), 0));
        tokio::time::advance(Duration::from_secs(301)).await;
        let (answer, _, asked) = attempts(&lane, &[Ok(())]).await;
        assert_eq!((answer, asked), (Ok(()), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn repeated_failures_pause_requests_and_one_success_ends_that() {
        let calls = EmbeddingCalls::default();
        let lane = Lane::new(&calls, DEADLINE);
        let failed = Err(EndpointError::Failed { status: 503 });
        let (answer, _, asked) = attempts(&lane, std::slice::from_ref(&failed)).await;
        assert_eq!((answer, asked), (failed.clone(), calls.max_attempts));
        let (answer, _, asked) = attempts(&lane, std::slice::from_ref(&failed)).await;
        assert!(matches!(answer, Err(EndpointError::BreakerOpen { .. })));
        assert_eq!(asked, 1);
        tokio::time::advance(calls.breaker_pause).await;
        let (answer, ..) = attempts(&lane, &[Ok(())]).await;
        assert_eq!(answer, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_rejected_request_is_not_repeated() {
        let lane = Lane::new(&EmbeddingCalls::default(), DEADLINE);
        let rejected = Err(EndpointError::Rejected { status: 400 });
        let (answer, _, asked) = attempts(&lane, std::slice::from_ref(&rejected)).await;
        assert_eq!((answer, asked), (rejected, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_never_comes_ends_at_the_deadline() {
        let lane = Lane::new(&EmbeddingCalls::default(), DEADLINE);
        let start = Instant::now();
        let answer = lane
            .attempt(lane.end(), std::future::pending::<Result<(), _>>)
            .await;
        assert_eq!(answer, Err(EndpointError::Timeout { after: DEADLINE }));
        assert_eq!(start.elapsed(), DEADLINE);
    }
}

//! Limits the concurrency and time of a model's calls, retries transient failures, and
//! stops calling during an outage.

use std::sync::{Arc, Mutex, PoisonError};

use backon::{ExponentialBuilder, Retryable};
use memory_outbound::{Breaker, Outcome};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};

use super::{Account, Answer, Health, ModelInfo, Prompt, TextModel, Usage};
use crate::{CallsConfig, ConfigError, ModelError};

/// A model with limits, retries and a circuit breaker, which all its users share.
pub struct Reliable {
    model: Arc<dyn TextModel>,
    calls: CallsConfig,
    permits: Semaphore,
    breaker: Breaker,
    last_error: Mutex<Option<ModelError>>,
}

impl Reliable {
    /// Wraps a model.
    ///
    /// # Errors
    /// [`ConfigError`] if a value of `calls` is 0. `section` is its configuration section,
    /// such as `distill.calls`.
    pub fn new(
        model: Arc<dyn TextModel>,
        section: &str,
        calls: &CallsConfig,
    ) -> Result<Self, ConfigError> {
        for (key, is_zero) in [
            ("max_concurrent", calls.max_concurrent == 0),
            ("max_attempts", calls.max_attempts == 0),
            ("total_timeout", calls.total_timeout.is_zero()),
            ("first_pause", calls.first_pause.is_zero()),
            ("longest_pause", calls.longest_pause.is_zero()),
            ("breaker_failures", calls.breaker_failures == 0),
            ("breaker_pause", calls.breaker_pause.is_zero()),
        ] {
            if is_zero {
                return Err(ConfigError {
                    key: format!("{section}.{key}"),
                    problem: "must be more than 0".to_owned(),
                });
            }
        }
        Ok(Self {
            model,
            permits: Semaphore::new(calls.max_concurrent.min(Semaphore::MAX_PERMITS)),
            breaker: Breaker::new(calls.breaker_failures, calls.breaker_pause),
            calls: calls.clone(),
            last_error: Mutex::default(),
        })
    }

    /// The model's name and limits.
    pub fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    /// The model's health in this process.
    pub fn health(&self) -> Health {
        let last_error = self.last_error.lock();
        Health {
            breaker: self.breaker.state(Instant::now()),
            last_error: last_error.unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Asks the model. Each attempt is charged to `account`.
    ///
    /// # Errors
    /// Any [`ModelError`] but those of [`Answer::text`].
    pub async fn ask(&self, account: Account<'_>, prompt: &Prompt) -> Result<Answer, ModelError> {
        let after = self.calls.total_timeout;
        let end = Instant::now() + after;
        let waiting = timeout(after, self.permits.acquire()).await;
        // The semaphore is never closed.
        let Ok(Ok(_permit)) = waiting else {
            return Err(ModelError::Timeout { after });
        };
        let size = |tokens: i32| u64::try_from(tokens).unwrap_or(0);
        let most = Usage {
            input_tokens: size(prompt.tokens(self.info().tokenizer)),
            output_tokens: size(prompt.max_output_tokens),
        };
        let pauses = ExponentialBuilder::default()
            .with_min_delay(self.calls.first_pause)
            .with_max_delay(self.calls.longest_pause)
            .with_max_times(self.calls.max_attempts - 1)
            .with_jitter();
        (|| self.attempt(account, prompt, most, end))
            .retry(pauses)
            .when(ModelError::is_transient)
            .adjust(|error, pause| {
                let asked = match error {
                    ModelError::RateLimited { retry_after } => retry_after.unwrap_or_default(),
                    _ => std::time::Duration::ZERO,
                };
                // No retry if the pause ends after the deadline.
                pause
                    .map(|pause| pause.max(asked))
                    .filter(|pause| Instant::now() + *pause < end)
            })
            .await
    }

    /// One attempt, which uses at most `most` tokens.
    async fn attempt(
        &self,
        account: Account<'_>,
        prompt: &Prompt,
        most: Usage,
        end: Instant,
    ) -> Result<Answer, ModelError> {
        let permit = self
            .breaker
            .admit(Instant::now())
            .map_err(|retry_after| ModelError::BreakerOpen { retry_after })?;
        let ModelInfo {
            name, tokenizer, ..
        } = self.info();
        let key = account.key(self.info()).await?;
        let reservation = account.reserve(name, most).await?;
        let after = self.calls.total_timeout;
        let answer = timeout_at(end, self.model.generate(prompt, key.as_ref()))
            .await
            .unwrap_or(Err(ModelError::Timeout { after }));
        let counted = |answer: &Answer| u64::try_from(tokenizer.count(&answer.said)).unwrap_or(0);
        account.settle(reservation, &answer, counted).await;
        let outcome = match &answer {
            // A tenant's wrong key says nothing about the model.
            Err(ModelError::Unauthorized) if key.is_some() => Outcome::Good,
            Err(error) if error.is_outage() => Outcome::Outage,
            // Even a refusal shows that the model is available.
            Ok(_) | Err(_) => Outcome::Good,
        };
        permit.report(outcome, Instant::now());
        let wrong = answer
            .as_ref()
            .map_or_else(|error| Some(error.clone()), |answer| answer.text().err());
        if let Some(wrong) = wrong {
            *self
                .last_error
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some(wrong);
        }
        answer
    }
}

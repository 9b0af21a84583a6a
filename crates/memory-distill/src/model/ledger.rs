//! What a tenant may spend. A call reserves what it may cost at most and settles
//! what it did cost, so that calls at the same time cannot spend more together.

use async_trait::async_trait;
use memory_contract::TenantId;
use uuid::Uuid;

use super::{Answer, Prompt, TextModel, Usage};
use crate::ModelError;

/// Keeps what each tenant has spent.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Sets tokens aside for one call.
    ///
    /// # Errors
    /// [`LedgerError::Spent`] where less is left, [`LedgerError::Unavailable`]
    /// where that cannot be known.
    async fn reserve(&self, tenant: &TenantId, tokens: u64) -> Result<Reservation, LedgerError>;

    /// Replaces what was set aside by what was spent; `None`: the model was not
    /// asked. A reservation that is never settled, because its process died, is
    /// for the ledger to let go of after some time; a failure to settle is the
    /// ledger's to log.
    async fn settle(&self, tenant: &TenantId, reservation: Reservation, call: Option<Call>);
}

/// A call that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name of the model that was asked.
    pub model: String,
    /// What it cost.
    pub usage: Usage,
    /// Whether it gave nothing to use: an error, or an answer that is empty, cut
    /// or a refusal.
    pub failed: bool,
}

/// Tokens that are set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The ledger's own name for it.
    pub id: Uuid,
    /// How many.
    pub tokens: u64,
}

/// Why no tokens were set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// Less is left.
    #[error("the tenant's budget of tokens is spent")]
    Spent,
    /// The ledger cannot be read.
    #[error("the ledger of tokens cannot be read")]
    Unavailable,
}

/// A ledger of tenants who may spend without end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

#[async_trait]
impl Ledger for Unlimited {
    async fn reserve(&self, _: &TenantId, tokens: u64) -> Result<Reservation, LedgerError> {
        Ok(Reservation {
            id: Uuid::nil(),
            tokens,
        })
    }

    async fn settle(&self, _: &TenantId, _: Reservation, _: Option<Call>) {}
}

/// Asks a model on a tenant's account, and tells what the answer cost: as the
/// provider tells it, or else as the tokenizer counts it.
///
/// A call that failed costs nothing, but for one that took too long: the model
/// may well have read the prompt, so that is charged.
pub(crate) async fn metered(
    ledger: &dyn Ledger,
    tenant: &TenantId,
    model: &dyn TextModel,
    prompt: &Prompt,
) -> Result<(Answer, Usage), ModelError> {
    let tokenizer = model.about().tokenizer;
    let input_tokens = u64::try_from(prompt.tokens(tokenizer)).unwrap_or(0);
    let most = u64::try_from(prompt.max_output_tokens).unwrap_or(0);
    let reservation = ledger
        .reserve(tenant, input_tokens.saturating_add(most))
        .await
        .map_err(|error| match error {
            LedgerError::Spent => ModelError::BudgetSpent,
            LedgerError::Unavailable => ModelError::LedgerUnavailable,
        })?;
    let call = |usage: Usage, failed: bool| Call {
        model: model.about().name.clone(),
        usage,
        failed,
    };
    match model.generate(prompt).await {
        Ok(answer) => {
            let usage = answer.usage.unwrap_or_else(|| Usage {
                input_tokens,
                output_tokens: u64::try_from(tokenizer.count(&answer.said)).unwrap_or(0),
            });
            let call = call(usage, answer.text().is_err());
            ledger.settle(tenant, reservation, Some(call)).await;
            Ok((answer, usage))
        }
        Err(error) => {
            let input_tokens = match error {
                ModelError::Timeout { .. } => input_tokens,
                _ => 0,
            };
            let usage = Usage {
                input_tokens,
                output_tokens: 0,
            };
            let call = match error {
                ModelError::BreakerOpen { .. } => None,
                _ => Some(call(usage, true)),
            };
            ledger.settle(tenant, reservation, call).await;
            Err(error)
        }
    }
}

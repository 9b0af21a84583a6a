//! Limits the tokens of language models that a tenant spends in a UTC day. The count is
//! in the database, so all workers share one budget.

use std::time::Duration;

use async_trait::async_trait;
use memory_contract::TenantId;
use memory_distill::{Reservation, Spent, TokenLedger, TokenLedgerError, Usage};
use memory_runtime::error_chain;
use memory_store::{Caller, ModelTokens, Store};
use metrics::{counter, describe_counter};
use uuid::Uuid;

/// A reservation expires this long after the longest possible request: its request was
/// aborted or died with its process, and counts as fully spent.
const GRACE: Duration = Duration::from_secs(60);

/// The ledger of spent tokens, in the database.
pub struct TokenBudget {
    store: Store,
    /// Tokens that one tenant may spend a day; 0: no limit.
    daily: u64,
    reservation_ttl: Duration,
}

impl TokenBudget {
    /// A budget of `daily` tokens for each tenant; 0: no limit. No request takes longer
    /// than `longest`.
    pub fn new(store: Store, daily: u64, longest: Duration) -> Self {
        Self {
            store,
            daily,
            reservation_ttl: longest + GRACE,
        }
    }
}

#[async_trait]
impl TokenLedger for TokenBudget {
    async fn reserve(
        &self,
        tenant: &TenantId,
        model: &str,
        most: Usage,
    ) -> Result<Reservation, TokenLedgerError> {
        let caller = Caller::worker(tenant.clone());
        let id = Uuid::now_v7();
        let reserved = self.store.usage(&caller).reserve_tokens(
            id,
            model,
            tokens(most),
            self.daily,
            self.reservation_ttl,
        );
        match reserved.await {
            Ok(true) => Ok(Reservation { id, most }),
            Ok(false) => {
                counter!("recollect_model_calls_total", "outcome" => "over_budget").increment(1);
                Err(TokenLedgerError::Spent)
            }
            Err(error) => {
                tracing::warn!(error = %error_chain(&error), "the token budget could not be read");
                Err(TokenLedgerError::Unavailable)
            }
        }
    }

    async fn settle(&self, tenant: &TenantId, reservation: Reservation, spent: Spent) {
        let Spent { usage, failed } = spent;
        let outcome = if failed { "failed" } else { "ok" };
        counter!("recollect_model_calls_total", "outcome" => outcome).increment(1);
        for (kind, tokens) in [
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
        ] {
            counter!("recollect_model_tokens_total", "kind" => kind).increment(tokens);
        }
        let caller = Caller::worker(tenant.clone());
        let settled = self
            .store
            .usage(&caller)
            .settle_tokens(reservation.id, tokens(usage), failed)
            .await;
        if let Err(error) = settled {
            tracing::warn!(error = %error_chain(&error), "a model's token usage could not be recorded");
        }
    }
}

fn tokens(usage: Usage) -> ModelTokens {
    ModelTokens {
        input: usage.input_tokens,
        output: usage.output_tokens,
    }
}

pub(crate) fn describe_metrics() {
    describe_counter!(
        "recollect_model_calls_total",
        "Calls of language models, by outcome: ok, failed or over_budget."
    );
    describe_counter!(
        "recollect_model_tokens_total",
        "Tokens of language models, by kind: input or output."
    );
}

//! What a tenant may spend on models in a day, kept in the database, so that all
//! workers see the same.

use std::time::Duration;

use memory_contract::TenantId;
use memory_distill::{Ledger, LedgerError, Reservation, Spent, Usage};
use memory_store::{ModelTokens, Store};
use metrics::counter;
use tonic::async_trait;
use uuid::Uuid;

use memory_store::error_chain;

/// A request that takes longer than the longest was broken off, or has died with
/// its process.
const GRACE: Duration = Duration::from_secs(60);

/// The ledger of tokens.
pub struct Budget {
    store: Store,
    /// Tokens of a tenant on a day; 0: no bound.
    daily: u64,
    keep: Duration,
}

impl Budget {
    /// Over a store. A request takes `longest` at most.
    pub fn new(store: Store, daily: u64, longest: Duration) -> Self {
        Self {
            store,
            daily,
            keep: longest + GRACE,
        }
    }
}

#[async_trait]
impl Ledger for Budget {
    async fn reserve(
        &self,
        tenant: &TenantId,
        model: &str,
        most: Usage,
    ) -> Result<Reservation, LedgerError> {
        let id = Uuid::now_v7();
        let reserved =
            self.store
                .reserve_tokens(tenant, id, model, tokens(most), self.daily, self.keep);
        match reserved.await {
            Ok(true) => Ok(Reservation { id, most }),
            Ok(false) => {
                counter!("recollect_model_calls_total", "outcome" => "over_budget").increment(1);
                Err(LedgerError::Spent)
            }
            Err(error) => {
                tracing::warn!(error = %error_chain(&error), "the ledger of tokens was not read");
                Err(LedgerError::Unavailable)
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
        let settled = self
            .store
            .settle_tokens(tenant, reservation.id, tokens(usage), failed)
            .await;
        if let Err(error) = settled {
            tracing::warn!(error = %error_chain(&error), "what a model cost was not noted");
        }
    }
}

fn tokens(usage: Usage) -> ModelTokens {
    ModelTokens {
        input: usage.input_tokens,
        output: usage.output_tokens,
    }
}

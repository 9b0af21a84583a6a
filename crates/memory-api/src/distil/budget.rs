//! What a tenant may spend on models in a day, kept in the database, so that all
//! workers see the same.

use std::time::Duration;

use memory_contract::TenantId;
use memory_distill::{Call, Ledger, LedgerError, Reservation};
use memory_store::{ModelCall, Store};
use metrics::counter;
use tonic::async_trait;
use uuid::Uuid;

use crate::status::chain;

/// A call that takes longer than the longest has died with its process.
const GRACE: Duration = Duration::from_secs(60);

/// The ledger of tokens.
pub(crate) struct Budget {
    store: Store,
    /// Tokens of a tenant on a day; 0: no bound.
    daily: u64,
    keep: Duration,
}

impl Budget {
    /// Over a store. A call takes `longest` at most.
    pub(crate) fn new(store: Store, daily: u64, longest: Duration) -> Self {
        Self {
            store,
            daily,
            keep: longest + GRACE,
        }
    }
}

#[async_trait]
impl Ledger for Budget {
    async fn reserve(&self, tenant: &TenantId, tokens: u64) -> Result<Reservation, LedgerError> {
        if self.daily == 0 {
            let id = Uuid::nil();
            return Ok(Reservation { id, tokens });
        }
        let id = Uuid::now_v7();
        let reserved = self
            .store
            .reserve_tokens(tenant, id, tokens, self.daily, self.keep);
        match reserved.await {
            Ok(true) => Ok(Reservation { id, tokens }),
            Ok(false) => {
                counter!("recollect_model_calls_total", "outcome" => "over_budget").increment(1);
                Err(LedgerError::Spent)
            }
            Err(error) => {
                tracing::warn!(error = %chain(&error), "the ledger of tokens was not read");
                Err(LedgerError::Unavailable)
            }
        }
    }

    async fn settle(&self, tenant: &TenantId, reservation: Reservation, call: Option<Call>) {
        if call.is_none() && reservation.id.is_nil() {
            return;
        }
        let made = call.as_ref().map(|call| ModelCall {
            model: &call.model,
            failed: call.failed,
            input_tokens: call.usage.input_tokens,
            output_tokens: call.usage.output_tokens,
        });
        if let Some(ModelCall {
            failed,
            input_tokens,
            output_tokens,
            ..
        }) = made
        {
            let outcome = if failed { "failed" } else { "ok" };
            counter!("recollect_model_calls_total", "outcome" => outcome).increment(1);
            counter!("recollect_model_tokens_total", "kind" => "input").increment(input_tokens);
            counter!("recollect_model_tokens_total", "kind" => "output").increment(output_tokens);
        }
        let settled = self.store.settle_tokens(tenant, reservation.id, made).await;
        if let Err(error) = settled {
            tracing::warn!(error = %chain(&error), "what a model cost was not noted");
        }
    }
}

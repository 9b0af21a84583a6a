//! The ledger of what language models cost.

use std::time::Duration;

use memory_contract::TenantId;
use uuid::Uuid;

use crate::{
    Store, StoreError,
    query::{Params, query},
    rows::{column, only},
};

/// Entries of one answer: far more models than anybody has on so many days.
const ENTRIES: i64 = 10_000;

/// What one model cost on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelUsage {
    /// The day (UTC), such as `2026-05-17`.
    pub day: String,
    /// The model.
    pub model: String,
    /// Calls.
    pub calls: i64,
    /// Those of them that gave nothing to use.
    pub failed: i64,
    /// Tokens of prompts.
    pub input_tokens: i64,
    /// Tokens of answers.
    pub output_tokens: i64,
    /// Whether the day is today.
    pub is_today: bool,
}

/// A call of a model, for the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelCall<'a> {
    /// The model.
    pub model: &'a str,
    /// Whether it gave nothing to use.
    pub failed: bool,
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

impl Store {
    /// Sets tokens aside for one call of a model; whether the tenant's budget of
    /// today has as many left. They are given back by [`Store::settle_tokens`], or
    /// after `keep`.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn reserve_tokens(
        &self,
        tenant: &TenantId,
        reservation: Uuid,
        tokens: u64,
        daily_budget: u64,
        keep: Duration,
    ) -> Result<bool, StoreError> {
        let params: Params<'_> = &[
            &tenant.as_str(),
            &reservation,
            &count(tokens),
            &count(daily_budget),
            &keep.as_secs_f64(),
        ];
        let reserve = query!("model_usage/reserve");
        column(&only(self.pool.call(reserve, params).await?)?, 0)
    }

    /// Notes what a call of a model did cost, in the place of what was set aside
    /// for it, if anything was; `None`: the call was not made.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn settle_tokens(
        &self,
        tenant: &TenantId,
        reservation: Uuid,
        call: Option<ModelCall<'_>>,
    ) -> Result<(), StoreError> {
        let (failed, input, output) = call.map_or((false, 0, 0), |call| {
            (call.failed, call.input_tokens, call.output_tokens)
        });
        let params: Params<'_> = &[
            &tenant.as_str(),
            &reservation,
            &call.map(|call| call.model),
            &failed,
            &count(input),
            &count(output),
        ];
        let settle = query!("model_usage/settle");
        self.pool.call(settle, params).await.map(drop)
    }

    /// What models cost on the last `days` days, today included, the newest day
    /// first.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn model_usage(
        &self,
        tenant: &TenantId,
        days: i32,
    ) -> Result<Vec<ModelUsage>, StoreError> {
        let params: Params<'_> = &[&tenant.as_str(), &days, &ENTRIES];
        let list = query!("model_usage/list");
        let found = self.pool.within(tenant, list, params).await?;
        found
            .iter()
            .map(|row| {
                Ok(ModelUsage {
                    day: column(row, 0)?,
                    model: column(row, 1)?,
                    calls: column(row, 2)?,
                    failed: column(row, 3)?,
                    input_tokens: column(row, 4)?,
                    output_tokens: column(row, 5)?,
                    is_today: column(row, 6)?,
                })
            })
            .collect()
    }
}

fn count(tokens: u64) -> i64 {
    // Far from either end, so that a sum of some of them does not overflow.
    i64::try_from(tokens).unwrap_or(i64::MAX).min(1 << 60)
}

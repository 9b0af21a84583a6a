//! The usage of a tenant: tokens of models, and storage.

use std::time::Duration;

use memory_contract::{RequestId, ThreadId, thread::Session};
use memory_database::{
    StoreError,
    rows::{column, only, scalar},
    session_digest,
};
use memory_postgres::{Params, query};
use uuid::Uuid;

use crate::UsageStore;

/// The most entries of one answer, far above the usual number of models and days.
const ENTRIES: i64 = 10_000;

/// The size of a tenant's data, as `memory-database/functions/tenants/storage_usage.sql` counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StorageUsage {
    /// Messages of threads and of nodes.
    pub messages: i64,
    /// Bytes of all content.
    pub bytes: i64,
}

/// The work of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// It writes. The daily budget limits its tokens.
    Language,
    /// It embeds, behind an endpoint.
    Embedding,
}

impl ModelKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Language => "language",
            Self::Embedding => "embedding",
        }
    }

    fn read(name: &str) -> Result<Self, StoreError> {
        let mut all = [Self::Language, Self::Embedding].into_iter();
        let found = all.find(|kind| kind.as_str() == name);
        found.ok_or_else(|| StoreError::Corrupt {
            what: "model usage",
            why: format!("its kind is {name:?}"),
        })
    }
}

/// The usage of one model on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelUsage {
    /// The day (UTC), such as `2026-05-17`.
    pub day: String,
    /// The model's work.
    pub kind: ModelKind,
    /// The model's name.
    pub model: String,
    /// Requests to the model, retries included.
    pub calls: i64,
    /// Requests without a usable answer.
    pub failed: i64,
    /// Tokens of prompts.
    pub input_tokens: i64,
    /// Tokens of answers.
    pub output_tokens: i64,
    /// Whether the day is today.
    pub is_today: bool,
}

/// The tokens of a request to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelTokens {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
}

impl UsageStore<'_> {
    /// Reserves tokens for one request to a model. Returns whether the tenant's budget of
    /// today has as many left; a budget of 0 is unlimited. What is not settled by
    /// [`UsageStore::settle_tokens`](crate::UsageStore::settle_tokens) within `keep` is spent.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn reserve_tokens(
        self,
        reservation: Uuid,
        model: &str,
        most: ModelTokens,
        daily_budget: u64,
        keep: Duration,
    ) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &reservation,
            &model,
            &count(most.input),
            &count(most.output),
            &count(daily_budget),
            &keep.as_secs_f64(),
        ];
        let reserve = query!("model_usage/reserve");
        scalar(&only(
            self.store.pool.call(self.caller, reserve, params).await?,
        )?)
    }

    /// Replaces the reservation of a request to a model by its actual usage, and records
    /// whether the answer was usable. A reservation that is settled already is not changed.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn settle_tokens(
        self,
        reservation: Uuid,
        spent: ModelTokens,
        failed: bool,
    ) -> Result<(), StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &reservation,
            &failed,
            &count(spent.input),
            &count(spent.output),
        ];
        let settle = query!("model_usage/settle");
        self.store.pool.call(self.caller, settle, params).await?;
        Ok(())
    }

    /// Adds requests to an embedding model, and the tokens that they cost.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn add_embedding_usage(
        self,
        model: &str,
        calls: u64,
        failed: u64,
        tokens: u64,
    ) -> Result<(), StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &ModelKind::Embedding.as_str(),
            &model,
            &count(calls),
            &count(failed),
            &count(tokens),
            &0_i64,
        ];
        let add = query!("model_usage/add");
        self.store.pool.call(self.caller, add, params).await?;
        Ok(())
    }

    /// Reads the usage of the last `days` days, today included, the newest day first.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn model_usage(self, days: i32) -> Result<Vec<ModelUsage>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &days, &ENTRIES];
        let list = query!("model_usage/list");
        let found = self.store.pool.within(self.caller, list, params).await?;
        found
            .iter()
            .map(|row| {
                Ok(ModelUsage {
                    day: column(row, "day")?,
                    kind: ModelKind::read(column(row, "kind")?)?,
                    model: column(row, "model")?,
                    calls: column(row, "call_count")?,
                    failed: column(row, "failed_count")?,
                    input_tokens: column(row, "input_tokens")?,
                    output_tokens: column(row, "output_tokens")?,
                    is_today: column(row, "is_today")?,
                })
            })
            .collect()
    }

    /// Sums up the tenant's data: a second or two for a million threads.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn storage(self) -> Result<StorageUsage, StoreError> {
        let params: Params<'_> = &[&self.caller.tenant.as_str()];
        let usage = query!("tenants/storage_usage");
        let row = only(self.store.pool.call(self.caller, usage, params).await?)?;
        Ok(StorageUsage {
            messages: column(&row, "message_count")?,
            bytes: column(&row, "stored_bytes")?,
        })
    }

    /// Whether a write of a kind repeats one that was made before: its request id is
    /// remembered, or messages of the thread, or of the session's, have one of its external
    /// ids. Kinds are `append`, `node_turn`, `attempt` and `events`.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn is_known(
        self,
        kind: &str,
        request: Option<RequestId>,
        (thread, session): (Option<ThreadId>, Option<&Session>),
        external: &[&str],
    ) -> Result<bool, StoreError> {
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &request.map(RequestId::uuid),
            &kind,
            &thread.map(ThreadId::uuid),
            &session.map(session_digest),
            &external,
        ];
        let known = query!("requests/is_known");
        scalar(&only(
            self.store.pool.within(self.caller, known, params).await?,
        )?)
    }
}

fn count(tokens: u64) -> i64 {
    // Clamped far below the maximum, so that sums do not overflow.
    i64::try_from(tokens).unwrap_or(i64::MAX).min(1 << 60)
}

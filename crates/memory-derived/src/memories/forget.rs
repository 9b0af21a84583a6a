//! Forgets memories by age, disuse and number.

use std::time::Duration;

use memory_contract::{AppId, TenantId, UserId, limits, memory::Memory, policy::PolicyLevel};
use memory_database::{StoreError, rows::column};
use memory_postgres::{Caller, Params, query};

use super::rows;
use crate::{MemoryStore, MemoryWorker};

/// What to forget: the memories to which any of the bounds applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forget {
    /// The app of the memories.
    pub app: AppId,
    /// One user; `None` for all of them.
    pub user: Option<UserId>,
    /// Memories stored longer ago than this.
    pub max_age: Option<Duration>,
    /// Memories that no call has returned for longer than this.
    pub max_inactivity: Option<Duration>,
    /// All but this many of each user, those used longest ago first.
    pub max_count: Option<u32>,
    /// Only report what would be forgotten.
    pub dry_run: bool,
}

/// The result of [`MemoryStore::forget_memories`](crate::MemoryStore::forget_memories).
#[derive(Clone, Debug, PartialEq)]
pub struct Forgotten {
    /// Memories that were, or would be, erased.
    pub count: i64,
    /// The first 100 of them.
    pub memories: Vec<Memory>,
    /// Whether there are more.
    pub more: bool,
}

impl MemoryStore<'_> {
    /// Forgets memories, at most 10,000, those used longest ago first; pinned
    /// ones stay.
    ///
    /// # Errors
    /// `MemoryError::Off`.
    pub async fn forget_memories(self, forget: &Forget) -> Result<Forgotten, StoreError> {
        self.store.require_long_term_memory()?;
        let listed = i32::try_from(limits::FORGOTTEN_TOLD).unwrap_or(i32::MAX);
        self.forget(forget, limits::FORGOTTEN, listed).await
    }

    /// Forgets at most `limit` memories, and returns the first `listed` of them.
    async fn forget(
        self,
        forget: &Forget,
        limit: i32,
        listed: i32,
    ) -> Result<Forgotten, StoreError> {
        let tenant = &self.caller.tenant;
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        let count = forget
            .max_count
            .map(|count| i32::try_from(count).unwrap_or(i32::MAX));
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &forget.app.as_str(),
            &forget.user.as_ref().map_or("", UserId::as_str),
            &forget.user.is_none(),
            &seconds(forget.max_age),
            &seconds(forget.max_inactivity),
            &count,
            &forget.dry_run,
            &limit,
            &listed,
        ];
        let found = self
            .store
            .pool
            .call(self.caller, query!("memories/forget"), params)
            .await?;
        let mut memories = Vec::new();
        for row in &found {
            if rows::has_memory(row)? {
                memories.push(rows::memory(row)?);
            }
        }
        let numbers = found.last().ok_or_else(|| StoreError::Corrupt {
            what: "answer",
            why: "it has no row".to_owned(),
        })?;
        Ok(Forgotten {
            count: column(numbers, "forgotten")?,
            memories,
            more: column(numbers, "more")?,
        })
    }

    /// Forgets what an app's policy does not keep, at most `limit`. Returns whether there
    /// are more.
    async fn forget_by_policy(self, app: &AppId, limit: i32) -> Result<bool, StoreError> {
        let app_policy = self.policies().app_policy(app).await?;
        let levels = [(PolicyLevel::App, &app_policy.policy)];
        let policy = self.store.resolve_policy(&levels);
        let forget = Forget {
            app: app.clone(),
            user: None,
            max_age: policy.memory_max_age.into(),
            max_inactivity: policy.memory_max_inactivity.into(),
            max_count: Some(policy.memory_max_count),
            dry_run: false,
        };
        let forgotten = self.forget(&forget, limit, 0).await?;
        Ok(forgotten.count > 0 && forgotten.more)
    }
}

impl MemoryWorker<'_> {
    /// Forgets memories that the policies of the next apps do not keep: at
    /// most `apps` of them after the key `after`, and at most `limit` memories of
    /// each. Returns the key to continue after; `None` at the end.
    ///
    /// # Errors
    /// Only errors of the database; a part may have been erased.
    pub async fn sweep_memories(
        self,
        after: Option<(TenantId, AppId)>,
        apps: u32,
        limit: u32,
    ) -> Result<Option<(TenantId, AppId)>, StoreError> {
        let (tenant, app) = match &after {
            Some((tenant, app)) => (tenant.as_str(), app.as_str()),
            None => ("", ""),
        };
        let params: Params<'_> = &[&tenant, &app, &i64::from(apps)];
        let found = self
            .workers
            .pool
            .call_for_all(query!("memories/apps"), params)
            .await?;
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let mut last = after;
        for row in &found {
            let tenant = TenantId::new(column::<String>(row, "tenant_id")?);
            let app = AppId::new(column::<String>(row, "app_id")?);
            if MemoryStore::new(self.store, self.uses, &Caller::worker(tenant.clone()))
                .forget_by_policy(&app, limit)
                .await?
            {
                // This app once more, before the next one.
                return Ok(Some(last.unwrap_or((TenantId::new(""), AppId::new("")))));
            }
            last = Some((tenant, app));
        }
        Ok(last.filter(|_| found.len() >= apps as usize))
    }
}

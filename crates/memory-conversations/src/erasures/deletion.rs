//! Deleting all data of a user, an app or a tenant, with a receipt.

use std::time::Duration;

use memory_contract::{
    AppId, TenantId, UserId,
    deletion::{DeletionScope, ErasedPlace, Receipt},
};
use memory_database::{
    Page, StoreError,
    page::one_more,
    queue::LeaseId,
    rows::{self, column, only, scalar},
};
use memory_postgres::{Params, query};
use memory_runtime::error_chain;
use time::{OffsetDateTime, macros::datetime};
use uuid::Uuid;

use super::{Claimed, ErasureStats, claimed, erase_now, stats_of};
use crate::{ErasureStore, ErasureWorker};

/// How long a deletion stays with a worker that erases outside of Postgres. A server with an index or
/// a database of its own ends the lease of one that was killed.
pub const OUTSIDE_LEASE: Duration = Duration::from_secs(3_600);

/// After the time of every deletion.
const LAST_TIME: OffsetDateTime = datetime!(9999-12-31 00:00 UTC);

/// A deletion of which all is erased that Postgres alone can erase.
#[derive(Debug)]
pub struct OutsideErasure {
    /// The tenant.
    pub tenant: TenantId,
    /// What is deleted.
    pub scope: DeletionScope,
    actor: String,
    claimed: Claimed,
}

impl ErasureStore<'_> {
    /// Begins to delete a user, an app or the tenant; workers do the rest. Returns the id, which
    /// is that of the deletion in progress if there is one.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn delete(self, scope: &DeletionScope) -> Result<Uuid, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &Uuid::new_v4(),
            &scope.kind(),
            &scope.app().map(AppId::as_str),
            &scope.user().map(UserId::as_str),
        ];
        let begin = query!("erasures/begin");
        let id = scalar(&only(
            self.store.pool.call(self.caller, begin, params).await?,
        )?)?;
        erase_now(self.store, tenant, id).await;
        Ok(id)
    }

    /// The receipt of a deletion, with a new count of the remaining rows.
    ///
    /// # Errors
    /// `DeletionNotFound`.
    pub async fn get(self, id: Uuid) -> Result<Receipt, StoreError> {
        let tenant = self.caller.tenant.as_str();
        let params: Params<'_> = &[&tenant, &id];
        let queries = [
            (query!("erasures/get"), params),
            (query!("erasures/count"), params),
            (query!("erasures/threads"), params),
        ];
        let results = self.store.pool.within_all(self.caller, &queries).await?;
        let [found, places, threads] = results.as_slice() else {
            return Err(StoreError::DeletionNotFound);
        };
        let row = found.first().ok_or(StoreError::DeletionNotFound)?;
        let place = |row| {
            Ok(ErasedPlace {
                name: column(row, "place")?,
                erased: column(row, "deleted_count")?,
                remaining: column(row, "remaining_count")?,
            })
        };
        let erased_threads = match column(row, "used_again")? {
            true => Some(
                threads
                    .iter()
                    .map(|row| rows::id(row, "erasure_id"))
                    .collect::<Result<_, _>>()?,
            ),
            false => None,
        };
        let places = places.iter().map(place);
        Ok(Receipt {
            erased_threads,
            places: places.collect::<Result<_, StoreError>>()?,
            ..receipt(row)?
        })
    }

    /// Lists the deletions of users, apps and the tenant without counting, the newest first,
    /// after the place `after`.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list(
        self,
        after: Option<(OffsetDateTime, Uuid)>,
        limit: u32,
    ) -> Result<Page<Receipt, (OffsetDateTime, Uuid)>, StoreError> {
        let tenant = self.caller.tenant.as_str();
        let (time, id) = after.unwrap_or((LAST_TIME, Uuid::max()));
        let params: Params<'_> = &[&tenant, &time, &id, &one_more(limit)];
        let list = query!("erasures/list");
        let rows = self.store.pool.within(self.caller, list, params).await?;
        let placed = |row| {
            let receipt = receipt(row)?;
            Ok(((receipt.created, receipt.id), receipt))
        };
        let receipts = rows.iter().map(placed);
        Ok(Page::cut(
            receipts.collect::<Result<_, StoreError>>()?,
            limit,
        ))
    }

    /// Measures the queue of erasures of the tenant.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn stats(self) -> Result<ErasureStats, StoreError> {
        let params: Params<'_> = &[&self.caller.tenant.as_str()];
        let stats = query!("erasures/tenant_stats");
        let found = self.store.pool.within(self.caller, stats, params);
        stats_of(&only(found.await?)?)
    }
}

impl ErasureWorker<'_> {
    /// Claims deletions of which the index, and the database's files, are to be erased: at most
    /// `limit`, those that have waited longest.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn claim_outside(self, limit: u32) -> Result<Vec<OutsideErasure>, StoreError> {
        let lease = LeaseId::new();
        let params: Params<'_> = &[
            &i64::from(limit),
            &lease.uuid(),
            &OUTSIDE_LEASE.as_secs_f64(),
            &true,
        ];
        let found = self
            .workers
            .pool
            .call_for_all(query!("erasures/claim"), params)
            .await?;
        let mut erasures = Vec::with_capacity(found.len());
        for row in &found {
            let claimed = claimed(row, lease)?;
            match self.scope_and_actor(&claimed).await {
                Ok((scope, actor)) => erasures.push(OutsideErasure {
                    tenant: claimed.caller.tenant.clone(),
                    scope,
                    actor,
                    claimed,
                }),
                // The others go on.
                Err(error) => claimed.postpone(self.store, &error_chain(&error)).await?,
            }
        }
        Ok(erasures)
    }

    /// Reads what is deleted, and who deletes it. Workers may read this only on behalf of the tenant.
    async fn scope_and_actor(
        self,
        claimed: &Claimed,
    ) -> Result<(DeletionScope, String), StoreError> {
        let params: Params<'_> = &[&claimed.caller.tenant.as_str(), &claimed.id];
        let get = query!("erasures/get");
        let row = only(self.store.pool.within(&claimed.caller, get, params).await?)?;
        Ok((scope_of(&row)?, column(&row, "actor")?))
    }

    /// Ends the claim: all is erased, and perhaps the files of the database were rewritten; or
    /// why it is not.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn end_outside(
        self,
        erasure: &OutsideErasure,
        rewritten: Result<bool, &str>,
    ) -> Result<(), StoreError> {
        let (claimed, tenant) = (&erasure.claimed, &erasure.tenant);
        let rewritten = match rewritten {
            Ok(rewritten) => rewritten,
            Err(why) => return claimed.postpone(self.store, why).await,
        };
        if self.store.has_chat_database() && erasure.scope == DeletionScope::Tenant {
            let params: Params<'_> = &[&tenant.as_str(), &erasure.actor];
            let erase = query!("erasures/erase_registry");
            self.store
                .main
                .within(&claimed.caller, erase, params)
                .await?;
        }
        let ended = query!("erasures/end_outside");
        claimed.change(self.store, ended, &[&rewritten]).await
    }

    /// Deletes entries of the audit log, and receipts of deletions, older than the configured
    /// time, at most `limit` of each. Returns how many.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn sweep_transactions(self, limit: u32) -> Result<u64, StoreError> {
        let params: Params<'_> = &[
            &self.workers.transaction_retention.as_secs_f64(),
            &i64::from(limit),
        ];
        let sweep = query!("transactions/sweep");
        let mut swept = self.workers.pool.execute(sweep, params).await?;
        swept = swept.max(
            self.workers
                .pool
                .execute(query!("erasures/sweep"), params)
                .await?,
        );
        if let Some(main) = &self.workers.main {
            swept = swept.max(main.execute(sweep, params).await?);
        }
        Ok(swept)
    }
}

/// A receipt without its places and threads.
fn receipt(row: &tokio_postgres::Row) -> Result<Receipt, StoreError> {
    Ok(Receipt {
        id: column(row, "erasure_id")?,
        scope: scope_of(row)?,
        step: column(row, "step")?,
        places: Vec::new(),
        storage_rewritten: column(row, "storage_rewritten")?,
        last_error: column(row, "last_error")?,
        created: column(row, "created_at")?,
        finished: column(row, "finished_at")?,
        erased_threads: None,
    })
}

fn scope_of(row: &tokio_postgres::Row) -> Result<DeletionScope, StoreError> {
    let app = column::<Option<String>>(row, "app_id")?.map(AppId::new);
    let user = column::<Option<String>>(row, "user_id")?.map(UserId::new);
    Ok(DeletionScope::of(app, user))
}

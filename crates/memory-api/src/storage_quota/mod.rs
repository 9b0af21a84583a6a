//! Quotas of what a tenant stores, in messages and in bytes.
//!
//! Appends keep no total of a tenant, because they would wait for each other at its row. A
//! process sums up the usage instead ([`UsageStore::storage`](memory_store::UsageStore)), only
//! of tenants that write and only where a quota is configured, and adds what it has accepted
//! since. So within one process no quota is exceeded; another process's writes are unknown
//! until the next sum, at most [`figures::ROUTINE`] later.
//!
//! A refusal comes from a sum that began after the call, so that deletions count, unless that
//! would take too long. After each sum its [`figures::PAUSE_FACTOR`]-fold duration passes, at least,
//! before the next: sums of a tenant take at most a twentieth of one connection's time.

mod amount;
mod figures;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use memory_context::Conversation;
use memory_contract::{NewMessage, RequestId, TenantId};
use memory_store::{Caller, Store, StoreError, error_chain, task};
use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::config::ServerConfig;
use crate::error::ApiError;
use crate::layers::Quota;
use amount::Exceeded;
pub(crate) use amount::{Amount, Limits};
use figures::{Figures, Step, WAIT};

/// Tenants whose sums are kept. Those without calls under way are dropped beyond it.
const TENANTS: usize = 10_000;

/// What a tenant stores, and its quotas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) used: Amount,
    pub(crate) limits: Limits,
    /// How long ago it was summed up; `None`: not yet.
    pub(crate) age: Option<Duration>,
}

/// Compares writes with the quotas of their tenants. Clones share what is known.
#[derive(Clone, Debug)]
pub(crate) struct StorageQuotas(Option<Arc<Quotas>>);

#[derive(Debug)]
struct Quotas {
    store: Store,
    limits: Limits,
    tenants: Mutex<HashMap<TenantId, Arc<Tenant>>>,
}

#[derive(Debug)]
struct Tenant {
    figures: Mutex<Figures>,
    /// Changes when a sum ends.
    sums: watch::Sender<()>,
}

/// A write that is accepted. Dropped, it counts as stored until the next sum, also if it
/// failed, because what a failed call has stored is not known.
#[derive(Debug)]
pub(crate) struct Admitted(Option<Place>);

#[derive(Debug)]
struct Place {
    tenant: Arc<Tenant>,
    reserved: Amount,
    stored: Amount,
}

impl StorageQuotas {
    pub(crate) fn new(config: &ServerConfig, store: Store) -> Self {
        let limit = |limit| (limit > 0).then(|| i64::try_from(limit).unwrap_or(i64::MAX));
        let limits = Limits {
            messages: limit(config.tenant_messages),
            bytes: limit(config.tenant_bytes),
        };
        let limited = limits.messages.is_some() || limits.bytes.is_some();
        Self(limited.then(|| {
            Arc::new(Quotas {
                store,
                limits,
                tenants: Mutex::default(),
            })
        }))
    }

    /// Accepts a write of the caller's tenant, or refuses it with `StorageFull`.
    pub(crate) async fn admit(
        &self,
        caller: &Caller,
        wanted: impl FnOnce() -> Amount,
    ) -> Result<Admitted, ApiError> {
        let Some(quotas) = &self.0 else {
            return Ok(Admitted(None));
        };
        let wanted = wanted();
        let tenant = quotas.tenant(&caller.tenant);
        let arrived = Instant::now();
        let mut sums = tenant.sums.subscribe();
        loop {
            let step = tenant
                .figures()
                .step(wanted, &quotas.limits, arrived, Instant::now());
            match step {
                Step::Admit { sum } => {
                    if sum {
                        quotas.sum_up(&tenant, caller);
                    }
                    return Ok(Admitted(Some(Place {
                        tenant,
                        reserved: wanted,
                        stored: wanted,
                    })));
                }
                Step::Refuse(Exceeded { limit, setting }) => {
                    let quota = Quota::of_storage(&caller.tenant, limit);
                    return Err(ApiError::StorageFull { quota, setting });
                }
                Step::Wait { sum, until } => {
                    if sum {
                        quotas.sum_up(&tenant, caller);
                    }
                    // Either way the figures are looked at again.
                    timeout_at(until, sums.changed()).await.ok();
                }
            }
        }
    }

    /// Like [`Self::admit`], but lets a retry of a stored write pass, which gets the first
    /// answer again and stores nothing.
    pub(crate) async fn admit_or_retry(
        &self,
        caller: &Caller,
        wanted: impl FnOnce() -> Amount,
        is_retry: impl Future<Output = Result<bool, StoreError>>,
    ) -> Result<Admitted, ApiError> {
        let refusal = match self.admit(caller, wanted).await {
            Err(refusal @ ApiError::StorageFull { .. }) => refusal,
            outcome => return outcome,
        };
        if is_retry.await? {
            return Ok(Admitted(None));
        }
        Err(refusal)
    }

    /// What the caller's tenant stores, with a new sum if the pause allows one; `None` where
    /// no quota is configured.
    pub(crate) async fn usage(&self, caller: &Caller) -> Option<Usage> {
        let quotas = self.0.as_ref()?;
        let tenant = quotas.tenant(&caller.tenant);
        let mut sums = tenant.sums.subscribe();
        quotas.sum_up(&tenant, caller);
        if tenant.figures().is_summing() {
            timeout_at(Instant::now() + WAIT, sums.changed()).await.ok();
        }
        let (used, age) = tenant.figures().stored(Instant::now());
        Some(Usage {
            used,
            limits: quotas.limits,
            age,
        })
    }
}

impl Quotas {
    fn tenant(&self, id: &TenantId) -> Arc<Tenant> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tenant) = tenants.get(id) {
            return Arc::clone(tenant);
        }
        if tenants.len() >= TENANTS {
            tenants.retain(|_, tenant| Arc::strong_count(tenant) > 1);
        }
        let tenant = Arc::new(Tenant {
            figures: Mutex::default(),
            sums: watch::Sender::default(),
        });
        tenants.insert(id.clone(), Arc::clone(&tenant));
        tenant
    }

    /// Sums up a tenant's usage in the background, unless that is under way or too early. It
    /// goes on without the call that starts it: calls that are cancelled cause no second sum.
    fn sum_up(&self, tenant: &Arc<Tenant>, caller: &Caller) {
        let started = Instant::now();
        if !tenant.figures().begin(started) {
            return;
        }
        let (store, tenant) = (self.store.clone(), Arc::clone(tenant));
        let caller = Caller::worker(caller.tenant.clone());
        task::spawn("storage_usage", async move {
            let summed = store.usage(&caller).storage().await;
            let ended = Instant::now();
            histogram!("recollect_storage_usage_seconds").record(ended - started);
            let summed = match summed {
                Ok(usage) => Some(Amount {
                    messages: usage.messages,
                    bytes: usage.bytes,
                }),
                Err(error) => {
                    counter!("recollect_storage_usage_failures_total").increment(1);
                    let error = error_chain(&error);
                    tracing::warn!(%error, "what a tenant stores was not summed up");
                    None
                }
            };
            tenant.figures().end(summed, started, ended);
            tenant.sums.send_replace(());
        });
    }
}

impl Tenant {
    fn figures(&self) -> MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admitted {
    /// Says what was stored, where it differs from what was announced.
    pub(crate) fn stored(mut self, stored: Amount) {
        if let Some(place) = &mut self.0 {
            place.stored = stored;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut figures = self.tenant.figures();
        figures.settle(self.reserved, self.stored);
    }
}

/// Whether an append repeats a stored one.
pub(crate) async fn is_stored(
    store: &Store,
    caller: &Caller,
    conversation: &Conversation,
    messages: &[NewMessage],
    request: Option<RequestId>,
) -> Result<bool, StoreError> {
    let external = messages.iter().map(|message| message.external_id.as_str());
    let external: Vec<&str> = external.filter(|id| !id.is_empty()).collect();
    if request.is_none() && external.is_empty() {
        return Ok(false);
    }
    let place = match conversation {
        Conversation::Thread(thread) => (Some(*thread), None),
        Conversation::Session(session) => (None, Some(session)),
    };
    let usage = store.usage(caller);
    usage.is_known("append", request, place, &external).await
}

/// Whether the request id of another kind of write is remembered; see
/// [`UsageStore::is_known`](memory_store::UsageStore::is_known).
pub(crate) async fn is_remembered(
    store: &Store,
    caller: &Caller,
    kind: &str,
    request: Option<RequestId>,
) -> Result<bool, StoreError> {
    if request.is_none() {
        return Ok(false);
    }
    let usage = store.usage(caller);
    usage.is_known(kind, request, (None, None), &[]).await
}

pub(crate) fn describe_metrics() {
    describe_histogram!(
        "recollect_storage_usage_seconds",
        Unit::Seconds,
        "Time to sum up what a tenant stores, for its quotas."
    );
    describe_counter!(
        "recollect_storage_usage_failures_total",
        "Failed attempts to sum up what a tenant stores, for its quotas."
    );
}

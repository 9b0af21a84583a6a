//! Quotas of what a tenant stores, in messages and in bytes.
//!
//! Appends keep no total of a tenant, because they would wait for each other at its row. A
//! process caches a sum ([`UsageStore::storage`](memory_store::UsageStore)), only of tenants
//! that write and only where a quota is configured, replaces it every ten seconds, and adds
//! what it accepts meanwhile. So within one process no quota is exceeded; another process's
//! writes count from the next sum on. Before a refusal a new sum is made, so that deletions
//! count, unless the last one is too young.

mod amount;
mod repeated;
mod usage;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use memory_contract::{RequestId, TenantId};
use memory_grpc::{ApiError, Quota};
use memory_runtime::{error_chain, task};
use memory_store::{Caller, Store, StoreError};
use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

pub use amount::Amount;
use repeated::is_remembered;
pub(crate) use repeated::is_stored;
use usage::CachedUsage;

/// How long a call waits for a sum.
const WAIT: Duration = Duration::from_secs(2);
/// Tenants whose sums are kept. Those without calls under way are dropped beyond it.
const TENANTS: usize = 10_000;

/// The configured quotas of each tenant.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Messages; `None`: no limit.
    pub messages: Option<i64>,
    /// Bytes; `None`: no limit.
    pub bytes: Option<i64>,
}

/// What a tenant stores, and its quotas.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// What is stored.
    pub used: Amount,
    /// The configured quotas.
    pub limits: Limits,
    /// How long ago it was summed up; `None`: not yet.
    pub age: Option<Duration>,
}

/// Compares writes with the quotas of their tenants. Clones share what is known.
#[derive(Clone, Debug)]
pub struct StorageQuotas(Option<Arc<Quotas>>);

#[derive(Debug)]
struct Quotas {
    store: Store,
    limits: Limits,
    tenants: Mutex<HashMap<TenantId, Arc<Tenant>>>,
}

#[derive(Debug, Default)]
struct Tenant {
    usage: Mutex<CachedUsage>,
    /// Held by the sum that is under way.
    summing: Arc<tokio::sync::Mutex<()>>,
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
    /// Quotas of all tenants, whose usage is read from `store`.
    pub fn new(limits: Limits, store: Store) -> Self {
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
        let (wanted, arrived) = (wanted(), Instant::now());
        let tenant = quotas.tenant(&caller.tenant);
        if !tenant.usage().is_known() {
            quotas.sum_up(&tenant, caller, arrived).await;
        }
        let mut exceeded = tenant.reserve(wanted, &quotas.limits);
        if exceeded.is_some() {
            quotas.sum_up(&tenant, caller, arrived).await;
            exceeded = tenant.reserve(wanted, &quotas.limits);
        } else if tenant.usage().is_old(arrived)
            && let Ok(summing) = Arc::clone(&tenant.summing).try_lock_owned()
        {
            quotas.begin_sum(&tenant, caller, arrived, summing);
        }
        match exceeded {
            None => Ok(Admitted(Some(Place {
                tenant,
                reserved: wanted,
                stored: wanted,
            }))),
            Some((limit, setting)) => Err(ApiError::StorageFull {
                quota: Quota::of_tenant(&caller.tenant, limit),
                setting,
            }),
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

    /// Like [`Self::admit_or_retry`] for a kind of write whose retries have the same request id.
    pub(crate) async fn admit_request(
        &self,
        caller: &Caller,
        wanted: Amount,
        (kind, request): (&str, Option<RequestId>),
    ) -> Result<Admitted, ApiError> {
        let Some(quotas) = &self.0 else {
            return Ok(Admitted(None));
        };
        let is_retry = is_remembered(&quotas.store, caller, kind, request);
        self.admit_or_retry(caller, || wanted, is_retry).await
    }

    /// What the caller's tenant stores, with a new sum if the pause allows one; `None` where
    /// no quota is configured.
    pub async fn usage(&self, caller: &Caller) -> Option<Usage> {
        let quotas = self.0.as_ref()?;
        let tenant = quotas.tenant(&caller.tenant);
        quotas.sum_up(&tenant, caller, Instant::now()).await;
        let (used, age) = tenant.usage().stored(Instant::now());
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
        Arc::clone(tenants.entry(id.clone()).or_default())
    }

    /// Waits for a sum of a tenant's usage that contains what was stored at `newer_than`, for
    /// [`WAIT`] at most.
    async fn sum_up(&self, tenant: &Arc<Tenant>, caller: &Caller, newer_than: Instant) {
        let deadline = Instant::now() + WAIT;
        let summing = Arc::clone(&tenant.summing).lock_owned();
        let Ok(summing) = timeout_at(deadline, summing).await else {
            return;
        };
        if let Some(sum) = self.begin_sum(tenant, caller, newer_than, summing) {
            timeout_at(deadline, sum).await.ok();
        }
    }

    /// Begins a sum in the background, unless the last one is new enough or too young to be
    /// replaced. It goes on without the call that began it, so that calls that are cancelled
    /// cause no second one.
    fn begin_sum(
        &self,
        tenant: &Arc<Tenant>,
        caller: &Caller,
        newer_than: Instant,
        summing: OwnedMutexGuard<()>,
    ) -> Option<JoinHandle<()>> {
        let started = Instant::now();
        if !tenant.usage().begin(newer_than, started) {
            return None;
        }
        let (store, tenant) = (self.store.clone(), Arc::clone(tenant));
        let caller = Caller::worker(caller.tenant.clone());
        Some(task::spawn("storage_usage", async move {
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
                    tracing::warn!(%error, "summing up a tenant's storage failed");
                    None
                }
            };
            tenant.usage().end(summed, started, ended);
            drop(summing);
        }))
    }
}

impl Tenant {
    fn usage(&self) -> MutexGuard<'_, CachedUsage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves room for a write; the limit that it would exceed and its setting otherwise.
    fn reserve(&self, wanted: Amount, limits: &Limits) -> Option<(String, &'static str)> {
        let mut usage = self.usage();
        // Without a sum the quota cannot be checked. Writes go on then.
        let used = usage.total() + wanted;
        let exceeded = limits.exceeded_by(used).filter(|_| usage.is_known());
        if exceeded.is_none() {
            usage.reserve(wanted);
        }
        exceeded
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
        self.tenant.usage().settle(self.reserved, self.stored);
    }
}

impl Limits {
    /// Limits of messages and bytes; 0: none.
    pub fn new(messages: u64, bytes: u64) -> Self {
        let limit = |limit| (limit > 0).then(|| i64::try_from(limit).unwrap_or(i64::MAX));
        Self {
            messages: limit(messages),
            bytes: limit(bytes),
        }
    }

    /// The limit that an amount exceeds, and its setting.
    fn exceeded_by(&self, used: Amount) -> Option<(String, &'static str)> {
        let messages = self.messages.filter(|most| used.messages > *most);
        let bytes = self.bytes.filter(|most| used.bytes > *most);
        let messages =
            messages.map(|most| (format!("at most {most} messages"), "server.tenant_messages"));
        messages
            .or_else(|| bytes.map(|most| (format!("at most {most} bytes"), "server.tenant_bytes")))
    }
}

/// Describes this crate's metrics to the installed recorder.
pub fn describe_metrics() {
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

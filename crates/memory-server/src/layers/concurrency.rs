//! Limits concurrent calls: of the whole server, of each tenant and of each API key.
//! tonic's own limit is per connection and queues calls without bound.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memory_contract::TenantId;
use memory_grpc::{ApiError, Quota, RETRY_OVERLOADED};
use memory_http::UntilSent;
use memory_index::Background;
use memory_store::Caller;
use tonic::Status;

use super::around::{Around, Inner};
use super::key::{Key, key_of};
use super::methods::Method;
use super::{Answer, Methods, Request, body};
use crate::config::ServerConfig;

/// Refuses calls beyond the limits at once. Imports and exports, which may last
/// for an hour, have a separate limit, so that they cannot block short calls; so do
/// watches, which are mostly idle. A call counts until its answer's body is dropped,
/// at the latest by [`super::Deadlines`] around it, or by [`super::Unread`]. Inside of [`super::Auth`]: only calls
/// with a valid key count.
#[derive(Clone, Debug)]
pub(crate) struct Concurrency {
    methods: Methods,
    calls: Arc<Limit>,
    streams: Arc<Limit>,
    watches: Arc<Limit>,
    background: Background,
}

/// The limit of one kind of calls, and the calls under way.
#[derive(Debug)]
pub(super) struct Limit {
    kind: &'static str,
    max: usize,
    max_of_tenant: usize,
    max_of_key: usize,
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    all: usize,
    tenants: HashMap<TenantId, usize>,
    keys: HashMap<Key, usize>,
}

/// A call under way. Dropping it ends the call.
#[derive(Debug)]
pub(crate) struct Permit {
    limit: Arc<Limit>,
    key: Option<Key>,
}

impl Concurrency {
    pub(crate) fn new(methods: Methods, config: &ServerConfig, background: Background) -> Self {
        Self {
            methods,
            calls: Limit::new("calls", config.max_calls, config),
            streams: Limit::new("imports and exports", config.max_streams, config),
            watches: Limit::new("watches", config.max_watches, config),
            background,
        }
    }

    fn limit_of(&self, method: &Method) -> &Arc<Limit> {
        if method.watches {
            &self.watches
        } else if method.streams {
            &self.streams
        } else {
            &self.calls
        }
    }
}

impl Limit {
    /// At most `max` at a time, and the configured shares of it for one tenant and one key.
    pub(super) fn new(kind: &'static str, max: usize, config: &ServerConfig) -> Arc<Self> {
        let share = |share: f64| ((max as f64 * share).ceil() as usize).clamp(1, max);
        Arc::new(Self {
            kind,
            max,
            max_of_tenant: share(config.tenant_share),
            max_of_key: share(config.key_share),
            running: Mutex::default(),
        })
    }

    pub(super) fn admit(self: &Arc<Self>, caller: Option<&Caller>) -> Result<Permit, ApiError> {
        let mut running = self.running();
        if running.all >= self.max {
            return Err(ApiError::Overloaded {
                retry_after: RETRY_OVERLOADED,
            });
        }
        let key = caller.map(key_of);
        if let Some(key) = &key {
            let of_tenant = running.tenants.get(&key.tenant).copied();
            if of_tenant.unwrap_or_default() >= self.max_of_tenant {
                let limit = self.limit_text(self.max_of_tenant);
                return Err(exceeded(Quota::of_tenant(&key.tenant, limit)));
            }
            let of_key = running.keys.get(key).copied();
            if of_key.unwrap_or_default() >= self.max_of_key {
                let limit = self.limit_text(self.max_of_key);
                return Err(exceeded(Quota::of_key(&key.name, limit)));
            }
            *running.tenants.entry(key.tenant.clone()).or_default() += 1;
            *running.keys.entry(key.clone()).or_default() += 1;
        }
        running.all += 1;
        Ok(Permit {
            limit: Arc::clone(self),
            key,
        })
    }

    fn limit_text(&self, max: usize) -> String {
        format!("at most {max} {} at a time", self.kind)
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn exceeded(quota: Quota) -> ApiError {
    ApiError::QuotaExceeded {
        quota,
        retry_after: RETRY_OVERLOADED,
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut running = self.limit.running();
        running.all -= 1;
        if let Some(key) = &self.key {
            leave(&mut running.tenants, &key.tenant);
            leave(&mut running.keys, key);
        }
    }
}

/// Counts one call less, and forgets a caller without any.
fn leave<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

/// Whether somebody waits for the answer: not of streams, nor of reports for
/// administrators, which tools read again and again while they import.
fn makes_background_work_wait(request: &Request, method: &Method) -> bool {
    let reports = request
        .uri()
        .path()
        .starts_with("/recollect.v1.AdminService/");
    !method.watches && !method.streams && !reports
}

impl Around for Concurrency {
    fn call<S: Inner>(&self, inner: &mut S, request: Request) -> Answer<S::Error> {
        let method = self.methods.of(request.uri().path());
        if !method.ours {
            return Box::pin(inner.call(request));
        }
        let permit = match self.limit_of(method).admit(request.extensions().get()) {
            Ok(permit) => permit,
            Err(refusal) => return Box::pin(async { Ok(Status::from(refusal).into_http()) }),
        };
        if makes_background_work_wait(&request, method) {
            self.background.note_call();
        }
        let permit = Arc::new(permit);
        // An answer in JSON is sent after this one has ended.
        if let Some(until_sent) = request.extensions().get::<UntilSent>() {
            until_sent.keep(Arc::clone(&permit));
        }
        let answer = inner.call(request);
        Box::pin(async move {
            let response = answer.await?;
            Ok(response.map(|body| body::on_end(body, move |_| drop(permit))))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::caller;
    use super::*;

    #[test]
    fn a_tenant_and_a_key_leave_room_for_others() {
        let config = ServerConfig {
            max_streams: 8,
            tenant_share: 0.75,
            key_share: 0.5,
            ..ServerConfig::default()
        };
        let limit = Concurrency::new(Methods::new(), &config, Background::default()).streams;
        let admit = |tenant, key| limit.admit(Some(&caller(tenant, key)));
        let refused = |refusal: Result<Permit, ApiError>| match refusal {
            Err(ApiError::QuotaExceeded { quota, .. }) => Some(quota.subject),
            Err(ApiError::Overloaded { .. }) => None,
            other => panic!("{other:?}"),
        };
        let mut permits: Vec<Permit> = (0..4).map(|_| admit("a", "one").unwrap()).collect();
        assert_eq!(refused(admit("a", "one")).unwrap(), "api_key:one");
        permits.extend((0..2).map(|_| admit("a", "two").unwrap()));
        assert_eq!(refused(admit("a", "two")).unwrap(), "tenant:a");
        // A key of the same name belongs to another tenant.
        permits.extend((0..2).map(|_| admit("b", "one").unwrap()));
        assert_eq!(refused(admit("c", "one")), None);
        permits.clear();
        let running = limit.running();
        assert_eq!(running.all, 0);
        assert!(running.tenants.is_empty() && running.keys.is_empty());
    }
}

//! Limits the rate of calls of each tenant and of each API key.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota as Rate, RateLimiter};
use memory_contract::TenantId;
use memory_grpc::{ApiError, Quota};
use memory_store::Caller;
use tonic::Status;

use super::around::{Around, Inner};
use super::key::{Key, key_of};
use super::{Answer, Methods, Request};
use crate::config::ServerConfig;

/// Calls between two clean-ups of what is known about tenants and keys.
const CLEAN_UP: u32 = 10_000;

/// Refuses calls beyond a number per second, which a caller may make at once. A stream is
/// one call. Inside of [`super::Auth`].
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    methods: Methods,
    tenants: Option<Arc<Limiter<TenantId>>>,
    keys: Option<Arc<Limiter<Key>>>,
}

#[derive(Debug)]
struct Limiter<K: Clone + Eq + Hash> {
    per_second: NonZeroU32,
    limiter: RateLimiter<K, HashMapStateStore<K>, DefaultClock>,
    clock: DefaultClock,
    calls: AtomicU32,
}

impl Rates {
    pub(crate) fn new(methods: Methods, config: &ServerConfig) -> Self {
        Self {
            methods,
            tenants: Limiter::of(config.tenant_calls_per_second),
            keys: Limiter::of(config.key_calls_per_second),
        }
    }

    fn check(&self, caller: &Caller) -> Result<(), ApiError> {
        let key = key_of(caller);
        if let Some(keys) = &self.keys {
            keys.check(&key, |limit| Quota::of_key(&key.name, limit))?;
        }
        match &self.tenants {
            Some(tenants) => {
                tenants.check(&key.tenant, |limit| Quota::of_tenant(&key.tenant, limit))
            }
            None => Ok(()),
        }
    }
}

impl<K: Clone + Eq + Hash> Limiter<K> {
    /// `None` for 0: no limit.
    fn of(per_second: u32) -> Option<Arc<Self>> {
        let per_second = NonZeroU32::new(per_second)?;
        let clock = DefaultClock::default();
        let rate = Rate::per_second(per_second);
        Some(Arc::new(Self {
            per_second,
            limiter: RateLimiter::hashmap_with_clock(rate, clock.clone()),
            clock,
            calls: AtomicU32::new(0),
        }))
    }

    fn check(&self, key: &K, quota: impl FnOnce(String) -> Quota) -> Result<(), ApiError> {
        if self.calls.fetch_add(1, Ordering::Relaxed) % CLEAN_UP == CLEAN_UP - 1 {
            self.limiter.retain_recent();
        }
        let Err(until) = self.limiter.check_key(key) else {
            return Ok(());
        };
        let per_second = self.per_second;
        Err(ApiError::QuotaExceeded {
            quota: quota(format!("at most {per_second} calls per second")),
            retry_after: until
                .wait_time_from(self.clock.now())
                .max(Duration::from_millis(1)),
        })
    }
}

impl Around for Rates {
    fn call<S: Inner>(&self, inner: &mut S, request: Request) -> Answer<S::Error> {
        let ours = self.methods.of(request.uri().path()).ours;
        let caller: Option<&Caller> = request.extensions().get();
        match caller.filter(|_| ours).map(|caller| self.check(caller)) {
            Some(Err(refusal)) => Box::pin(async { Ok(Status::from(refusal).into_http()) }),
            Some(Ok(())) | None => Box::pin(inner.call(request)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::caller;
    use super::*;

    #[test]
    fn calls_beyond_the_rate_are_refused_until_a_time() {
        let config = ServerConfig {
            tenant_calls_per_second: 3,
            key_calls_per_second: 2,
            ..ServerConfig::default()
        };
        let rates = Rates::new(Methods::new(), &config);
        let check = |tenant, key| match rates.check(&caller(tenant, key)) {
            Ok(()) => None,
            Err(ApiError::QuotaExceeded { quota, retry_after }) => {
                assert!(retry_after > Duration::ZERO && retry_after < Duration::from_secs(1));
                Some(quota.subject)
            }
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(check("a", "one"), None);
        assert_eq!(check("a", "one"), None);
        assert_eq!(check("a", "one").unwrap(), "api_key:one");
        assert_eq!(check("a", "two"), None);
        assert_eq!(check("a", "two").unwrap(), "tenant:a");
        assert_eq!(check("b", "one"), None);
    }

    #[test]
    fn without_a_rate_no_call_is_refused() {
        let rates = Rates::new(Methods::new(), &ServerConfig::default());
        for _ in 0..10_000 {
            rates.check(&caller("a", "one")).unwrap();
        }
    }
}

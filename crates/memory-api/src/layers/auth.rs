//! Who calls. The tenant comes from the credential and from nowhere else.

use std::sync::Arc;
use std::task::{Context, Poll};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use memory_contract::TenantId;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tonic::Status;
use tower::{Layer, Service};

use super::{Answer, Methods, Request, Response};
use crate::config::AuthConfig;
use crate::error::ApiError;

/// Whose calls these are when no keys are configured.
const DEFAULT_TENANT: &str = "default";
const SCHEME: &str = "bearer ";

/// Lets calls in that carry a valid API key. Health and reflection are open.
#[derive(Clone, Debug)]
pub(crate) struct Auth {
    methods: Methods,
    keys: Arc<[Key]>,
}

/// Whom a credential stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Whose data the call may see.
    pub(crate) tenant: TenantId,
}

#[derive(Debug)]
struct Key {
    digest: Vec<u8>,
    caller: Caller,
}

/// The tenant of a call. A handler has no other way to one.
pub(crate) fn tenant_of<T>(request: &tonic::Request<T>) -> Result<TenantId, ApiError> {
    let caller: &Caller = request
        .extensions()
        .get()
        .ok_or(ApiError::Unauthenticated)?;
    Ok(caller.tenant.clone())
}

impl Auth {
    /// Takes keys that have been checked. With none of them everybody is the
    /// tenant `default`: `Config::check_roles` allows that on loopback only.
    pub(crate) fn new(methods: Methods, config: &AuthConfig) -> Self {
        let keys = config
            .keys
            .iter()
            .map(|key| Key {
                digest: bytes_of(&key.sha256),
                caller: Caller {
                    tenant: TenantId::new(key.tenant.as_str()),
                },
            })
            .collect();
        Self { methods, keys }
    }

    /// Whom the headers stand for.
    fn caller(&self, headers: &HeaderMap) -> Option<Caller> {
        if self.keys.is_empty() {
            return Some(Caller {
                tenant: TenantId::new(DEFAULT_TENANT),
            });
        }
        let digest = Sha256::digest(bearer(headers)?.as_bytes());
        // Every key is compared, so that the time tells nothing.
        let mut found = None;
        for key in self.keys.iter() {
            if bool::from(key.digest.as_slice().ct_eq(digest.as_slice())) {
                found = Some(&key.caller);
            }
        }
        found.cloned()
    }
}

impl<S> Layer<S> for Auth {
    type Service = Authenticated<S>;

    fn layer(&self, inner: S) -> Authenticated<S> {
        Authenticated {
            inner,
            auth: self.clone(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Authenticated<S> {
    inner: S,
    auth: Auth,
}

impl<S> Service<Request> for Authenticated<S>
where
    S: Service<Request, Response = Response>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Answer<S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        if self.auth.methods.of(request.uri().path()).ours {
            let Some(caller) = self.auth.caller(request.headers()) else {
                return Box::pin(async { Ok(Status::from(ApiError::Unauthenticated).into_http()) });
            };
            request.extensions_mut().insert(caller);
        }
        Box::pin(self.inner.call(request))
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_at_checked(SCHEME.len())?;
    scheme
        .eq_ignore_ascii_case(SCHEME)
        .then(|| key.trim())
        .filter(|key| !key.is_empty())
}

/// Reads hexadecimal digits; the configuration has checked that they are.
fn bytes_of(hexadecimal: &str) -> Vec<u8> {
    hexadecimal
        .as_bytes()
        .chunks(2)
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KeyConfig;

    fn auth(keys: &[(&str, &str)]) -> Auth {
        let keys = keys
            .iter()
            .map(|(key, tenant)| KeyConfig {
                name: "test".to_owned(),
                tenant: (*tenant).to_owned(),
                sha256: Sha256::digest(key.as_bytes())
                    .iter()
                    .map(|b| format!("{b:02x}"))
                    .collect(),
            })
            .collect();
        Auth::new(Methods::new(), &AuthConfig { keys })
    }

    fn headers(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())])
    }

    #[test]
    fn a_key_stands_for_its_tenant() {
        let auth = auth(&[("one", "a"), ("two", "b")]);
        for (value, tenant) in [
            ("Bearer one", "a"),
            ("bearer two", "b"),
            ("BEARER  two", "b"),
        ] {
            let caller = auth.caller(&headers(value)).unwrap();
            assert_eq!(caller.tenant.as_str(), tenant, "{value}");
        }
    }

    #[test]
    fn anything_else_stands_for_nobody() {
        let auth = auth(&[("one", "a")]);
        for value in [
            "",
            "Bearer ",
            "Bearer",
            "Bearer onee",
            "Bearer on",
            "Basic one",
            "one",
        ] {
            assert_eq!(auth.caller(&headers(value)), None, "{value}");
        }
        assert_eq!(auth.caller(&HeaderMap::new()), None);
    }

    #[test]
    fn without_keys_everybody_is_the_default_tenant() {
        let caller = auth(&[]).caller(&HeaderMap::new()).unwrap();
        assert_eq!(caller.tenant.as_str(), "default");
    }

    #[test]
    fn a_request_that_nobody_let_in_has_no_tenant() {
        let error = tenant_of(&tonic::Request::new(())).unwrap_err();
        assert!(matches!(error, ApiError::Unauthenticated));
    }
}

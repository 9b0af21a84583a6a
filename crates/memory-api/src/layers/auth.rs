//! Authentication. The API key alone selects the tenant.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use memory_contract::KeyScope;
use memory_store::{Authenticator, Caller, LookupError};
use tokio::time::{Instant, sleep, sleep_until};
use tonic::Status;

use super::around::{Around, Inner};
use super::concurrency::RETRY_AFTER;
use super::credentials::{Claim, Credentials};
use super::record_refusals::Identity;
use super::{Answer, Methods, Request};
use crate::config::AuthConfig;
use crate::error::ApiError;
use crate::jwt::{TokenCaller, TokenError, Tokens};

/// How often the key of a long stream is looked up again. The answer may come from the
/// cache of keys.
const RECHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Lets calls in that carry a valid API key with the scope of the call: one of the
/// configuration, or else one of the database. Health and reflection are open.
#[derive(Clone, Debug)]
pub(crate) struct Auth {
    methods: Methods,
    credentials: Arc<Credentials>,
    database: Authenticator,
    tokens: Option<Tokens>,
}

/// The caller, as the authentication layer found it. Handlers know the tenant from here
/// alone.
pub(crate) fn caller_of<T>(request: &tonic::Request<T>) -> Result<Caller, ApiError> {
    let caller: Option<&Caller> = request.extensions().get();
    caller.cloned().ok_or(ApiError::Unauthenticated)
}

/// The caller of a call that is for administrators.
pub(crate) fn admin_of<T>(request: &tonic::Request<T>) -> Result<Caller, ApiError> {
    let caller = caller_of(request)?;
    require(&caller, KeyScope::Admin)?;
    Ok(caller)
}

/// Refuses calls of a scope that the caller does not have.
fn require(caller: &Caller, scope: KeyScope) -> Result<(), ApiError> {
    match caller.scopes.allow(scope) {
        true => Ok(()),
        false => Err(ApiError::PermissionDenied { scope, field: None }),
    }
}

/// The key of a long stream, to notice when it is revoked.
pub(crate) fn standing_of<T>(request: &tonic::Request<T>) -> Result<Standing, ApiError> {
    let standing: Option<&Standing> = request.extensions().get();
    standing.cloned().ok_or(ApiError::Unauthenticated)
}

impl Auth {
    /// Knows the configured keys, which have been checked, and asks the database for others.
    pub(crate) fn new(methods: Methods, config: &AuthConfig, database: Authenticator) -> Self {
        Self {
            methods,
            credentials: Arc::new(Credentials::new(config)),
            database,
            tokens: Tokens::new(&config.jwt),
        }
    }

    /// Checks the credential in the headers of a request that is not a call itself.
    pub(super) async fn check(&self, headers: HeaderMap) -> Result<Caller, ApiError> {
        let claim = self.credentials.claim(&headers);
        self.caller(claim).await.map(|(caller, _)| caller)
    }

    async fn caller(&self, claim: Claim) -> Result<(Caller, Standing), ApiError> {
        match claim {
            Claim::Caller(caller) => Ok((caller, Standing::Configured)),
            Claim::Digest(digest) => {
                let caller = self.look_up(digest).await?;
                Ok((caller, Standing::Stored(Box::new(self.clone()), digest)))
            }
            Claim::Token(token) => {
                let TokenCaller { caller, lifetime } = self.verify(&token).await?;
                Ok((caller, Standing::Until(Instant::now() + lifetime)))
            }
            Claim::Invalid => Err(ApiError::Unauthenticated),
        }
    }

    async fn look_up(&self, digest: [u8; 32]) -> Result<Caller, ApiError> {
        self.database
            .caller(digest)
            .await
            .map_err(|error| match error {
                LookupError::Busy => ApiError::Overloaded {
                    retry_after: RETRY_AFTER,
                },
                LookupError::Failed(error) => ApiError::KeyLookup(error),
            })?
            .ok_or(ApiError::Unauthenticated)
    }

    async fn verify(&self, token: &str) -> Result<TokenCaller, ApiError> {
        let tokens = self.tokens.as_ref().ok_or(ApiError::Unauthenticated)?;
        tokens.verify(token).await.map_err(|error| match error {
            TokenError::Invalid => ApiError::Unauthenticated,
            TokenError::KeysUnavailable => ApiError::TokenKeys,
        })
    }
}

/// How long the credential of a call is valid.
#[derive(Clone, Debug)]
pub(crate) enum Standing {
    /// As long as the server runs.
    Configured,
    /// Until it is revoked in the database, or expires.
    Stored(Box<Auth>, [u8; 32]),
    /// Until a token expires.
    Until(Instant),
}

impl Standing {
    /// Waits until the credential is revoked or expired. A failed lookup does not end the
    /// wait.
    pub(crate) async fn lost(&self) {
        let (auth, digest) = match self {
            Self::Configured => return std::future::pending().await,
            Self::Until(expiry) => return sleep_until(*expiry).await,
            Self::Stored(auth, digest) => (auth, digest),
        };
        loop {
            sleep(RECHECK_INTERVAL).await;
            if let Err(ApiError::Unauthenticated) = auth.look_up(*digest).await {
                return;
            }
        }
    }
}

impl Around for Auth {
    fn call<S: Inner>(&self, inner: &mut S, mut request: Request) -> Answer<S::Error> {
        let method = self.methods.of(request.uri().path());
        if !method.ours {
            return Box::pin(inner.call(request));
        }
        let scope = method.scope;
        let claim = self.credentials.claim(request.headers());
        // The one that is ready, not its clone.
        let clone = inner.clone();
        let mut inner = mem::replace(inner, clone);
        let auth = self.clone();
        Box::pin(async move {
            let known = auth.caller(claim).await.and_then(|(caller, standing)| {
                Identity::pass(&request, &caller);
                if let Some(scope) = scope {
                    require(&caller, scope)?;
                }
                Ok((caller, standing))
            });
            let (caller, standing) = match known {
                Ok(known) => known,
                Err(error) => return Ok(Status::from(error).into_http()),
            };
            request.extensions_mut().insert(caller);
            request.extensions_mut().insert(standing);
            inner.call(request).await
        })
    }
}

#[cfg(test)]
mod tests {
    use memory_contract::{KeyScopes, TenantId};

    use super::*;

    #[test]
    fn an_unauthenticated_request_has_no_tenant() {
        let request = tonic::Request::new(());
        let error = caller_of(&request).unwrap_err();
        assert!(matches!(error, ApiError::Unauthenticated));
        let error = admin_of(&request).unwrap_err();
        assert!(matches!(error, ApiError::Unauthenticated));
    }

    #[test]
    fn administrators_are_distinguished_from_others() {
        let of = |scope| {
            let mut request = tonic::Request::new(());
            request.extensions_mut().insert(Caller {
                tenant: TenantId::new("acme"),
                actor: "backend".to_owned(),
                scopes: KeyScopes::from_iter([scope]),
            });
            request
        };
        assert_eq!(
            admin_of(&of(KeyScope::Admin)).unwrap().tenant.as_str(),
            "acme"
        );
        let error = admin_of(&of(KeyScope::Delete)).unwrap_err();
        let scope = KeyScope::Admin;
        assert!(
            matches!(error, ApiError::PermissionDenied { scope: missing, .. } if missing == scope)
        );
        assert_eq!(
            caller_of(&of(KeyScope::Read)).unwrap().tenant.as_str(),
            "acme"
        );
    }
}

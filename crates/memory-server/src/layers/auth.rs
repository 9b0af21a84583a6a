//! Authentication. The API key alone selects the tenant.

use std::mem;
use std::sync::Arc;

use http::HeaderMap;
use memory_grpc::{ApiError, Standing, look_up, require_scope};
use memory_store::{Authenticator, Caller};
use tokio::time::Instant;
use tonic::Status;

use super::around::{Around, Inner};
use super::credentials::{Claim, Credentials};
use super::record_refusals::Identity;
use super::{Answer, Methods, Request};
use crate::config::AuthConfig;
use crate::jwt::{TokenCaller, TokenError, Tokens};

/// Lets calls in that carry a valid API key with the scope of the call: one of the
/// configuration, or else one of the database. Health and reflection are open.
#[derive(Clone, Debug)]
pub(crate) struct Auth {
    methods: Methods,
    credentials: Arc<Credentials>,
    database: Authenticator,
    tokens: Option<Tokens>,
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
                let caller = look_up(&self.database, digest).await?;
                Ok((
                    caller,
                    Standing::Stored(Box::new(self.database.clone()), digest),
                ))
            }
            Claim::Token(token) => {
                let TokenCaller { caller, lifetime } = self.verify(&token).await?;
                Ok((caller, Standing::Until(Instant::now() + lifetime)))
            }
            Claim::Invalid => Err(ApiError::Unauthenticated),
        }
    }

    async fn verify(&self, token: &str) -> Result<TokenCaller, ApiError> {
        let tokens = self.tokens.as_ref().ok_or(ApiError::Unauthenticated)?;
        tokens.verify(token).await.map_err(|error| match error {
            TokenError::Invalid => ApiError::Unauthenticated,
            TokenError::KeysUnavailable => ApiError::TokenKeys,
        })
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
                    require_scope(&caller, scope)?;
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

//! Who calls, as the authentication layer found it.

use std::time::Duration;

use memory_contract::key::{KeyBounds, KeyScope};
use memory_store::{Authenticator, Caller, LookupError};
use tokio::time::{Instant, sleep, sleep_until};

use crate::error::{ApiError, RETRY_OVERLOADED};

/// How often the key of a long stream is looked up again. The answer may come from the
/// cache of keys.
const RECHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The caller of a request. Handlers know the tenant from here alone.
///
/// # Errors
/// `Unauthenticated` without one.
pub fn caller_of<T>(request: &tonic::Request<T>) -> Result<Caller, ApiError> {
    let caller: Option<&Caller> = request.extensions().get();
    caller.cloned().ok_or(ApiError::Unauthenticated)
}

/// The caller of a call that is for administrators.
///
/// # Errors
/// `Unauthenticated` without one, `PermissionDenied` for others.
pub fn admin_of<T>(request: &tonic::Request<T>) -> Result<Caller, ApiError> {
    let caller = caller_of(request)?;
    require_scope(&caller, KeyScope::Admin)?;
    Ok(caller)
}

/// Refuses a call of a scope that the caller does not have.
///
/// # Errors
/// `PermissionDenied`.
pub fn require_scope(caller: &Caller, scope: KeyScope) -> Result<(), ApiError> {
    match caller.scopes.allow(scope) {
        true => Ok(()),
        false => Err(ApiError::PermissionDenied { scope, field: None }),
    }
}

/// The credential of a long stream, to notice when it is revoked.
///
/// # Errors
/// `Unauthenticated` without one.
pub fn standing_of<T>(request: &tonic::Request<T>) -> Result<Standing, ApiError> {
    let standing: Option<&Standing> = request.extensions().get();
    standing.cloned().ok_or(ApiError::Unauthenticated)
}

/// The caller that a key in the database belongs to.
///
/// # Errors
/// `Unauthenticated` for an unknown, revoked or expired key, `Overloaded`, `KeyLookup`.
pub async fn look_up(database: &Authenticator, digest: [u8; 32]) -> Result<Caller, ApiError> {
    database
        .caller(digest)
        .await
        .map_err(|error| match error {
            LookupError::Busy => ApiError::Overloaded {
                retry_after: RETRY_OVERLOADED,
            },
            LookupError::Failed(error) => ApiError::KeyLookup(error),
        })?
        .ok_or(ApiError::Unauthenticated)
}

/// How long the credential of a call is valid.
#[derive(Clone, Debug)]
pub enum Standing {
    /// As long as the server runs.
    Configured,
    /// Until the key with this digest is revoked in the database, or expires.
    Stored(Box<Authenticator>, [u8; 32]),
    /// Until a token expires.
    Until(Instant),
}

impl Standing {
    /// Waits until the credential is revoked or expired. A failed lookup does not end the
    /// wait.
    pub async fn lost(&self) {
        let (database, digest) = match self {
            Self::Configured => return std::future::pending().await,
            Self::Until(expiry) => return sleep_until(*expiry).await,
            Self::Stored(database, digest) => (database, digest),
        };
        loop {
            sleep(RECHECK_INTERVAL).await;
            if let Err(ApiError::Unauthenticated) = look_up(database, *digest).await {
                return;
            }
        }
    }
}

/// The caller without bounds, to look up whose data it asks for.
pub fn unbound(caller: &Caller) -> Caller {
    Caller {
        bounds: KeyBounds::default(),
        ..caller.clone()
    }
}

#[cfg(test)]
mod tests {
    use memory_contract::{
        TenantId,
        key::{KeyBounds, KeyScopes},
    };

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
                bounds: KeyBounds::default(),
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

//! Reads the API key in the headers of a call.

use std::sync::Once;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use memory_contract::{
    TenantId,
    key::{KeyBounds, KeyScope, KeyScopes},
};
use memory_store::{Caller, looks_like_key};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::config::{AuthConfig, KeyConfig};
use crate::jwt::Tokens;

/// The tenant of all calls when no keys are required.
const DEFAULT_TENANT: &str = "default";
/// The actor of all calls then.
const ANONYMOUS: &str = "anonymous";
const SCHEME: &str = "bearer ";

/// The keys of the configuration.
#[derive(Debug)]
pub(super) struct Credentials {
    keys: Vec<Key>,
    /// Whether calls need no key.
    open: bool,
    /// Whether it was said that a key is not checked.
    warned: Once,
    /// Whether tokens are accepted.
    tokens: bool,
}

#[derive(Debug)]
struct Key {
    digest: Vec<u8>,
    caller: Caller,
}

/// The result of reading the headers, without the database.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// A configured key, or no key where none is required.
    Caller(Caller),
    /// The database may know the key with this SHA-256.
    Digest([u8; 32]),
    /// It may be a token of the configured issuer.
    Token(String),
    /// No key, or an unknown one.
    Invalid,
}

impl Credentials {
    /// Takes keys that have been checked. With neither configured keys nor those of the
    /// database, every caller is the tenant `default`: `Config::check_roles` allows that
    /// on loopback only.
    pub(super) fn new(config: &AuthConfig) -> Self {
        Self {
            keys: config.keys.iter().map(Key::of).collect(),
            open: config.open(),
            warned: Once::new(),
            tokens: config.jwt.enabled(),
        }
    }

    /// Reads the headers.
    pub(super) fn claim(&self, headers: &HeaderMap) -> Claim {
        if self.open {
            if bearer(headers).is_some() {
                self.warned.call_once(|| {
                    tracing::warn!(
                        "a call has an API key, but this server checks none: every caller is the \
                         same tenant; set auth.database or auth.keys to check keys"
                    );
                });
            }
            return Claim::Caller(Caller {
                tenant: TenantId::new(DEFAULT_TENANT),
                actor: ANONYMOUS.to_owned(),
                scopes: KeyScopes::from_iter([KeyScope::Admin]),
                bounds: KeyBounds::default(),
            });
        }
        let Some(key) = bearer(headers) else {
            return Claim::Invalid;
        };
        let digest = Sha256::digest(key.as_bytes());
        // Every key is compared, so that the time does not depend on the key.
        let mut found = None;
        for key in self.keys.iter() {
            if bool::from(key.digest.as_slice().ct_eq(digest.as_slice())) {
                found = Some(&key.caller);
            }
        }
        match found {
            Some(caller) => Claim::Caller(caller.clone()),
            None if looks_like_key(key) => Claim::Digest(digest.into()),
            None if self.tokens && Tokens::looks_like_token(key) => Claim::Token(key.to_owned()),
            None => Claim::Invalid,
        }
    }
}

impl Key {
    fn of(config: &KeyConfig) -> Self {
        let KeyConfig {
            name,
            tenant,
            sha256,
            scopes,
            bounds,
        } = config;
        Self {
            // The configuration has checked that these are hexadecimal digits.
            digest: hex::decode(sha256).unwrap_or_default(),
            caller: Caller {
                tenant: TenantId::new(tenant.as_str()),
                actor: name.clone(),
                scopes: *scopes,
                bounds: bounds.clone(),
            },
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(keys: &[(&str, &str)], database: bool) -> Credentials {
        let keys = keys
            .iter()
            .map(|(key, tenant)| KeyConfig {
                name: "test".to_owned(),
                tenant: (*tenant).to_owned(),
                sha256: hex::encode(Sha256::digest(key.as_bytes())),
                scopes: KeyScopes::default(),
                bounds: KeyBounds::default(),
            })
            .collect();
        Credentials::new(&AuthConfig {
            keys,
            database,
            ..AuthConfig::default()
        })
    }

    fn headers(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())])
    }

    fn caller(claim: Claim) -> Caller {
        match claim {
            Claim::Caller(caller) => caller,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_key_selects_its_tenant() {
        let keys = credentials(&[("one", "a"), ("two", "b")], false);
        for (value, tenant) in [
            ("Bearer one", "a"),
            ("bearer two", "b"),
            ("BEARER  two", "b"),
        ] {
            let caller = caller(keys.claim(&headers(value)));
            assert_eq!(caller.tenant.as_str(), tenant, "{value}");
            assert_eq!(caller.scopes, KeyScopes::default(), "{value}");
        }
    }

    #[test]
    fn anything_else_is_an_invalid_credential() {
        for keys in [
            credentials(&[("one", "a")], false),
            credentials(&[("one", "a")], true),
            credentials(&[], true),
        ] {
            for value in [
                "",
                "Bearer ",
                "Bearer",
                "Bearer onee",
                "Bearer on",
                "Basic one",
                "one",
            ] {
                assert_eq!(keys.claim(&headers(value)), Claim::Invalid, "{value}");
            }
            assert_eq!(keys.claim(&HeaderMap::new()), Claim::Invalid);
        }
    }

    #[test]
    fn the_database_is_asked_only_for_text_that_looks_like_its_keys() {
        let key = format!("rck_{}", "a".repeat(43));
        let digest: [u8; 32] = Sha256::digest(&key).into();
        for keys in [credentials(&[("one", "a")], false), credentials(&[], true)] {
            let claim = keys.claim(&headers(&format!("Bearer {key}")));
            assert_eq!(claim, Claim::Digest(digest));
        }
    }

    #[test]
    fn without_keys_everybody_is_the_default_tenant() {
        let caller = caller(credentials(&[], false).claim(&HeaderMap::new()));
        assert_eq!(caller.tenant.as_str(), "default");
        assert!(
            KeyScope::ALL
                .into_iter()
                .all(|scope| caller.scopes.allow(scope))
        );
    }
}

//! JSON Web Tokens beside API keys: an issuer signs who calls, for which tenant, and what
//! the caller may do.

mod keys;
mod ring;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use memory_contract::limits::TENANT_CHARS;
use memory_contract::{
    TenantId,
    key::{BoundLists, KeyBounds, KeyScope, KeyScopes},
};
use memory_store::Caller;
use serde::Deserialize;
use serde_json::{Map, Value};
use time::OffsetDateTime;

use crate::config::JwtConfig;
use keys::{Keys, Source};

/// Signatures with a private key. With a shared secret, a service that verifies could also sign.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];
/// By how much the clocks may differ.
const LEEWAY_SECONDS: u64 = 30;
/// Longer tokens are not looked at.
const MAX_TOKEN_BYTES: usize = 8 * 1024;
/// The audit log shows the caller with this prefix, so that no token has the name of a key.
const ACTOR_PREFIX: &str = "jwt:";
const SUBJECT_CHARS: usize = 120;

/// Verifies tokens of the configured issuer.
#[derive(Clone)]
pub(crate) struct Tokens(Arc<Inner>);

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tokens").field(&self.0.config).finish()
    }
}

struct Inner {
    config: JwtConfig,
    keys: Keys,
}

/// Why a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenError {
    Invalid,
    /// The issuer's keys are not known at the moment.
    KeysUnavailable,
}

/// A caller with a token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TokenCaller {
    pub(crate) caller: Caller,
    /// The time until the token expires.
    pub(crate) lifetime: Duration,
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
    exp: i64,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl Tokens {
    /// `None` if no keys of an issuer are configured.
    pub(crate) fn new(config: &JwtConfig) -> Option<Self> {
        let source = match (&config.keys_file, &config.keys_url) {
            (Some(path), _) => Source::File(path.clone()),
            (None, Some(url)) => Source::url(url.clone()),
            (None, None) => return None,
        };
        ring::install();
        Some(Self(Arc::new(Inner {
            config: config.clone(),
            keys: Keys::new(source),
        })))
    }

    /// Whether a credential has the form of a token.
    pub(crate) fn looks_like_token(credential: &str) -> bool {
        credential.len() <= MAX_TOKEN_BYTES && credential.split('.').count() == 3
    }

    /// The caller of a token.
    pub(crate) async fn verify(&self, token: &str) -> Result<TokenCaller, TokenError> {
        let Inner { config, keys } = &*self.0;
        let header = decode_header(token).map_err(|_| TokenError::Invalid)?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(TokenError::Invalid);
        }
        let key = keys
            .find(header.kid.as_deref())
            .await
            .map_err(|_| TokenError::KeysUnavailable)?
            .ok_or(TokenError::Invalid)?;
        let mut validation = Validation::new(header.alg);
        validation.leeway = LEEWAY_SECONDS;
        validation.validate_nbf = true;
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.set_issuer(&[&config.issuer]);
        validation.set_audience(&[&config.audience]);
        let token = decode::<Claims>(token, &key, &validation).map_err(|error| {
            tracing::debug!(problem = ?error.kind(), "a token was refused");
            TokenError::Invalid
        })?;
        self.caller(token.claims).ok_or(TokenError::Invalid)
    }

    fn caller(&self, claims: Claims) -> Option<TokenCaller> {
        let config = &self.0.config;
        let tenant = claims.others.get(&config.tenant_claim)?.as_str()?;
        let plain = |text: &str, chars: usize| {
            !text.is_empty() && text.chars().count() <= chars && !text.contains(char::is_control)
        };
        if !plain(tenant, TENANT_CHARS) || !plain(&claims.sub, SUBJECT_CHARS) {
            return None;
        }
        let scopes = scopes_of(claims.others.get(&config.scope_claim));
        let bounds = bounds_of(config, &claims)?;
        if !scopes.suit(&bounds) {
            return None;
        }
        let left = claims.exp - OffsetDateTime::now_utc().unix_timestamp();
        Some(TokenCaller {
            caller: Caller {
                tenant: TenantId::new(tenant),
                actor: format!("{ACTOR_PREFIX}{}", claims.sub),
                scopes,
                bounds,
            },
            lifetime: Duration::from_secs(u64::try_from(left).unwrap_or(0)),
        })
    }
}

/// The bounds in the claims. `None`, which refuses the token, where a claim is missing that the
/// configuration requires, or has another form.
fn bounds_of(config: &JwtConfig, claims: &Claims) -> Option<KeyBounds> {
    let claim = |name: &str| match name {
        "sub" => Some(Value::from(claims.sub.as_str())),
        name => claims.others.get(name).cloned(),
    };
    let mut lists = match claim(&config.bounds_claim) {
        Some(bounds) => {
            let lists: BoundLists = serde_json::from_value(bounds).ok()?;
            // Bounds that bind nothing are a mistake.
            (lists != BoundLists::default()).then_some(lists)?
        }
        None => BoundLists::default(),
    };
    if let Some(name) = &config.user_claim {
        let user = claim(name)?.as_str()?.to_owned();
        if !KeyBounds::new(lists.clone()).ok()?.allow_user(Some(&user)) {
            return None;
        }
        lists.user_ids = vec![user];
        lists.user_id_prefixes = Vec::new();
    }
    KeyBounds::new(lists).ok()
}

/// The scopes in a claim: a list, or one text with spaces between them. Other words, such
/// as `openid`, are for others.
fn scopes_of(claim: Option<&Value>) -> KeyScopes {
    let words: Vec<&str> = match claim {
        Some(Value::String(text)) => text.split(' ').collect(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    KeyScope::ALL
        .into_iter()
        .filter(|scope| words.contains(&scope.name()))
        .collect()
}

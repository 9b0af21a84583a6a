//! API keys that are kept in the database, by their digests alone.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use memory_contract::{
    TenantId,
    key::{ApiKey, KeyBounds, KeyScope, KeyScopes},
};
use memory_database::{Databases, KeyError, Page, StoreError, page::one_more, rows::column};
use memory_postgres::{Caller, Params, query};
use ring::rand::{SecureRandom as _, SystemRandom};
use secrecy::{
    ExposeSecret as _, SecretString,
    zeroize::{Zeroize as _, Zeroizing},
};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use tokio_postgres::{Row, types::Json};

use crate::KeyStore;

/// The prefix of keys, by which people and secret scanners recognize them.
const PREFIX: &str = "rck_";
/// Random bytes of a key.
const RANDOM_BYTES: usize = 32;
/// The length of their base64, without padding.
const RANDOM_CHARS: usize = 43;

/// A key to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewApiKey {
    /// Its name, unique within the tenant.
    pub name: String,
    /// The calls that it allows.
    pub scopes: KeyScopes,
    /// The data that it reaches.
    pub bounds: KeyBounds,
    /// When it ends; `None` for never.
    pub expires: Option<OffsetDateTime>,
}

/// Whether a text has the form of a key of the database. Nothing else needs to
/// be looked up.
pub fn looks_like_key(text: &str) -> bool {
    text.strip_prefix(PREFIX).is_some_and(|random| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        random.len() == RANDOM_CHARS && random.bytes().all(plain)
    })
}

impl KeyStore<'_> {
    /// Makes a key of 256 random bits. The key itself is returned this once;
    /// only its SHA-256 is stored.
    ///
    /// # Errors
    /// `KeyError::Exists` where the tenant has a key of this name.
    pub async fn create_api_key(
        self,
        key: &NewApiKey,
    ) -> Result<(ApiKey, SecretString), StoreError> {
        let tenant = &self.caller.tenant;
        let NewApiKey {
            name,
            scopes,
            bounds,
            expires,
        } = key;
        let scopes: Vec<&str> = scopes.iter().map(KeyScope::name).collect();
        let secret = new_secret()?;
        let digest = Sha256::digest(secret.expose_secret()).to_vec();
        let bounds = bounds.lists().map(Json);
        let params: Params<'_> = &[&tenant.as_str(), name, &digest, &scopes, expires, &bounds];
        let rows = self
            .store
            .main
            .within(self.caller, query!("api_keys/create"), params)
            .await?;
        let row = rows.first().ok_or(StoreError::Key(KeyError::Exists))?;
        Ok((api_key(row)?, secret))
    }

    /// Lists keys, expired ones included, the one made last first, after the key `after`; `None`
    /// for the first page.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list_api_keys(
        self,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Page<ApiKey, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &after.unwrap_or(i64::MAX),
            &one_more(limit),
        ];
        let rows = self
            .store
            .main
            .within(self.caller, query!("api_keys/list"), params)
            .await?;
        let keys = rows
            .iter()
            .map(|row| Ok((column(row, "ordinal")?, api_key(row)?)))
            .collect::<Result<_, StoreError>>()?;
        Ok(Page::cut(keys, limit))
    }

    /// Ends a key. Returns whether there was one.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn revoke_api_key(self, name: &str) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &name];
        let rows = self
            .store
            .main
            .within(self.caller, query!("api_keys/revoke"), params)
            .await?;
        Ok(!rows.is_empty())
    }
}

/// The caller that the key with this SHA-256 identifies now, if any.
pub(crate) async fn caller_of_key(
    store: &Databases,
    digest: &[u8],
) -> Result<Option<Caller>, StoreError> {
    let rows = store
        .main
        .call_for_all(query!("api_keys/authenticate"), &[&digest])
        .await?;
    rows.first()
        .map(|row| {
            Ok(Caller {
                tenant: TenantId::new(column::<String>(row, "tenant_id")?),
                actor: column(row, "name")?,
                scopes: scopes(row)?,
                bounds: bounds(row)?,
            })
        })
        .transpose()
}

fn api_key(row: &Row) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        name: column(row, "name")?,
        scopes: scopes(row)?,
        bounds: bounds(row)?,
        created: column(row, "created_at")?,
        expires: column(row, "expires_at")?,
    })
}

/// A name that this build does not know is an error, so that it neither gives
/// nor takes a right.
fn scopes(row: &Row) -> Result<KeyScopes, StoreError> {
    column::<Vec<&str>>(row, "scopes")?
        .into_iter()
        .map(KeyScope::named)
        .collect::<Option<_>>()
        .ok_or_else(|| StoreError::Corrupt {
            what: "API key",
            why: "it has an unknown scope".to_owned(),
        })
}

/// Bounds that this build does not know are an error, as unknown scopes are.
fn bounds(row: &Row) -> Result<KeyBounds, StoreError> {
    let bounds: Option<Json<KeyBounds>> = column(row, "bounds")?;
    Ok(bounds.map_or_else(KeyBounds::default, |Json(bounds)| bounds))
}

fn new_secret() -> Result<SecretString, StoreError> {
    let mut random = Zeroizing::new([0; RANDOM_BYTES]);
    SystemRandom::new()
        .fill(random.as_mut_slice())
        .map_err(|_| StoreError::Crypto {
            what: "drawing a random API key",
        })?;
    // As long as it will be, so that no copy is left where it grew.
    let mut secret = String::with_capacity(PREFIX.len() + RANDOM_CHARS);
    secret.push_str(PREFIX);
    let mut text = URL_SAFE_NO_PAD.encode(random.as_slice());
    secret.push_str(&text);
    text.zeroize();
    Ok(SecretString::from(secret))
}

#[cfg(test)]
mod tests;

//! The API key service.

use std::sync::Arc;

use memory_contract::proto::key_service_server::KeyService;
use memory_contract::proto::{
    CreateApiKeyRequest, CreateApiKeyResponse, ListApiKeysRequest, ListApiKeysResponse,
    RevokeApiKeyRequest, RevokeApiKeyResponse,
};
use memory_contract::{
    Invalid, InvalidFields, check,
    convert::{key_bounds_from, key_scopes_from, timestamp_of},
    limits,
    page::PageToken,
};
use memory_grpc::request::{Fields, next_token, page_limit};
use memory_grpc::{ApiError, admin_of};
use memory_store::{Caller, KeyError, NewApiKey, Store, StoreError};
use prost_types::Timestamp;
use secrecy::ExposeSecret as _;
use time::OffsetDateTime;
use tonic::{Request, Response, Status, async_trait};

use crate::config::AuthConfig;

/// Implements `KeyService`.
#[derive(Clone)]
pub(crate) struct Keys {
    store: Store,
    /// Tenant and name of each key in the configuration.
    configured: Arc<[(String, String)]>,
}

#[async_trait]
impl KeyService for Keys {
    async fn create_api_key(
        &self,
        request: Request<CreateApiKeyRequest>,
    ) -> Result<Response<CreateApiKeyResponse>, Status> {
        Ok(Response::new(self.create(request).await?))
    }

    async fn list_api_keys(
        &self,
        request: Request<ListApiKeysRequest>,
    ) -> Result<Response<ListApiKeysResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }

    async fn revoke_api_key(
        &self,
        request: Request<RevokeApiKeyRequest>,
    ) -> Result<Response<RevokeApiKeyResponse>, Status> {
        Ok(Response::new(self.revoke(request).await?))
    }
}

impl Keys {
    pub(crate) fn new(store: Store, config: &AuthConfig) -> Self {
        let configured = config
            .keys
            .iter()
            .map(|key| (key.tenant.clone(), key.name.clone()))
            .collect();
        Self { store, configured }
    }

    async fn create(
        &self,
        request: Request<CreateApiKeyRequest>,
    ) -> Result<CreateApiKeyResponse, ApiError> {
        let caller = admin_of(&request)?;
        let key = new_key_from(request.into_inner())?;
        if self.is_configured(&caller, &key.name) {
            return Err(StoreError::Key(KeyError::Exists).into());
        }
        let (key, secret) = self.store.keys(&caller).create_api_key(&key).await?;
        Ok(CreateApiKeyResponse {
            api_key: Some(key.into()),
            secret: secret.expose_secret().to_owned(),
        })
    }

    async fn list(
        &self,
        request: Request<ListApiKeysRequest>,
    ) -> Result<ListApiKeysResponse, ApiError> {
        let caller = admin_of(&request)?;
        let ListApiKeysRequest {
            page_size,
            page_token,
        } = request.into_inner();
        let identity = ("api keys", caller.tenant.as_str());
        let mut fields = Fields::default();
        let limit = fields.take(page_limit(page_size));
        let after = fields.take(PageToken::key(&identity, &page_token));
        fields.end()?;
        let page = self.store.keys(&caller).list_api_keys(after, limit).await?;
        Ok(ListApiKeysResponse {
            api_keys: page.items.into_iter().map(Into::into).collect(),
            next_page_token: next_token(&identity, page.next),
        })
    }

    async fn revoke(
        &self,
        request: Request<RevokeApiKeyRequest>,
    ) -> Result<RevokeApiKeyResponse, ApiError> {
        let caller = admin_of(&request)?;
        let RevokeApiKeyRequest { name } = request.into_inner();
        let name = check::required_text("name", name, limits::API_KEY_NAME_CHARS)?;
        let revoked = self.store.keys(&caller).revoke_api_key(&name).await?;
        Ok(RevokeApiKeyResponse { revoked })
    }

    /// Whether the configuration has a key of the name. Two keys of one name could not be
    /// distinguished in the record of changes.
    fn is_configured(&self, caller: &Caller, name: &str) -> bool {
        self.configured
            .iter()
            .any(|(of, configured)| of == caller.tenant.as_str() && configured == name)
    }
}

fn new_key_from(request: CreateApiKeyRequest) -> Result<NewApiKey, InvalidFields> {
    let CreateApiKeyRequest {
        name,
        scopes,
        expire_time,
        bounds,
    } = request;
    let mut fields = Fields::default();
    let name = fields.take(check::key_name("name", name));
    let scopes = fields.take(key_scopes_from("scopes", &scopes));
    let expires = fields.take(expiry_from(expire_time));
    let bounds = fields.take(key_bounds_from("bounds", bounds));
    fields.end()?;
    if !scopes.suit(&bounds) {
        let problem = "must not have KEY_SCOPE_ADMIN, which is for the whole tenant, beside bounds";
        return Err(Invalid::new("scopes", problem).into());
    }
    Ok(NewApiKey {
        name,
        scopes,
        bounds,
        expires,
    })
}

fn expiry_from(time: Option<Timestamp>) -> Result<Option<OffsetDateTime>, Invalid> {
    let expires = timestamp_of("expire_time", time)?;
    if expires.is_some_and(|time| time <= OffsetDateTime::now_utc()) {
        return Err(Invalid::new("expire_time", "must be in the future"));
    }
    Ok(expires)
}

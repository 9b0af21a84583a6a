//! The secret service.

use memory_contract::proto::secret_service_server::SecretService;
use memory_contract::proto::{
    self, DeleteSecretRequest, DeleteSecretResponse, GetSecretRequest, GetSecretResponse,
    ListSecretsRequest, ListSecretsResponse, SetSecretRequest, SetSecretResponse,
};
use memory_contract::{Invalid, check, convert::timestamp, limits, page::PageToken};
use memory_grpc::{ApiError, admin_of};
use memory_store::{Secret, Secrets};
use secrecy::{ExposeSecret as _, SecretString};
use tonic::{Request, Response, Status, async_trait};

use memory_grpc::request::{Fields, page_limit};

/// Implements `SecretService`.
#[derive(Clone)]
pub(crate) struct SecretStore {
    pub(crate) secrets: Secrets,
}

#[async_trait]
impl SecretService for SecretStore {
    async fn set_secret(
        &self,
        request: Request<SetSecretRequest>,
    ) -> Result<Response<SetSecretResponse>, Status> {
        Ok(Response::new(self.set(request).await?))
    }

    async fn get_secret(
        &self,
        request: Request<GetSecretRequest>,
    ) -> Result<Response<GetSecretResponse>, Status> {
        Ok(Response::new(self.get(request).await?))
    }

    async fn list_secrets(
        &self,
        request: Request<ListSecretsRequest>,
    ) -> Result<Response<ListSecretsResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }

    async fn delete_secret(
        &self,
        request: Request<DeleteSecretRequest>,
    ) -> Result<Response<DeleteSecretResponse>, Status> {
        Ok(Response::new(self.delete(request).await?))
    }
}

impl SecretStore {
    async fn set(&self, request: Request<SetSecretRequest>) -> Result<SetSecretResponse, ApiError> {
        let caller = admin_of(&request)?;
        let SetSecretRequest { name, value } = request.into_inner();
        let value = SecretString::from(value);
        let mut fields = Fields::default();
        let name = fields.take(check::secret_name("name", name));
        fields.take(check_value(&value));
        fields.end()?;
        let stored = self.secrets.set(&caller, &name, &value).await?;
        Ok(SetSecretResponse {
            secret: Some(secret(stored)),
        })
    }

    async fn get(&self, request: Request<GetSecretRequest>) -> Result<GetSecretResponse, ApiError> {
        let caller = admin_of(&request)?;
        let GetSecretRequest { name } = request.into_inner();
        let name = check::secret_name("name", name)?;
        let (found, value) = self.secrets.get(&caller, &name).await?;
        Ok(GetSecretResponse {
            secret: Some(secret(found)),
            value: value.expose_secret().to_owned(),
        })
    }

    async fn list(
        &self,
        request: Request<ListSecretsRequest>,
    ) -> Result<ListSecretsResponse, ApiError> {
        let caller = admin_of(&request)?;
        let ListSecretsRequest {
            page_size,
            page_token,
        } = request.into_inner();
        let identity = ("secrets", caller.tenant.as_str());
        let mut fields = Fields::default();
        let limit = fields.take(page_limit(page_size));
        let after = fields.take(PageToken::name(&identity, &page_token));
        fields.end()?;
        let page = self.secrets.list(&caller, after.as_deref(), limit).await?;
        let next = page
            .next
            .map(|name| PageToken::after_name(&identity, &name));
        Ok(ListSecretsResponse {
            secrets: page.items.into_iter().map(secret).collect(),
            next_page_token: next.unwrap_or_default(),
        })
    }

    async fn delete(
        &self,
        request: Request<DeleteSecretRequest>,
    ) -> Result<DeleteSecretResponse, ApiError> {
        let caller = admin_of(&request)?;
        let DeleteSecretRequest { name } = request.into_inner();
        let name = check::secret_name("name", name)?;
        let deleted = self.secrets.delete(&caller, &name).await?;
        Ok(DeleteSecretResponse { deleted })
    }
}

fn check_value(value: &SecretString) -> Result<(), Invalid> {
    let bytes = value.expose_secret().len();
    if (1..=limits::SECRET_BYTES).contains(&bytes) {
        return Ok(());
    }
    Err(Invalid::new(
        "value",
        format!("must have 1 to {} bytes, has {bytes}", limits::SECRET_BYTES),
    ))
}

fn secret(secret: Secret) -> proto::Secret {
    let Secret {
        name,
        created,
        updated,
    } = secret;
    proto::Secret {
        name,
        create_time: Some(timestamp(created)),
        update_time: Some(timestamp(updated)),
    }
}

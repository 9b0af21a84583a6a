//! Deleting users, apps and the tenant, and their receipts.

use memory_contract::proto::{
    self, DeleteAppRequest, DeleteAppResponse, DeleteTenantRequest, DeleteTenantResponse,
    DeleteUserRequest, DeleteUserResponse, DeletionPlace, DeletionState, GetDeletionRequest,
    GetDeletionResponse, GetDeletionStatusRequest, GetDeletionStatusResponse, ListDeletionsRequest,
    ListDeletionsResponse, delete_user_request,
};
use memory_contract::{
    Invalid, InvalidFields, UserId, check,
    convert::{duration, timestamp},
    deletion::{DeletionScope, Receipt},
    limits,
    page::PageToken,
};
use memory_grpc::request::{
    Fields, app_from, page_limit, place_from, place_of, required_user_from,
};
use memory_grpc::{ApiError, admin_of, caller_of};
use memory_index::Selection;
use memory_recall::RecallError;
use memory_store::{Caller, ErasureStats};
use tonic::Request;
use uuid::Uuid;

use super::Admin;

/// The vector index as a place.
const INDEX: &str = "index";

impl Admin {
    pub(super) async fn user_deleted(
        &self,
        request: Request<DeleteUserRequest>,
    ) -> Result<DeleteUserResponse, ApiError> {
        let caller = caller_of(&request)?;
        let scope = user_scope_from(request.into_inner())?;
        let deletion = self.begun(&caller, &scope).await?;
        Ok(DeleteUserResponse {
            deletion: Some(deletion),
        })
    }

    pub(super) async fn app_deleted(
        &self,
        request: Request<DeleteAppRequest>,
    ) -> Result<DeleteAppResponse, ApiError> {
        let caller = caller_of(&request)?;
        let DeleteAppRequest { app } = request.into_inner();
        let app = app_from("app", app.ok_or_else(|| Invalid::missing("app"))?)?;
        let deletion = self.begun(&caller, &DeletionScope::App(app)).await?;
        Ok(DeleteAppResponse {
            deletion: Some(deletion),
        })
    }

    pub(super) async fn tenant_deleted(
        &self,
        request: Request<DeleteTenantRequest>,
    ) -> Result<DeleteTenantResponse, ApiError> {
        let caller = admin_of(&request)?;
        let DeleteTenantRequest { tenant } = request.into_inner();
        if tenant != caller.tenant.as_str() {
            return Err(Invalid::new("tenant", "must be the name of the caller's tenant").into());
        }
        let deletion = self.begun(&caller, &DeletionScope::Tenant).await?;
        Ok(DeleteTenantResponse {
            deletion: Some(deletion),
        })
    }

    pub(super) async fn deletion(
        &self,
        request: Request<GetDeletionRequest>,
    ) -> Result<GetDeletionResponse, ApiError> {
        let caller = caller_of(&request)?;
        let GetDeletionRequest { deletion_id } = request.into_inner();
        let id = check::uuid("deletion_id", &deletion_id)?;
        Ok(GetDeletionResponse {
            deletion: Some(self.receipt(&caller, id).await?),
        })
    }

    pub(super) async fn deletions(
        &self,
        request: Request<ListDeletionsRequest>,
    ) -> Result<ListDeletionsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let ListDeletionsRequest {
            page_size,
            page_token,
        } = request.into_inner();
        let identity = ("deletions", caller.tenant.as_str());
        let mut fields = Fields::default();
        let limit = fields.take(page_limit(page_size));
        let after = fields.take(PageToken::place(&identity, &page_token));
        fields.end()?;
        let after = after.map(place_from);
        let page = self.store.erasures(&caller).list(after, limit).await?;
        let token = |place| PageToken::after_place(&identity, place_of(place));
        Ok(ListDeletionsResponse {
            deletions: page.items.into_iter().map(deletion).collect(),
            next_page_token: page.next.map(token).unwrap_or_default(),
        })
    }

    pub(super) async fn deletion_status(
        &self,
        request: Request<GetDeletionStatusRequest>,
    ) -> Result<GetDeletionStatusResponse, ApiError> {
        let caller = caller_of(&request)?;
        let GetDeletionStatusRequest {} = request.into_inner();
        let ErasureStats {
            waiting,
            lag,
            failing,
            last_error,
        } = self.store.erasures(&caller).stats().await?;
        Ok(GetDeletionStatusResponse {
            waiting_count: waiting,
            lag: Some(duration(lag)),
            failing_count: failing,
            last_error,
        })
    }

    async fn begun(
        &self,
        caller: &Caller,
        scope: &DeletionScope,
    ) -> Result<proto::Deletion, ApiError> {
        let id = self.store.erasures(caller).delete(scope).await?;
        self.receipt(caller, id).await
    }

    /// The receipt, with the index as its last place. An index that does not answer is left
    /// out of an unfinished one, and an error for a finished one, whose caller counts on it.
    async fn receipt(&self, caller: &Caller, id: Uuid) -> Result<proto::Deletion, ApiError> {
        let receipt = self.store.erasures(caller).get(id).await?;
        let finished = receipt.finished.is_some();
        // All points of the user, the app or the tenant, unless it has data again; then those of
        // the erased threads.
        let (tenant, scope) = (&caller.tenant, &receipt.scope);
        let selections = match &receipt.erased_threads {
            Some(threads) => vec![Selection::threads(tenant, threads)],
            None => Selection::of_deletion(tenant, scope),
        };
        let mut remaining = Some(0_i64);
        for selection in &selections {
            let count = match self.indexes.count(selection).await {
                Ok(count) => Some(i64::try_from(count).unwrap_or(i64::MAX)),
                Err(error) if finished => return Err(RecallError::from(error).into()),
                Err(_) => None,
            };
            remaining = remaining
                .zip(count)
                .map(|(all, count)| all.saturating_add(count));
        }
        let mut deletion = deletion(receipt);
        deletion
            .places
            .extend(remaining.map(|remaining_count| DeletionPlace {
                name: INDEX.to_owned(),
                deleted_count: 0,
                remaining_count,
            }));
        Ok(deletion)
    }
}

fn user_scope_from(request: DeleteUserRequest) -> Result<DeletionScope, InvalidFields> {
    match request.target {
        Some(delete_user_request::Target::User(user)) => {
            let (app, user) = required_user_from(Some(user))?;
            Ok(DeletionScope::User(app, user))
        }
        Some(delete_user_request::Target::UserOfAllApps(user)) => {
            let field = "user_of_all_apps";
            let user = check::required_text(field, user, limits::USER_ID_CHARS)?;
            Ok(DeletionScope::UserOfAllApps(UserId::new(user)))
        }
        None => {
            let problem = "is required, or else user_of_all_apps";
            Err(Invalid::new("user", problem).into())
        }
    }
}

fn deletion(receipt: Receipt) -> proto::Deletion {
    let Receipt {
        id,
        scope,
        step,
        places,
        storage_rewritten,
        last_error,
        created,
        finished,
        erased_threads: _,
    } = receipt;
    let state = match finished {
        Some(_) => DeletionState::Finished,
        None => DeletionState::Running,
    };
    proto::Deletion {
        deletion_id: id.to_string(),
        app_id: scope.app().map(ToString::to_string).unwrap_or_default(),
        user_id: scope.user().map(ToString::to_string),
        state: state.into(),
        step,
        places: places
            .into_iter()
            .map(|place| DeletionPlace {
                name: place.name,
                deleted_count: place.erased,
                remaining_count: place.remaining,
            })
            .collect(),
        storage_rewritten,
        last_error,
        create_time: Some(timestamp(created)),
        finish_time: finished.map(timestamp),
    }
}

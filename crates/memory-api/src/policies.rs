//! The policy service.

use memory_context::effective_policy;
use memory_contract::proto::policy_service_server::PolicyService;
use memory_contract::proto::{
    self, DeleteAppPolicyRequest, DeleteAppPolicyResponse, GetAppPolicyRequest,
    GetAppPolicyResponse, GetEffectivePolicyRequest, GetEffectivePolicyResponse,
    ListAppPoliciesRequest, ListAppPoliciesResponse, UpdateAppPolicyRequest,
    UpdateAppPolicyResponse,
};
use memory_contract::{
    AppId, Invalid, InvalidFields, check,
    convert::{UpdateMask, nothing_to_change, precondition_from, timestamp},
    limits,
    page::PageToken,
    policy::{MemoryPolicy, PolicyChange, PolicyLevel, ResolvedPolicy},
    precondition::Precondition,
};
use memory_grpc::{ApiError, caller_of};
use memory_store::{AppPolicy, Caller, Store};
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, async_trait};

use memory_grpc::request::{
    Fields, NamedConversation, Target, check_app_policy, next_token, page_limit, policy_at,
    policy_change_at, required_target_from,
};

use crate::kinds::check_policy;

/// Implements `PolicyService`.
#[derive(Clone)]
pub struct Policies {
    pub(crate) store: Store,
}

#[async_trait]
impl PolicyService for Policies {
    async fn update_app_policy(
        &self,
        request: Request<UpdateAppPolicyRequest>,
    ) -> Result<Response<UpdateAppPolicyResponse>, Status> {
        Ok(Response::new(self.update(request).await?))
    }

    async fn get_app_policy(
        &self,
        request: Request<GetAppPolicyRequest>,
    ) -> Result<Response<GetAppPolicyResponse>, Status> {
        Ok(Response::new(self.get(request).await?))
    }

    async fn list_app_policies(
        &self,
        request: Request<ListAppPoliciesRequest>,
    ) -> Result<Response<ListAppPoliciesResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }

    async fn delete_app_policy(
        &self,
        request: Request<DeleteAppPolicyRequest>,
    ) -> Result<Response<DeleteAppPolicyResponse>, Status> {
        Ok(Response::new(self.delete(request).await?))
    }

    async fn get_effective_policy(
        &self,
        request: Request<GetEffectivePolicyRequest>,
    ) -> Result<Response<GetEffectivePolicyResponse>, Status> {
        Ok(Response::new(self.effective(request).await?))
    }
}

impl Policies {
    /// Handles `UpdateAppPolicy`.
    pub async fn update(
        &self,
        request: Request<UpdateAppPolicyRequest>,
    ) -> Result<UpdateAppPolicyResponse, ApiError> {
        let caller = caller_of(&request)?;
        let Update {
            app,
            precondition,
            change,
        } = Update::read(request.into_inner())?;
        let field = "app_policy.policy";
        check_policy(field, &change).await?;
        check_app_policy(&self.store, &caller, &app, field, &change).await?;
        let stored = self
            .store
            .policies(&caller)
            .update_app_policy(&app, &precondition, &change)
            .await?;
        Ok(UpdateAppPolicyResponse {
            app_policy: Some(app_policy(stored)),
        })
    }

    /// Handles `GetAppPolicy`.
    pub async fn get(
        &self,
        request: Request<GetAppPolicyRequest>,
    ) -> Result<GetAppPolicyResponse, ApiError> {
        let caller = caller_of(&request)?;
        let GetAppPolicyRequest { app_id } = request.into_inner();
        let stored = self
            .store
            .policies(&caller)
            .app_policy(&app_from(app_id)?)
            .await?;
        Ok(GetAppPolicyResponse {
            app_policy: Some(app_policy(stored)),
        })
    }

    async fn list(
        &self,
        request: Request<ListAppPoliciesRequest>,
    ) -> Result<ListAppPoliciesResponse, ApiError> {
        let caller = caller_of(&request)?;
        let ListAppPoliciesRequest {
            page_size: size,
            page_token,
        } = request.into_inner();
        let identity = ("policies", caller.tenant.as_str());
        let mut fields = Fields::default();
        let limit = fields.take(page_limit(size));
        let after = fields.take(PageToken::key(&identity, &page_token));
        fields.end()?;
        let page = self
            .store
            .policies(&caller)
            .list_app_policies(after.unwrap_or_default(), limit)
            .await?;
        Ok(ListAppPoliciesResponse {
            app_policies: page.items.into_iter().map(app_policy).collect(),
            next_page_token: next_token(&identity, page.next),
        })
    }

    async fn delete(
        &self,
        request: Request<DeleteAppPolicyRequest>,
    ) -> Result<DeleteAppPolicyResponse, ApiError> {
        let caller = caller_of(&request)?;
        let DeleteAppPolicyRequest {
            app_id,
            precondition,
        } = request.into_inner();
        let mut fields = Fields::default();
        let app = fields.get(app_from(app_id));
        let precondition = fields.take(precondition_from(precondition, false));
        let app = fields.all(app)?;
        let deleted = self
            .store
            .policies(&caller)
            .delete_app_policy(&app, &precondition)
            .await?;
        Ok(DeleteAppPolicyResponse { deleted })
    }

    async fn effective(
        &self,
        request: Request<GetEffectivePolicyRequest>,
    ) -> Result<GetEffectivePolicyResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let (whose, policy) = whose_policy(&metadata, request)?;
        let policy = self.resolve(&caller, whose, &policy).await?;
        Ok(GetEffectivePolicyResponse {
            effective_policy: Some(policy.into()),
        })
    }

    async fn resolve(
        &self,
        caller: &Caller,
        whose: Whose,
        request: &MemoryPolicy,
    ) -> Result<ResolvedPolicy, ApiError> {
        match whose {
            Whose::Conversation(named) => {
                let conversation = named.resolve(&self.store, caller).await?;
                Ok(effective_policy(&self.store, caller, &conversation, request).await?)
            }
            Whose::App(app) => {
                let app = self.store.policies(caller).app_policy(&app).await?.policy;
                Ok(self
                    .store
                    .resolve_policy(&[(PolicyLevel::App, &app), (PolicyLevel::Request, request)]))
            }
        }
    }
}

/// A change of an app's policy.
struct Update {
    app: AppId,
    precondition: Precondition,
    change: PolicyChange,
}

impl Update {
    fn read(request: UpdateAppPolicyRequest) -> Result<Self, InvalidFields> {
        let field = "app_policy";
        let UpdateAppPolicyRequest {
            app_policy,
            update_mask,
            precondition,
        } = request;
        let proto::AppPolicy {
            app_id,
            policy,
            update_time: _,
            etag: _,
        } = app_policy.ok_or_else(|| Invalid::missing(field))?;
        let mut fields = Fields::default();
        let app = fields.get(app_from(app_id).map_err(|invalid| invalid.within(field)));
        let precondition = fields.take(precondition_from(precondition, true));
        let mask = UpdateMask::read(&mut fields, update_mask, &["policy"], |_| false)?;
        let change = policy_change_at(PolicyLevel::App, policy, mask.policy());
        let change = fields.get_all(change.map_err(|InvalidFields(all)| {
            let all = all.into_iter().map(|invalid| invalid.within(field));
            InvalidFields(all.collect())
        }));
        if !mask.is_given() && change.as_ref().is_some_and(PolicyChange::is_empty) {
            fields.take(Err::<(), _>(nothing_to_change(&["policy"])));
        }
        let (app, change) = fields.all(app.zip(change))?;
        Ok(Self {
            app,
            precondition,
            change,
        })
    }
}

enum Whose {
    Conversation(NamedConversation),
    App(AppId),
}

fn whose_policy(
    metadata: &MetadataMap,
    request: GetEffectivePolicyRequest,
) -> Result<(Whose, MemoryPolicy), InvalidFields> {
    let GetEffectivePolicyRequest { target, policy } = request;
    let mut fields = Fields::default();
    let whose = fields.get_all(required_target_from(metadata, target));
    let whose = whose.map(|target| match target {
        Target::Thread(named) => Whose::Conversation(named),
        Target::User(app, _) | Target::App(app) => Whose::App(app),
    });
    let policy = fields.get_all(policy_at(PolicyLevel::Request, policy));
    fields.all(whose.zip(policy))
}

fn app_from(app_id: String) -> Result<AppId, Invalid> {
    check::required_text("app_id", app_id, limits::APP_ID_CHARS).map(AppId::new)
}

/// The contract's form of an app's policy.
pub fn app_policy(policy: AppPolicy) -> proto::AppPolicy {
    let AppPolicy {
        app,
        policy,
        updated,
        etag,
    } = policy;
    proto::AppPolicy {
        app_id: app.into(),
        policy: Some(policy.into()),
        update_time: updated.map(timestamp),
        etag: etag.unwrap_or_default(),
    }
}

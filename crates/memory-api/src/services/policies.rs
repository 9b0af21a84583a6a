//! The policy service.

use memory_contract::proto::policy_service_server::PolicyService;
use memory_contract::proto::{
    self, DeleteAppPolicyRequest, DeleteAppPolicyResponse, GetAppPolicyRequest,
    GetAppPolicyResponse, GetEffectivePolicyRequest, GetEffectivePolicyResponse,
    ListAppPoliciesRequest, ListAppPoliciesResponse, SetAppPolicyRequest, SetAppPolicyResponse,
};
use memory_contract::{
    AppId, Invalid, InvalidFields, MemoryPolicy, PageToken, PolicyLevel, ResolvedPolicy, Target,
    check, limits, timestamp,
};
use memory_store::{AppPolicy, Caller, Store};
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, async_trait};

use super::request::{
    self, Fields, NamedConversation, next_token, page_limit, policy_at, required_conversation_from,
    resolve_session,
};
use crate::error::ApiError;
use crate::layers::caller_of;

/// Implements `PolicyService`.
#[derive(Clone)]
pub(crate) struct Policies {
    pub(crate) store: Store,
}

#[async_trait]
impl PolicyService for Policies {
    async fn set_app_policy(
        &self,
        request: Request<SetAppPolicyRequest>,
    ) -> Result<Response<SetAppPolicyResponse>, Status> {
        Ok(Response::new(self.set(request).await?))
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
    async fn set(
        &self,
        request: Request<SetAppPolicyRequest>,
    ) -> Result<SetAppPolicyResponse, ApiError> {
        let caller = caller_of(&request)?;
        let SetAppPolicyRequest { app_id, policy } = request.into_inner();
        let mut fields = Fields::default();
        let app = fields.get(app_from(app_id));
        let policy = match policy {
            Some(policy) => policy_at(PolicyLevel::App, Some(policy)),
            // An empty policy has to be explicit.
            None => Err(Invalid::missing("policy").into()),
        };
        let policy = fields.get_all(policy);
        let (app, policy) = fields.all(app.zip(policy))?;
        let stored = self
            .store
            .policies(&caller)
            .set_app_policy(&app, &policy)
            .await?;
        Ok(SetAppPolicyResponse {
            app_policy: Some(app_policy(stored)),
        })
    }

    async fn get(
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
        let DeleteAppPolicyRequest { app_id } = request.into_inner();
        let app = app_from(app_id)?;
        let deleted = self.store.policies(&caller).delete_app_policy(&app).await?;
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
            Whose::Conversation(NamedConversation::Thread(thread)) => {
                let policies = self.store.policies(caller).policies(thread).await?;
                Ok(policies.resolve_with(request))
            }
            Whose::Conversation(NamedConversation::Session(names)) => {
                let (session, _) = resolve_session(&self.store, caller, names).await?;
                let (thread, app) = self
                    .store
                    .policies(caller)
                    .session_policies(&session)
                    .await?;
                let thread = thread.map(|thread| thread.policy).unwrap_or_default();
                Ok(ResolvedPolicy::resolve(&[
                    (PolicyLevel::App, &app),
                    (PolicyLevel::Thread, &thread),
                    (PolicyLevel::Request, request),
                ]))
            }
            Whose::App(app) => {
                let app = self.store.policies(caller).app_policy(&app).await?.policy;
                Ok(ResolvedPolicy::resolve(&[
                    (PolicyLevel::App, &app),
                    (PolicyLevel::Request, request),
                ]))
            }
        }
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
    let whose = match target.map(Target::from) {
        Some(Target::Thread(named)) => {
            required_conversation_from(metadata, Some(named)).map(Whose::Conversation)
        }
        Some(Target::App(app)) => request::app_from("app", app).map(Whose::App),
        Some(Target::User(_)) | None => Err(Invalid::new(
            "thread_id",
            "is required, or else session or app",
        )),
    };
    let whose = fields.get(whose);
    let policy = fields.get_all(policy_at(PolicyLevel::Request, policy));
    fields.all(whose.zip(policy))
}

fn app_from(app_id: String) -> Result<AppId, Invalid> {
    check::required_text("app_id", app_id, limits::APP_ID_CHARS).map(AppId::new)
}

pub(super) fn app_policy(policy: AppPolicy) -> proto::AppPolicy {
    let AppPolicy {
        app,
        policy,
        updated,
    } = policy;
    proto::AppPolicy {
        app_id: app.into(),
        policy: Some(policy.into()),
        update_time: updated.map(timestamp),
    }
}

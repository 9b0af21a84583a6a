//! Lists threads, users and apps.

use memory_contract::proto::{
    ListAppsRequest, ListAppsResponse, ListThreadsRequest, ListThreadsResponse, ListUsersRequest,
    ListUsersResponse,
};
use memory_contract::{
    AppId, check, convert::conditions_from, limits, listing::ThreadOrder, page::PageToken,
};
use memory_grpc::request::{Fields, micros_of, owner_from, page_limit, time_of};
use memory_grpc::{ApiError, caller_of};
use memory_store::ThreadListQuery;
use tonic::Request;

use super::Threads;

impl Threads {
    pub(super) async fn list(
        &self,
        request: Request<ListThreadsRequest>,
    ) -> Result<ListThreadsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, request) = request.into_parts();
        let ListThreadsRequest {
            target,
            page_size,
            page_token,
            order_by,
            metadata,
        } = request;
        let mut fields = Fields::default();
        let scope = owner_from(&mut fields, &call, target);
        let order = fields.take(ThreadOrder::from_text(&order_by));
        let metadata = fields.take(conditions_from("metadata", metadata));
        let identity = (
            "threads",
            caller.tenant.as_str(),
            format!("{scope:?}"),
            order,
            format!("{metadata:?}"),
        );
        let limit = fields.take(page_limit(page_size));
        let after = fields.take(PageToken::place(&identity, &page_token));
        let after = after.map(|[updated, ordinal]| (time_of(updated), ordinal));
        fields.end()?;
        let (app, user) = scope.unzip();
        let query = ThreadListQuery {
            app,
            user: user.flatten(),
            metadata,
            order,
            after,
            limit,
        };
        let page = self.store.threads(&caller).list_threads(&query).await?;
        let token =
            |(updated, ordinal)| PageToken::after_place(&identity, [micros_of(updated), ordinal]);
        Ok(ListThreadsResponse {
            threads: page.items.into_iter().map(Into::into).collect(),
            next_page_token: page.next.map(token).unwrap_or_default(),
        })
    }

    pub(super) async fn users(
        &self,
        request: Request<ListUsersRequest>,
    ) -> Result<ListUsersResponse, ApiError> {
        let caller = caller_of(&request)?;
        let ListUsersRequest {
            app_id,
            page_size,
            page_token,
        } = request.into_inner();
        let identity = ("users", caller.tenant.as_str(), app_id.clone());
        let mut fields = Fields::default();
        let app = fields.get(check::required_text("app_id", app_id, limits::APP_ID_CHARS));
        let limit = fields.take(page_limit(page_size));
        let after = fields.take(PageToken::name(&identity, &page_token));
        let app = AppId::new(fields.all(app)?);
        let page = self
            .store
            .threads(&caller)
            .list_users(&app, after.as_deref(), limit)
            .await?;
        let token = |name: String| PageToken::after_name(&identity, &name);
        Ok(ListUsersResponse {
            users: page.items.into_iter().map(Into::into).collect(),
            next_page_token: page.next.map(token).unwrap_or_default(),
        })
    }

    pub(super) async fn apps(
        &self,
        request: Request<ListAppsRequest>,
    ) -> Result<ListAppsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let ListAppsRequest {
            page_size,
            page_token,
        } = request.into_inner();
        let identity = ("apps", caller.tenant.as_str());
        let mut fields = Fields::default();
        let limit = fields.take(page_limit(page_size));
        let after = fields.take(PageToken::name(&identity, &page_token));
        fields.end()?;
        let page = self
            .store
            .threads(&caller)
            .list_apps(after.as_deref(), limit)
            .await?;
        let token = |name: String| PageToken::after_name(&identity, &name);
        Ok(ListAppsResponse {
            apps: page.items.into_iter().map(Into::into).collect(),
            next_page_token: page.next.map(token).unwrap_or_default(),
        })
    }
}

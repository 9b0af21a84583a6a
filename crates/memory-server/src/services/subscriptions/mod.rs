//! The subscription service.

mod stream;

use memory_contract::proto::subscription_service_server::SubscriptionService;
use memory_contract::proto::{
    self, AcknowledgeEventsRequest, AcknowledgeEventsResponse, CreateSubscriptionRequest,
    CreateSubscriptionResponse, DeleteSubscriptionRequest, DeleteSubscriptionResponse,
    GetSubscriptionRequest, GetSubscriptionResponse, ListSubscriptionsRequest,
    ListSubscriptionsResponse, RotateSubscriptionSecretRequest, RotateSubscriptionSecretResponse,
    StreamEventsRequest, UpdateSubscriptionRequest, UpdateSubscriptionResponse,
};
use memory_contract::{
    AppId, Invalid, InvalidFields, UserId, check,
    convert::{UpdateMask, action_from, actions_from, duration, paths_from, timestamp},
    key::KeyScope,
    limits,
};
use memory_grpc::request::Fields;
use memory_grpc::{ApiError, admin_of, caller_of, standing_of};
use memory_store::{
    Caller, NewSubscription, StoreError, Subscription, SubscriptionChange, SubscriptionError,
    Subscriptions,
};
use memory_webhooks::receiver_url;
use secrecy::ExposeSecret as _;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, async_trait};
use uuid::Uuid;

use stream::{EventStream, Events};

/// Acknowledgments that a slow stream may miss before it looks itself.
const ACKNOWLEDGMENTS: usize = 64;
/// The fields that an update changes.
const CHANGEABLE: &[&str] = &["enabled", "url", "actions"];

/// Implements `SubscriptionService`.
#[derive(Clone)]
pub(crate) struct SubscriptionHandlers {
    subscriptions: Subscriptions,
    /// Batches that were acknowledged through this process.
    acknowledged: broadcast::Sender<Uuid>,
    /// Cancelled when the server stops.
    stop: CancellationToken,
}

#[async_trait]
impl SubscriptionService for SubscriptionHandlers {
    type StreamEventsStream = Events;

    async fn create_subscription(
        &self,
        request: Request<CreateSubscriptionRequest>,
    ) -> Result<Response<CreateSubscriptionResponse>, Status> {
        Ok(Response::new(self.create(request).await?))
    }

    async fn get_subscription(
        &self,
        request: Request<GetSubscriptionRequest>,
    ) -> Result<Response<GetSubscriptionResponse>, Status> {
        Ok(Response::new(self.get(request).await?))
    }

    async fn list_subscriptions(
        &self,
        request: Request<ListSubscriptionsRequest>,
    ) -> Result<Response<ListSubscriptionsResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }

    async fn update_subscription(
        &self,
        request: Request<UpdateSubscriptionRequest>,
    ) -> Result<Response<UpdateSubscriptionResponse>, Status> {
        Ok(Response::new(self.update(request).await?))
    }

    async fn rotate_subscription_secret(
        &self,
        request: Request<RotateSubscriptionSecretRequest>,
    ) -> Result<Response<RotateSubscriptionSecretResponse>, Status> {
        Ok(Response::new(self.rotate(request).await?))
    }

    async fn delete_subscription(
        &self,
        request: Request<DeleteSubscriptionRequest>,
    ) -> Result<Response<DeleteSubscriptionResponse>, Status> {
        Ok(Response::new(self.delete(request).await?))
    }

    async fn stream_events(
        &self,
        request: Request<StreamEventsRequest>,
    ) -> Result<Response<Events>, Status> {
        Ok(Response::new(self.stream(request).await?))
    }

    async fn acknowledge_events(
        &self,
        request: Request<AcknowledgeEventsRequest>,
    ) -> Result<Response<AcknowledgeEventsResponse>, Status> {
        Ok(Response::new(self.acknowledge(request).await?))
    }
}

impl SubscriptionHandlers {
    pub(crate) fn new(subscriptions: Subscriptions, stop: CancellationToken) -> Self {
        Self {
            subscriptions,
            acknowledged: broadcast::Sender::new(ACKNOWLEDGMENTS),
            stop,
        }
    }

    async fn create(
        &self,
        request: Request<CreateSubscriptionRequest>,
    ) -> Result<CreateSubscriptionResponse, ApiError> {
        let caller = admin_of(&request)?;
        let new = new_subscription_from(request.into_inner())?;
        let (subscription, secret) = self.subscriptions.create(&caller, &new).await?;
        let secret = secret
            .as_ref()
            .map(|secret| secret.expose_secret().to_owned());
        Ok(CreateSubscriptionResponse {
            subscription: Some(shown(subscription)),
            secret: secret.unwrap_or_default(),
        })
    }

    async fn get(
        &self,
        request: Request<GetSubscriptionRequest>,
    ) -> Result<GetSubscriptionResponse, ApiError> {
        let caller = caller_of(&request)?;
        let GetSubscriptionRequest { name } = request.into_inner();
        let name = check::subscription_name("name", name)?;
        let subscription = self.subscriptions.get(&caller, &name).await?;
        check_bounds(&caller, &subscription.settings)?;
        Ok(GetSubscriptionResponse {
            subscription: Some(shown(subscription)),
        })
    }

    async fn list(
        &self,
        request: Request<ListSubscriptionsRequest>,
    ) -> Result<ListSubscriptionsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let all = self.subscriptions.list(&caller).await?.into_iter();
        let reached = all.filter(|one| check_bounds(&caller, &one.settings).is_ok());
        Ok(ListSubscriptionsResponse {
            subscriptions: reached.map(shown).collect(),
        })
    }

    async fn update(
        &self,
        request: Request<UpdateSubscriptionRequest>,
    ) -> Result<UpdateSubscriptionResponse, ApiError> {
        let caller = admin_of(&request)?;
        let (name, change) = change_from(request.into_inner())?;
        let settings = self.subscriptions.settings(&caller, &name).await?;
        if change.url.is_some() && settings.url.is_empty() {
            let problem = "must be empty: the subscription was created without a URL and a secret";
            return Err(Invalid::new("subscription.url", problem).into());
        }
        let subscription = self.subscriptions.update(&caller, &name, &change).await?;
        Ok(UpdateSubscriptionResponse {
            subscription: Some(shown(subscription)),
        })
    }

    async fn rotate(
        &self,
        request: Request<RotateSubscriptionSecretRequest>,
    ) -> Result<RotateSubscriptionSecretResponse, ApiError> {
        let caller = admin_of(&request)?;
        let RotateSubscriptionSecretRequest { name } = request.into_inner();
        let name = check::subscription_name("name", name)?;
        let settings = self.subscriptions.settings(&caller, &name).await?;
        if settings.url.is_empty() {
            let problem = "must be a subscription with a URL; others have no secret";
            return Err(Invalid::new("name", problem).into());
        }
        let secret = self.subscriptions.rotate(&caller, &name).await?;
        Ok(RotateSubscriptionSecretResponse {
            secret: secret.expose_secret().to_owned(),
        })
    }

    async fn delete(
        &self,
        request: Request<DeleteSubscriptionRequest>,
    ) -> Result<DeleteSubscriptionResponse, ApiError> {
        let caller = admin_of(&request)?;
        let DeleteSubscriptionRequest { name } = request.into_inner();
        let name = check::subscription_name("name", name)?;
        let deleted = self.subscriptions.delete(&caller, &name).await?;
        Ok(DeleteSubscriptionResponse { deleted })
    }

    async fn stream(&self, request: Request<StreamEventsRequest>) -> Result<Events, ApiError> {
        let caller = caller_of(&request)?;
        let standing = standing_of(&request)?;
        let StreamEventsRequest { name } = request.into_inner();
        let name = check::subscription_name("name", name)?;
        let settings = self.subscriptions.settings(&caller, &name).await?;
        check_may_take(&caller, &settings)?;
        let stream = EventStream {
            subscriptions: self.subscriptions.clone(),
            acknowledged: self.acknowledged.clone(),
            caller,
            name,
        };
        Ok(stream.run(standing, self.stop.clone()))
    }

    async fn acknowledge(
        &self,
        request: Request<AcknowledgeEventsRequest>,
    ) -> Result<AcknowledgeEventsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let AcknowledgeEventsRequest { name, batch_id } = request.into_inner();
        let mut fields = Fields::default();
        let name = fields.take(check::subscription_name("name", name));
        let batch = fields.take(check::uuid("batch_id", &batch_id));
        fields.end()?;
        let settings = self.subscriptions.settings(&caller, &name).await?;
        check_may_take(&caller, &settings)?;
        let subscriptions = &self.subscriptions;
        let acknowledged = subscriptions.acknowledge(&caller, &name, batch).await?;
        // Fails if no stream listens.
        drop(self.acknowledged.send(batch));
        Ok(AcknowledgeEventsResponse { acknowledged })
    }
}

/// Refuses a subscription to changes of others than the caller's key is bound to, as if there
/// were none.
fn check_bounds(caller: &Caller, settings: &NewSubscription) -> Result<(), ApiError> {
    let app = settings.app.as_str();
    let user = settings.user.as_str();
    let named = |id| (!str::is_empty(id)).then_some(id);
    match caller.bounds.allow(named(app), named(user)) {
        true => Ok(()),
        false => Err(StoreError::Subscription(SubscriptionError::NotFound).into()),
    }
}

/// Refuses a caller who may not take the events of a subscription: what a reader takes, the receiver
/// of a webhook does not get.
fn check_may_take(caller: &Caller, settings: &NewSubscription) -> Result<(), ApiError> {
    check_bounds(caller, settings)?;
    match settings.url.is_empty() || caller.scopes.allow(KeyScope::Admin) {
        true => Ok(()),
        false => Err(ApiError::WebhookDenied),
    }
}

fn new_subscription_from(
    request: CreateSubscriptionRequest,
) -> Result<NewSubscription, InvalidFields> {
    let CreateSubscriptionRequest {
        name,
        app_id,
        user_id,
        actions,
        url,
    } = request;
    let mut fields = Fields::default();
    let name = fields.take(check::subscription_name("name", name));
    let app = fields.take(check::text("app_id", app_id, limits::APP_ID_CHARS));
    let user = fields.take(check::text("user_id", user_id, limits::USER_ID_CHARS));
    let actions = fields.take(actions_from("actions", &actions));
    let url = match url.is_empty() {
        true => url,
        false => fields.take(url_from("url", url)),
    };
    fields.end()?;
    Ok(NewSubscription {
        name,
        app: AppId::new(app),
        user: UserId::new(user),
        actions,
        url,
    })
}

/// The name of a subscription, and its new values.
fn change_from(
    request: UpdateSubscriptionRequest,
) -> Result<(String, SubscriptionChange), InvalidFields> {
    let UpdateSubscriptionRequest {
        subscription,
        update_mask,
    } = request;
    let subscription = subscription.ok_or_else(|| Invalid::missing("subscription"))?;
    if paths_from(update_mask.clone())?.is_empty() {
        return Err(Invalid::missing("update_mask").into());
    }
    let mut fields = Fields::default();
    let mask = UpdateMask::read(&mut fields, update_mask, CHANGEABLE, |_| false)?;
    let name = check::subscription_name("subscription.name", subscription.name);
    let name = fields.take(name);
    let url = mask.names("url").then(|| {
        let url = url_from("subscription.url", subscription.url);
        fields.take(url)
    });
    let actions = mask.names("actions").then(|| {
        let actions = actions_from("subscription.actions", &subscription.actions);
        fields.take(actions)
    });
    fields.end()?;
    let enabled = mask.names("enabled").then_some(subscription.enabled);
    Ok((
        name,
        SubscriptionChange {
            enabled,
            url,
            actions,
        },
    ))
}

fn url_from(field: &str, url: String) -> Result<String, Invalid> {
    let url = check::required_text(field, url, limits::SUBSCRIPTION_URL_CHARS)?;
    match receiver_url(&url) {
        Ok(_) => Ok(url),
        Err(problem) => Err(Invalid::new(field, problem)),
    }
}

fn shown(subscription: Subscription) -> proto::Subscription {
    let Subscription {
        settings,
        enabled,
        waiting,
        lag,
        delivered,
        dropped,
        failed_attempts,
        last_error,
        failed,
        created,
        updated,
    } = subscription;
    let NewSubscription {
        name,
        app,
        user,
        actions,
        url,
    } = settings;
    let actions = actions.iter().map(|action| i32::from(action_from(action)));
    proto::Subscription {
        name,
        app_id: app.into(),
        user_id: user.into(),
        actions: actions.collect(),
        url,
        enabled,
        waiting_count: waiting,
        lag: Some(duration(lag)),
        delivered_count: delivered,
        dropped_count: dropped,
        failed_attempts,
        last_error,
        last_error_time: failed.map(timestamp),
        create_time: Some(timestamp(created)),
        update_time: Some(timestamp(updated)),
    }
}

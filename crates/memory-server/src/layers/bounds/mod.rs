//! Keeps callers whose key or token is bound to apps or users within their bounds.
//!
//! This layer knows requests, and asks whose data the ids in them are. Row-level security is the
//! second layer: it knows rows, and reads no request.

use std::mem;

use memory_contract::{AppId, UserId, check, deletion::DeletionScope, key::KeyBounds};
use memory_grpc::{ApiError, Name, Requests, names, unbound};
use memory_store::{Caller, MemoryError, Store, StoreError};
use tonic::Status;

use super::around::{Around, Inner};
use super::methods::Method;
use super::{Answer, Methods, Request, message};

/// Refuses calls of bound callers about data of others.
#[derive(Clone)]
pub(crate) struct Bounds {
    methods: Methods,
    requests: Requests,
    store: Store,
    /// Bytes of the largest request.
    max_bytes: usize,
}

/// Calls that name content by its digest: row-level security finds it among what the caller reaches.
const BY_DIGEST: [&str; 1] = ["GetFileContent"];
/// Calls that name a subscription, or all: their handler knows whose changes it delivers.
const OF_SUBSCRIPTIONS: [&str; 4] = [
    "AcknowledgeEvents",
    "GetSubscription",
    "ListSubscriptions",
    "StreamEvents",
];
/// Calls about an app that reveal nothing of its users.
const OF_APPS: [&str; 2] = ["GetAppPolicy", "GetEffectivePolicy"];

impl Bounds {
    pub(crate) fn new(methods: Methods, store: Store, max_bytes: usize) -> Self {
        Self {
            methods,
            requests: Requests::default(),
            store,
            max_bytes,
        }
    }

    /// The request, if all that it names is within the caller's bounds.
    async fn check(
        &self,
        caller: &Caller,
        method: &Method,
        request: Request,
    ) -> Result<Request, Status> {
        let descriptor = self.requests.of(&method.service, &method.name);
        let descriptor = descriptor.ok_or(ApiError::OutOfBounds { field: None })?;
        let (message, request) = message::read(request, descriptor, self.max_bytes).await?;
        let names = names(&message);
        let is_checked_later = [BY_DIGEST.as_slice(), &OF_SUBSCRIPTIONS]
            .iter()
            .any(|calls| calls.contains(&&*method.name));
        if names.is_empty() && !is_checked_later {
            return Err(ApiError::OutOfBounds { field: None }.into());
        }
        let everything = unbound(caller);
        for name in names {
            self.check_name(&caller.bounds, &everything, method, name)
                .await?;
        }
        Ok(request)
    }

    async fn check_name(
        &self,
        bounds: &KeyBounds,
        everything: &Caller,
        method: &Method,
        name: Name,
    ) -> Result<(), ApiError> {
        let named = |allowed: bool, field: String| match allowed {
            true => Ok(()),
            false => Err(ApiError::OutOfBounds { field: Some(field) }),
        };
        // What another user owns is not found. What has no owner is for the handler to answer.
        let found = |owner: Option<DeletionScope>, not_found: StoreError| {
            let allowed = owner.is_none_or(|owner| {
                let (app, user) = (owner.app(), owner.user());
                bounds.allow(app.map(AppId::as_str), user.map(UserId::as_str))
            });
            match allowed {
                true => Ok(()),
                false => Err(not_found.into()),
            }
        };
        let of_user = |(app, user)| DeletionScope::User(app, user);
        match name {
            Name::User { field, app, user } => named(bounds.allow(Some(&app), Some(&user)), field),
            Name::UserOfAllApps { field, user } => named(bounds.allow(None, Some(&user)), field),
            Name::App { field, app } => {
                let some_users = OF_APPS.contains(&&*method.name) && bounds.allow_app(Some(&app));
                named(some_users || bounds.allow(Some(&app), None), field)
            }
            Name::AllUsers { field } => named(bounds.allow_user(None), field),
            Name::Speaker { field, user } => named(bounds.allow_user(Some(&user)), field),
            Name::Thread(id) => {
                // The handler refuses a malformed id.
                let Ok(id) = check::uuid("thread_id", &id) else {
                    return Ok(());
                };
                let owner = self.store.threads(everything).owner(id.into()).await?;
                found(owner.map(of_user), StoreError::ThreadNotFound)
            }
            Name::Memory(id) => {
                let Ok(id) = check::uuid("memory_id", &id) else {
                    return Ok(());
                };
                let owner = self.store.memories(everything).owner(id.into()).await?;
                found(owner.map(of_user), MemoryError::NotFound.into())
            }
            Name::Deletion(id) => {
                let Ok(id) = check::uuid("deletion_id", &id) else {
                    return Ok(());
                };
                let receipt = self.store.erasures(everything).get(id).await?;
                found(Some(receipt.scope), StoreError::DeletionNotFound)
            }
        }
    }
}

impl Around for Bounds {
    fn call<S: Inner>(&self, inner: &mut S, request: Request) -> Answer<S::Error> {
        let caller: Option<&Caller> = request.extensions().get();
        let Some(caller) = caller.filter(|caller| !caller.bounds.is_unbound()).cloned() else {
            return Box::pin(inner.call(request));
        };
        let method = self.methods.of(request.uri().path()).clone();
        if !method.ours {
            return Box::pin(inner.call(request));
        }
        // The one that is ready, not its clone.
        let clone = inner.clone();
        let mut inner = mem::replace(inner, clone);
        let bounds = self.clone();
        Box::pin(async move {
            match bounds.check(&caller, &method, request).await {
                Ok(request) => inner.call(request).await,
                Err(status) => Ok(status.into_http()),
            }
        })
    }
}

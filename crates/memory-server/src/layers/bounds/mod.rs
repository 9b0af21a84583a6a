//! Keeps callers whose key or token is bound to apps or users within their bounds.
//!
//! This layer knows requests, and asks whose data the ids in them are. Row-level security is the
//! second layer: it knows rows, and reads no request.

mod message;
mod names;

use std::mem;

use memory_contract::{check, deletion::DeletionScope};
use memory_grpc::ApiError;
use memory_store::{Caller, MemoryError, Store, StoreError};
use prost_reflect::DynamicMessage;
use tonic::Status;

use super::around::{Around, Inner};
use super::methods::Method;
use super::{Answer, Methods, Request};
use names::{Name, Requests, names};

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
/// Calls about an app that reveal nothing of its users.
const OF_APPS: [&str; 2] = ["GetAppPolicy", "GetEffectivePolicy"];

impl Bounds {
    pub(crate) fn new(methods: Methods, store: Store, max_bytes: usize) -> Self {
        Self {
            methods,
            requests: Requests::new(),
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
        let (bytes, request) = message::read(request, self.max_bytes).await?;
        let message = DynamicMessage::decode(descriptor, bytes)
            .map_err(|_| message::unreadable("the request is not a message of this method"))?;
        let names = names(&message);
        if names.is_empty() && !BY_DIGEST.contains(&&*method.name) {
            return Err(ApiError::OutOfBounds { field: None }.into());
        }
        for name in names {
            self.check_name(caller, method, name).await?;
        }
        Ok(request)
    }

    async fn check_name(
        &self,
        caller: &Caller,
        method: &Method,
        name: Name,
    ) -> Result<(), ApiError> {
        let bounds = &caller.bounds;
        let named = |allowed: bool, field: String| match allowed {
            true => Ok(()),
            false => Err(ApiError::OutOfBounds { field: Some(field) }),
        };
        // What others own is not there.
        let found = |allowed: bool, otherwise: StoreError| match allowed {
            true => Ok(()),
            false => Err(otherwise.into()),
        };
        let all = Caller {
            bounds: Default::default(),
            ..caller.clone()
        };
        match name {
            Name::User { field, app, user } => named(bounds.allow(Some(&app), Some(&user)), field),
            Name::UserOfAllApps { field, user } => named(bounds.allow(None, Some(&user)), field),
            Name::App { field, app } => {
                let some_users = OF_APPS.contains(&&*method.name) && bounds.allow_app(&app);
                named(some_users || bounds.allow(Some(&app), None), field)
            }
            Name::AllUsers { field } => named(!bounds.binds_users(), field),
            Name::Thread(id) => {
                // The handler refuses what is no id.
                let Ok(id) = check::uuid("thread_id", &id) else {
                    return Ok(());
                };
                let owner = self.store.threads(&all).owner(id.into()).await?;
                let allowed = owner.is_none_or(|(app, user)| {
                    bounds.allow(Some(app.as_str()), Some(user.as_str()))
                });
                found(allowed, StoreError::ThreadNotFound)
            }
            Name::Memory(id) => {
                let Ok(id) = check::uuid("memory_id", &id) else {
                    return Ok(());
                };
                let owner = self.store.memories(&all).owner(id.into()).await?;
                let allowed = owner.is_none_or(|(app, user)| {
                    bounds.allow(Some(app.as_str()), Some(user.as_str()))
                });
                found(allowed, StoreError::Memory(MemoryError::NotFound))
            }
            Name::Deletion(id) => {
                let Ok(id) = check::uuid("deletion_id", &id) else {
                    return Ok(());
                };
                let scope = self.store.erasures(&all).get(id).await?.scope;
                let (app, user) = match &scope {
                    DeletionScope::User(app, user) => (Some(app.as_str()), Some(user.as_str())),
                    DeletionScope::UserOfAllApps(user) => (None, Some(user.as_str())),
                    DeletionScope::App(app) => (Some(app.as_str()), None),
                    DeletionScope::Tenant => (None, None),
                };
                found(bounds.allow(app, user), StoreError::DeletionNotFound)
            }
        }
    }
}

impl Around for Bounds {
    fn call<S: Inner>(&self, inner: &mut S, request: Request) -> Answer<S::Error> {
        let caller: Option<&Caller> = request.extensions().get();
        let bound = caller.filter(|caller| !caller.bounds.is_unbound()).cloned();
        let method = self.methods.of(request.uri().path()).clone();
        let (Some(caller), true) = (bound, method.ours) else {
            return Box::pin(inner.call(request));
        };
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

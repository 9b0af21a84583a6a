//! Replaces or refuses secrets and personal data in the texts of requests, as the policies of their
//! apps say.

mod bodies;
mod json;
mod redacted;
mod texts;

use std::collections::BTreeSet;

use memory_contract::{
    AppId, InvalidFields, UserId, check,
    policy::{PolicyLevel, Redaction, ResolvedPolicy},
};
use memory_redact::Kinds;
use memory_store::{Caller, Store};
use prost::Message;
use prost_reflect::{DynamicMessage, ReflectMessage as _};
use tokio::task::spawn_blocking;

use crate::{
    ApiError,
    caller::unbound,
    named::{Name, Requests, names},
};

pub use redacted::Redacted;

/// Larger requests are redacted on a thread of the blocking pool: the time that the runtime's thread
/// is used without a pause stays below a millisecond or two.
const BLOCKING_BYTES: usize = 64 * 1024;

/// Redacts requests. Clones are cheap.
#[derive(Clone, Debug)]
pub struct Redactor {
    store: Store,
    requests: Requests,
}

impl Redactor {
    /// Redacts by the policies of a store.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            requests: Requests::default(),
        }
    }

    /// Whether a request of the caller's tenant may have to be redacted.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn may_redact(&self, caller: &Caller) -> Result<bool, ApiError> {
        let server = self.store.resolve_policy(&[]);
        // A caller with bounds does not see the policies of other apps.
        let everything = unbound(caller);
        let any = server.redaction != Redaction::Off
            || self.store.policies(&everything).any_app_redacts().await?;
        Ok(any)
    }

    /// Replaces what the texts of a request must not have.
    ///
    /// The policies of the apps that it names hold, also by ids of their threads and memories. Where
    /// they differ, a refusal wins, and the kinds of all are looked for.
    ///
    /// # Errors
    /// A refusal with the fields and the names of what they have, and errors of the database.
    pub async fn redact(
        &self,
        caller: &Caller,
        request: &mut DynamicMessage,
    ) -> Result<Redacted, ApiError> {
        let apps = self.apps(caller, request).await?;
        self.redact_of(caller, &apps, request).await
    }

    /// As [`Self::redact`], for a message of a stream, of the type `name` of the contract's package.
    /// `app` is one that the message does not name.
    ///
    /// # Errors
    /// As [`Self::redact`].
    pub async fn redact_message<M: Message + Default>(
        &self,
        caller: &Caller,
        app: Option<&AppId>,
        name: &str,
        message: M,
    ) -> Result<(M, Redacted), ApiError> {
        let unchanged = Redacted::default();
        if !self.may_redact(caller).await? {
            return Ok((message, unchanged));
        }
        let descriptor = self.requests.message(name);
        let mut dynamic = DynamicMessage::new(descriptor.ok_or_else(unreadable)?);
        dynamic.transcode_from(&message).map_err(|_| unreadable())?;
        let mut apps = self.apps(caller, &dynamic).await?;
        apps.extend(app.cloned());
        let redacted = self.redact_of(caller, &apps, &mut dynamic).await?;
        if redacted.is_empty() {
            return Ok((message, unchanged));
        }
        Ok((dynamic.transcode_to().map_err(|_| unreadable())?, redacted))
    }

    async fn redact_of(
        &self,
        caller: &Caller,
        apps: &BTreeSet<AppId>,
        request: &mut DynamicMessage,
    ) -> Result<Redacted, ApiError> {
        let Some((redaction, kinds)) = self.rule(caller, apps).await? else {
            return Ok(Redacted::default());
        };
        let size = request.encoded_len();
        let mut taken = std::mem::replace(request, DynamicMessage::new(request.descriptor()));
        let work = move || {
            let refused = redaction == Redaction::Refuse;
            let (mut redacted, mut fields) = texts::replace(&mut taken, kinds, refused);
            if let Some((also_redacted, also_fields)) = bodies::replace(&mut taken, kinds) {
                redacted.add_all(also_redacted);
                fields.extend(also_fields);
            }
            (taken, redacted, fields)
        };
        let (taken, redacted, fields) = match size > BLOCKING_BYTES {
            true => spawn_blocking(work).await?,
            false => work(),
        };
        *request = taken;
        match redaction {
            Redaction::Refuse if !redacted.is_empty() => {
                Err(ApiError::TextRefused(InvalidFields(fields)))
            }
            _ => Ok(redacted),
        }
    }

    /// What holds for requests about apps; for those about none, what the server sets.
    async fn rule(
        &self,
        caller: &Caller,
        apps: &BTreeSet<AppId>,
    ) -> Result<Option<(Redaction, Kinds)>, ApiError> {
        let everything = unbound(caller);
        let mut policies = vec![self.store.resolve_policy(&[])];
        for app in apps {
            let stored = self.store.policies(&everything).app_policy(app).await?;
            policies.push(
                self.store
                    .resolve_policy(&[(PolicyLevel::App, &stored.policy)]),
            );
        }
        Ok(strictest(&policies))
    }

    /// The apps whose data a request is about.
    async fn apps(
        &self,
        caller: &Caller,
        request: &DynamicMessage,
    ) -> Result<BTreeSet<AppId>, ApiError> {
        let everything = &unbound(caller);
        let app_of = |owner: Option<(AppId, UserId)>| owner.map(|(app, _)| app);
        let mut apps = BTreeSet::new();
        for name in names(request) {
            let app = match name {
                Name::User { app, .. } | Name::App { app, .. } => Some(AppId::new(app)),
                // The handler refuses malformed ids, and those of nothing.
                Name::Thread(id) => match check::uuid("thread_id", &id) {
                    Ok(id) => app_of(self.store.threads(everything).owner(id.into()).await?),
                    Err(_) => None,
                },
                Name::Memory(id) => match check::uuid("memory_id", &id) {
                    Ok(id) => app_of(self.store.memories(everything).owner(id.into()).await?),
                    Err(_) => None,
                },
                Name::UserOfAllApps { .. }
                | Name::AllUsers { .. }
                | Name::Speaker { .. }
                | Name::Deletion(_) => None,
            };
            // The handler refuses a name that Postgres cannot have.
            apps.extend(app.filter(|app| !app.as_str().contains('\0')));
        }
        Ok(apps)
    }
}

/// What all of several policies ask for; `None`: nothing.
fn strictest(policies: &[ResolvedPolicy]) -> Option<(Redaction, Kinds)> {
    let redaction = policies.iter().map(|policy| policy.redaction).max()?;
    let redacting = policies
        .iter()
        .filter(|policy| policy.redaction != Redaction::Off);
    let kinds = redacting.flat_map(|policy| &policy.redacted_kinds).copied();
    (redaction != Redaction::Off).then(|| (redaction, kinds.collect()))
}

/// The refusal of a message whose texts cannot be looked at.
fn unreadable() -> ApiError {
    ApiError::Unreadable {
        problem: "its texts cannot be redacted".into(),
    }
}

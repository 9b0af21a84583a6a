//! Policies of apps and threads.

mod redacting;

use std::sync::Arc;

use memory_contract::{
    AppId, ThreadId, limits,
    policy::{MemoryPolicy, PolicyChange, PolicyLevel, ResolvedPolicy},
    precondition::Precondition,
    thread::{Session, Thread},
};
use memory_database::{
    Databases, Page, Space, StoreError,
    page::one_more,
    rows::{self, column, only, optional_id, unknown_status},
    session_digest,
};
use memory_postgres::{Params, Query, query};
use time::OffsetDateTime;
use tokio_postgres::{Row, types::Json};
use uuid::Uuid;

use crate::{PolicyStore, threads::used};

/// The stored policy of one app.
#[derive(Clone, Debug, PartialEq)]
pub struct AppPolicy {
    /// The app that the policy applies to.
    pub app: AppId,
    /// The values that it sets.
    pub policy: MemoryPolicy,
    /// When that last changed; `None`: the app has no policy.
    pub updated: Option<OffsetDateTime>,
    /// The version; each change replaces it. `None`: the app has no policy.
    pub etag: Option<String>,
}

/// Reads a thread with the policy of its app, for [`Policies::of`].
pub const THREAD_POLICIES: Query = query!("policies/thread_policies");

/// A thread with the policies that hold for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Policies {
    /// The policy that the server sets for all apps.
    pub server: Arc<MemoryPolicy>,
    /// The thread, with its policy if it has one.
    pub thread: Thread,
    /// Place of the thread in the order of creation of all threads.
    pub thread_ordinal: i64,
    /// The policy of the thread's app; empty if the app has none.
    pub app: MemoryPolicy,
}

impl Policies {
    /// Reads both from the row of [`THREAD_POLICIES`].
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub fn of(store: &Databases, found: &[Row]) -> Result<Self, StoreError> {
        let row = found.first().ok_or(StoreError::ThreadNotFound)?;
        Ok(Self {
            server: store.policy.clone(),
            thread: rows::thread(row)?,
            thread_ordinal: column(row, "ordinal")?,
            app: app_policy_of(row)?,
        })
    }

    /// The policy that holds for the thread.
    pub fn resolve(&self) -> ResolvedPolicy {
        self.resolve_with(&MemoryPolicy::default())
    }

    /// The policy that holds for a request to the thread.
    pub fn resolve_with(&self, request: &MemoryPolicy) -> ResolvedPolicy {
        ResolvedPolicy::resolve(&[
            (PolicyLevel::Server, &self.server),
            (PolicyLevel::App, &self.app),
            (PolicyLevel::Thread, &self.thread.policy),
            (PolicyLevel::Request, request),
        ])
    }
}

impl PolicyStore<'_> {
    /// The memory space that searches of an app extend over under a policy; `None` if the
    /// policy searches none, or the app has just left it.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn searched_space(
        self,
        app: &AppId,
        policy: &ResolvedPolicy,
    ) -> Result<Option<Space>, StoreError> {
        let Some(name) = policy.searched_space() else {
            return Ok(None);
        };
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &name,
            &i64::from(limits::MEMORY_SPACE_APPS),
        ];
        let apps = query!("policies/space");
        let found = self.store.pool.within(self.caller, apps, params).await?;
        let apps = found
            .iter()
            .map(|row| Ok(AppId::new(column::<String>(row, "app_id")?)));
        let apps = apps.collect::<Result<Vec<_>, StoreError>>()?;
        let name = name.to_owned();
        Ok(apps.contains(app).then_some(Space { name, apps }))
    }

    /// Reads a thread with the policy of its app, in one round trip.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn policies(self, thread: ThreadId) -> Result<Policies, StoreError> {
        let (policies, _) = self.read_policies(thread, false).await?;
        Ok(policies)
    }

    /// As [`Self::policies`], and with `memories` whether the thread's user has any.
    ///
    /// # Errors
    /// As [`Self::policies`].
    pub async fn read_policies(
        self,
        thread: ThreadId,
        memories: bool,
    ) -> Result<(Policies, bool), StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid(), &memories];
        let found = self
            .store
            .pool
            .call(self.caller, THREAD_POLICIES, params)
            .await?;
        let mut policies = Policies::of(self.store, &found)?;
        used(self.store, self.caller, &mut policies.thread).await?;
        Ok((policies, column(&only(found)?, "any_memories")?))
    }

    /// Reads the thread of a session, if there is one, and its place in the order of creation of
    /// all threads, with the policy of its app, in one round trip.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn session_policies(
        self,
        session: &Session,
    ) -> Result<(Option<(Thread, i64)>, MemoryPolicy), StoreError> {
        let (thread, app, _) = self.read_session_policies(session, false).await?;
        Ok((thread, app))
    }

    /// As [`Self::session_policies`], and with `memories` whether the session's user has any.
    ///
    /// # Errors
    /// As [`Self::session_policies`].
    pub async fn read_session_policies(
        self,
        session: &Session,
        memories: bool,
    ) -> Result<(Option<(Thread, i64)>, MemoryPolicy, bool), StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &session_digest(session),
            &session.app.as_str(),
            &session.user.as_str(),
            &memories,
        ];
        let query = query!("policies/session_policies");
        let row = only(self.store.pool.call(self.caller, query, params).await?)?;
        let is_stored = optional_id::<ThreadId>(&row, "thread_id")?.is_some();
        let mut thread = None;
        if is_stored {
            let mut stored = rows::thread(&row)?;
            used(self.store, self.caller, &mut stored).await?;
            thread = Some((stored, column(&row, "ordinal")?));
        }
        Ok((thread, app_policy_of(&row)?, column(&row, "any_memories")?))
    }

    /// Reads the policy of an app; one that has none has an empty one.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn app_policy(self, app: &AppId) -> Result<AppPolicy, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &app.as_str()];
        let rows = self
            .store
            .pool
            .within(self.caller, query!("policies/get"), params)
            .await?;
        match rows.first() {
            Some(row) => app_policy(app.clone(), row),
            None => Ok(AppPolicy {
                app: app.clone(),
                policy: MemoryPolicy::default(),
                updated: None,
                etag: None,
            }),
        }
    }

    /// Changes the policy of an app, which may have none yet. Changes happen one after the
    /// other, so none is lost.
    ///
    /// # Errors
    /// `EtagChanged` and `SpaceFull`.
    pub async fn update_app_policy(
        self,
        app: &AppId,
        precondition: &Precondition,
        change: &PolicyChange,
    ) -> Result<AppPolicy, StoreError> {
        let tenant = &self.caller.tenant;
        let PolicyChange {
            replace,
            set,
            clear,
        } = change;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &app.as_str(),
            &precondition.as_sql(),
            replace,
            clear,
            &Json(set),
            &limits::MEMORY_SPACE_APPS,
        ];
        let update = query!("policies/update");
        let row = only(self.store.pool.call(self.caller, update, params).await?)?;
        self.store.redacting.forget(tenant).await;
        match column(&row, "status")? {
            "ok" => app_policy(app.clone(), &row),
            "etag_changed" => Err(etag_changed(&row)?),
            "space_full" => Err(StoreError::SpaceFull),
            other => Err(unknown_status(other)),
        }
    }

    /// Deletes the policy of an app. Returns whether it had one.
    ///
    /// # Errors
    /// `EtagChanged`.
    pub async fn delete_app_policy(
        self,
        app: &AppId,
        precondition: &Precondition,
    ) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &app.as_str(),
            &precondition.as_sql(),
        ];
        let delete = query!("policies/delete");
        let row = only(self.store.pool.call(self.caller, delete, params).await?)?;
        self.store.redacting.forget(tenant).await;
        match column(&row, "status")? {
            "ok" => column(&row, "deleted"),
            "etag_changed" => Err(etag_changed(&row)?),
            other => Err(unknown_status(other)),
        }
    }

    /// Lists the apps that have a policy, the one set first first, after the
    /// key `after`; 0 for the first page.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list_app_policies(
        self,
        after: i64,
        limit: u32,
    ) -> Result<Page<AppPolicy, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &after, &one_more(limit)];
        let rows = self
            .store
            .pool
            .within(self.caller, query!("policies/list"), params)
            .await?;
        let policies = rows
            .iter()
            .map(|row| {
                let app = AppId::new(column::<String>(row, "app_id")?);
                let policy = app_policy(app, row)?;
                Ok((column(row, "ordinal")?, policy))
            })
            .collect::<Result<_, StoreError>>()?;
        Ok(Page::cut(policies, limit))
    }
}

fn app_policy(app: AppId, row: &Row) -> Result<AppPolicy, StoreError> {
    Ok(AppPolicy {
        app,
        policy: column::<Json<_>>(row, "policy")?.0,
        updated: Some(column(row, "updated_at")?),
        etag: Some(column::<Uuid>(row, "version")?.to_string()),
    })
}

fn etag_changed(row: &Row) -> Result<StoreError, StoreError> {
    let etag = column::<Option<Uuid>>(row, "version")?;
    Ok(StoreError::EtagChanged {
        etag: etag.map(|etag| etag.to_string()),
    })
}

/// The policy of an app that was read together with a thread; empty if the app has none.
fn app_policy_of(row: &Row) -> Result<MemoryPolicy, StoreError> {
    let policy = column::<Option<Json<MemoryPolicy>>>(row, "app_policy")?;
    Ok(policy.map(|Json(policy)| policy).unwrap_or_default())
}

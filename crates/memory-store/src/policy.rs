//! Policies of apps and threads.

use memory_contract::{
    AppId, MemoryPolicy, PolicyLevel, ResolvedPolicy, Session, Thread, ThreadId,
};
use time::OffsetDateTime;
use tokio_postgres::{Row, types::Json};

use crate::{
    Page, PolicyStore, StoreError,
    query::{Params, query},
    rows::{column, only},
    thread::{one_more, one_thread, session_digest},
};

/// The stored policy of one app.
#[derive(Clone, Debug, PartialEq)]
pub struct AppPolicy {
    /// The app that the policy applies to.
    pub app: AppId,
    /// The values that it sets.
    pub policy: MemoryPolicy,
    /// When that was set; `None`: never.
    pub updated: Option<OffsetDateTime>,
}

/// A thread with the policy of its app.
#[derive(Clone, Debug, PartialEq)]
pub struct Policies {
    /// The thread, with its policy if it has one.
    pub thread: Thread,
    /// The policy of the thread's app; empty if the app has none.
    pub app: MemoryPolicy,
}

impl Policies {
    /// Reads both from the rows of their queries.
    pub(crate) fn of(threads: &[Row], policies: &[Row]) -> Result<Self, StoreError> {
        Ok(Self {
            thread: one_thread(threads)?,
            app: first_policy(policies)?,
        })
    }

    /// The policy that holds for the thread.
    pub fn resolve(&self) -> ResolvedPolicy {
        self.resolve_with(&MemoryPolicy::default())
    }

    /// The policy that holds for a request to the thread.
    pub fn resolve_with(&self, request: &MemoryPolicy) -> ResolvedPolicy {
        ResolvedPolicy::resolve(&[
            (PolicyLevel::App, &self.app),
            (PolicyLevel::Thread, &self.thread.policy),
            (PolicyLevel::Request, request),
        ])
    }
}

impl PolicyStore<'_> {
    /// Reads a thread with the policy of its app, in one round trip.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn policies(self, thread: ThreadId) -> Result<Policies, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid()];
        let results = self
            .store
            .pool
            .within_all(
                self.caller,
                &[
                    (query!("threads/get"), params),
                    (query!("policies/of_thread"), params),
                ],
            )
            .await?;
        let [threads, policies] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        let mut policies = Policies::of(threads, policies)?;
        let store = self.store.threads(self.caller);
        store.used(&mut policies.thread).await?;
        Ok(policies)
    }

    /// Reads the thread of a session, if there is one, with the policy of its
    /// app, in one round trip.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn session_policies(
        self,
        session: &Session,
    ) -> Result<(Option<Thread>, MemoryPolicy), StoreError> {
        let tenant = &self.caller.tenant;
        let (name, digest) = (tenant.as_str(), session_digest(session));
        let app = session.app.as_str();
        let of_thread: Params<'_> = &[&name, &digest];
        let of_app: Params<'_> = &[&name, &app];
        let results = self
            .store
            .pool
            .within_all(
                self.caller,
                &[
                    (query!("threads/find"), of_thread),
                    (query!("policies/get"), of_app),
                ],
            )
            .await?;
        let [threads, policies] = results.as_slice() else {
            return Ok((None, MemoryPolicy::default()));
        };
        let (mut thread, app) = session_policies_of(threads, policies)?;
        if let Some(thread) = &mut thread {
            self.store.threads(self.caller).used(thread).await?;
        }
        Ok((thread, app))
    }

    /// Reads the policy of an app; one that has none has an empty one.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn app_policy(self, app: &AppId) -> Result<AppPolicy, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &app.as_str()];
        let rows = self
            .store
            .pool
            .within(self.caller, query!("policies/get"), params)
            .await?;
        let updated = rows.first().map(|row| column(row, "updated_at"));
        Ok(AppPolicy {
            app: app.clone(),
            policy: first_policy(&rows)?,
            updated: updated.transpose()?,
        })
    }

    /// Replaces the policy of an app.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn set_app_policy(
        self,
        app: &AppId,
        policy: &MemoryPolicy,
    ) -> Result<AppPolicy, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &app.as_str(), &Json(policy)];
        let row = only(
            self.store
                .pool
                .within(self.caller, query!("policies/set"), params)
                .await?,
        )?;
        Ok(AppPolicy {
            app: app.clone(),
            policy: column::<Json<_>>(&row, "policy")?.0,
            updated: Some(column(&row, "updated_at")?),
        })
    }

    /// Removes the policy of an app; whether it had one.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn delete_app_policy(self, app: &AppId) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &app.as_str()];
        let rows = self
            .store
            .pool
            .within(self.caller, query!("policies/delete"), params)
            .await?;
        Ok(!rows.is_empty())
    }

    /// Lists the apps that have a policy, the one set first first, after the
    /// key `after`; 0 for the first page.
    ///
    /// # Errors
    /// Only those of the database.
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
                let policy = AppPolicy {
                    app: AppId::new(column::<String>(row, "app_id")?),
                    policy: column::<Json<_>>(row, "policy")?.0,
                    updated: Some(column(row, "updated_at")?),
                };
                Ok((column(row, "ordinal")?, policy))
            })
            .collect::<Result<_, StoreError>>()?;
        Ok(Page::cut(policies, limit))
    }
}

/// Reads the thread of a session, if there is one, and the policy of its app.
pub(crate) fn session_policies_of(
    threads: &[Row],
    policies: &[Row],
) -> Result<(Option<Thread>, MemoryPolicy), StoreError> {
    let thread = match one_thread(threads) {
        Ok(thread) => Some(thread),
        Err(StoreError::ThreadNotFound) => None,
        Err(error) => return Err(error),
    };
    Ok((thread, first_policy(policies)?))
}

fn first_policy(rows: &[Row]) -> Result<MemoryPolicy, StoreError> {
    match rows.first() {
        Some(row) => Ok(column::<Json<MemoryPolicy>>(row, "policy")?.0),
        None => Ok(MemoryPolicy::default()),
    }
}

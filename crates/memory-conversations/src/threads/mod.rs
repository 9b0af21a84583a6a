//! Threads and their branches.

mod ephemeral;
mod export;
pub(crate) mod head;
mod list;
pub(crate) mod open;
mod owners;

use std::time::Duration;

use memory_contract::{
    ThreadId,
    json::JsonObject,
    message::Branch,
    policy::PolicyChange,
    precondition::Precondition,
    revision::Revision,
    thread::{Session, Thread},
};
use memory_database::{
    Page, StoreError, ThreadError,
    page::one_more,
    rows::{self, GET_THREAD, column, one_thread, only, optional_id, scalar},
    session_digest,
};
use memory_postgres::{Params, query};
use tokio::time::sleep;
use tokio_postgres::{Row, types::Json};

use crate::{ThreadStore, erasures::erase_now};

pub use self::ephemeral::{EphemeralStats, used};
pub use self::list::{ThreadListQuery, ThreadPlace, ThreadQuery};
pub use self::open::{NewThread, OPEN_THREAD, Opening};

/// Rows, about, that clearing a thread erases in one transaction; more are erased in steps.
const CLEARED_AT_ONCE: i64 = 20_000;
/// The pause between two looks whether a thread is cleared.
const CLEARING_POLL: Duration = Duration::from_millis(100);

/// The result of [`ThreadStore::resolve_thread`](crate::ThreadStore::resolve_thread).
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The thread of the session.
    pub thread: Thread,
    /// Whether this call created it.
    pub created: bool,
}

/// A change of a thread. `None` leaves a field unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadChange {
    /// The new label.
    pub title: Option<String>,
    /// Metadata that replaces the old metadata.
    pub metadata: Option<JsonObject>,
    /// The new time to live from now; `Some(None)` removes the expiry.
    pub ttl: Option<Option<Duration>>,
    /// The change of the policy; an empty one leaves it unchanged.
    pub policy: PolicyChange,
}

/// The result of an erasure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erased {
    /// Readable messages erased by this call.
    pub message_count: i64,
    /// The revision at which the index has removed them.
    pub revision: Revision,
}

impl ThreadStore<'_> {
    /// Creates a thread.
    ///
    /// # Errors
    /// `ThreadError::Exists` where the session has one; `ThreadError::EphemeralFull`.
    pub async fn create_thread(self, thread: &NewThread) -> Result<Thread, StoreError> {
        let resolved = self.resolve_thread(thread).await?;
        if resolved.created {
            Ok(resolved.thread)
        } else {
            Err(StoreError::Thread(ThreadError::Exists))
        }
    }

    /// Finds the thread of a session, or creates it. Concurrent callers get
    /// the same thread. One that has expired is erased, and a new one created.
    ///
    /// # Errors
    /// `ThreadError::EphemeralFull`.
    pub async fn resolve_thread(self, thread: &NewThread) -> Result<Resolved, StoreError> {
        let opening = Opening::of(self.caller, ThreadId::new(), thread, &self.store.ephemeral);
        let params = &opening.params();
        let row = only(
            self.store
                .pool
                .call(self.caller, OPEN_THREAD, params)
                .await?,
        )?;
        match column(&row, "status")? {
            "ok" => {
                let created: bool = column(&row, "created")?;
                let mut thread = rows::thread(&row)?;
                if !created {
                    used(self.store, self.caller, &mut thread).await?;
                }
                Ok(Resolved { created, thread })
            }
            "ephemeral_full" => Err(StoreError::Thread(ThreadError::EphemeralFull)),
            other => Err(rows::unknown_status(other)),
        }
    }

    /// Reads a thread.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn get_thread(self, thread: ThreadId) -> Result<Thread, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid()];
        let get = self.store.pool.within(self.caller, GET_THREAD, params);
        let mut thread = one_thread(&get.await?)?;
        used(self.store, self.caller, &mut thread).await?;
        Ok(thread)
    }

    /// Reads the thread of a session.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn find_thread(self, session: &Session) -> Result<Thread, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &session_digest(session)];
        let get = self
            .store
            .pool
            .within(self.caller, query!("threads/find"), params);
        let mut thread = one_thread(&get.await?)?;
        used(self.store, self.caller, &mut thread).await?;
        Ok(thread)
    }

    /// Changes a thread and returns it.
    ///
    /// # Errors
    /// `ThreadNotFound`, `EtagChanged`.
    pub async fn update_thread(
        self,
        thread: ThreadId,
        precondition: &Precondition,
        change: &ThreadChange,
    ) -> Result<Thread, StoreError> {
        let tenant = &self.caller.tenant;
        let PolicyChange {
            replace,
            set,
            clear,
        } = &change.policy;
        let (name, id) = (tenant.as_str(), thread.uuid());
        let update: Params<'_> = &[
            &name,
            &id,
            &change.title,
            &change.metadata.as_ref().map(Json),
            &change.ttl.is_some(),
            &change.ttl.flatten().map(|ttl| ttl.as_secs_f64()),
            replace,
            clear,
            &(!change.policy.is_empty()).then_some(Json(set)),
            &precondition.as_sql(),
        ];
        let get: Params<'_> = &[&name, &id];
        let queries = [(query!("threads/update"), update), (GET_THREAD, get)];
        let results = self.store.pool.within_all(self.caller, &queries).await?;
        let [updated, found] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        match updated.first() {
            Some(row) => rows::thread(row),
            None => Err(StoreError::EtagChanged {
                etag: Some(one_thread(found)?.etag),
            }),
        }
    }

    /// Erases all messages of a thread and keeps the thread. Idempotent. A large thread is
    /// hidden until its rows are erased, by workers if the caller stops waiting.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn clear_thread(self, thread: ThreadId) -> Result<Erased, StoreError> {
        let (tenant, id, clear) = (&self.caller.tenant, thread.uuid(), query!("threads/clear"));
        let (name, actor) = (tenant.as_str(), &self.caller.actor);
        let params: Params<'_> = &[&name, actor, &id, &CLEARED_AT_ONCE];
        let row = only(self.store.pool.call(self.caller, clear, params).await?)?;
        self.conversations.windows.forget(tenant, thread).await;
        let erased = erased(thread, &row)?;
        let mut clearing = column::<&str>(&row, "status")? == "clearing";
        let params: Params<'_> = &[&name, &id];
        while clearing {
            erase_now(self.store, tenant, id).await;
            sleep(CLEARING_POLL).await;
            let check = query!("threads/is_clearing");
            let found = self.store.pool.within(self.caller, check, params);
            clearing = scalar(&only(found.await?)?)?;
        }
        Ok(erased)
    }

    /// Erases a thread with everything in it: at once for readers. Its rows are erased by this
    /// call as far as that goes in two seconds, and the rest by workers.
    ///
    /// # Errors
    /// `ThreadNotFound`, also on the second call.
    pub async fn delete_thread(self, thread: ThreadId) -> Result<Erased, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &self.caller.actor, &thread.uuid(), &false];
        let delete = query!("threads/delete");
        let found = self.store.pool.call(self.caller, delete, params).await?;
        self.conversations.windows.forget(tenant, thread).await;
        let erased = erased(thread, &only(found)?)?;
        erase_now(self.store, tenant, thread.uuid()).await;
        Ok(erased)
    }

    /// Lists the branches of a thread, the oldest first, after the branch
    /// `after`; 0 for the first page.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn list_branches(
        self,
        thread: ThreadId,
        after: i32,
        limit: u32,
    ) -> Result<Page<Branch, i32>, StoreError> {
        let tenant = &self.caller.tenant;
        let (name, id) = (tenant.as_str(), thread.uuid());
        let limit_and_one = one_more(limit);
        let exists: Params<'_> = &[&name, &id];
        let list: Params<'_> = &[&name, &id, &after, &limit_and_one];
        let results = self
            .store
            .pool
            .within_all(
                self.caller,
                &[(GET_THREAD, exists), (query!("branches/list"), list)],
            )
            .await?;
        let [thread_rows, branch_rows] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        one_thread(thread_rows)?;
        let branches = branch_rows.iter().map(branch).collect::<Result<_, _>>()?;
        Ok(Page::cut(branches, limit))
    }
}

fn branch(row: &Row) -> Result<(i32, Branch), StoreError> {
    let branch: i32 = column(row, "branch")?;
    Ok((
        branch,
        Branch {
            branch,
            head: optional_id(row, "head_id")?,
            fork: optional_id(row, "fork_id")?,
            message_count: column(row, "message_count")?,
            depth: column(row, "depth")?,
            active: column(row, "active")?,
            created: column(row, "created_at")?,
        },
    ))
}

fn erased(thread: ThreadId, row: &Row) -> Result<Erased, StoreError> {
    match column(row, "status")? {
        "ok" | "clearing" => Ok(Erased {
            message_count: column(row, "message_count")?,
            revision: Revision {
                thread,
                change: column(row, "revision")?,
            },
        }),
        "thread_not_found" => Err(StoreError::ThreadNotFound),
        other => Err(rows::unknown_status(other)),
    }
}

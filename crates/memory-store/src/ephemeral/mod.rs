//! Threads that live in the memory of this process alone. They do what stored
//! threads do; a property test compares the two. Nothing of them is written,
//! and no log line has anything of their content.
//!
//! One lock guards all of them. It is held while a tree is walked and never
//! across an await; what is returned is copied after it.

mod appending;
mod conversation;
mod prepared;
mod reading;
mod search;
mod table;

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use memory_contract::{
    Branch, Message, MessageFilter, MessageId, Session, TenantId, Thread, ThreadId,
};
use metrics::gauge;
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    Append, Appended, EphemeralConfig, Erased, History, Hydrated, MessageQuery, Neighbor,
    NewThread, Page, Recent, Resolved, Revision, StoreError, TextMatch, ThreadChange, append,
    message::Path, words,
};
use conversation::{Conversation, Ids};
use prepared::Prepared;
use table::Table;

/// The answer to a call about a thread; `None` where the thread is no ephemeral
/// one, and the database has to be asked.
type Answer<T> = Option<Result<T, StoreError>>;

/// The ephemeral threads. A clone shares them.
#[derive(Clone)]
pub(crate) struct Ephemeral {
    shared: Arc<Shared>,
}

struct Shared {
    config: EphemeralConfig,
    /// How many threads there are, so that nobody waits for a lock where there
    /// are none.
    count: AtomicUsize,
    table: Mutex<Table>,
}

impl Ephemeral {
    /// No threads yet. Those that nobody uses are swept out in the background
    /// while this or a clone of it lives.
    pub(crate) fn new(config: &EphemeralConfig) -> Self {
        let shared = Arc::new(Shared {
            config: config.clone(),
            count: AtomicUsize::new(0),
            table: Mutex::default(),
        });
        #[expect(clippy::disallowed_methods, reason = "ends with the store")]
        tokio::spawn(sweep(Arc::downgrade(&shared), config.idle_ttl));
        Self { shared }
    }

    /// Whether the tenant has such an ephemeral thread. That is no use of it.
    pub(crate) fn has(&self, tenant: &TenantId, thread: ThreadId) -> bool {
        !self.is_empty() && self.lock().lives(&self.shared.config, tenant, thread)
    }

    /// The thread of a session.
    pub(crate) fn find(&self, tenant: &TenantId, session: &Session) -> Option<Thread> {
        if self.is_empty() {
            return None;
        }
        self.lock().find(&self.shared.config, tenant, session)
    }

    /// Finds the thread of a session, or creates it.
    pub(crate) fn resolve(
        &self,
        tenant: &TenantId,
        new: &NewThread,
    ) -> Result<Resolved, StoreError> {
        let mut table = self.lock();
        let resolved = table.resolve(&self.shared.config, tenant, new);
        self.measure(&table);
        resolved
    }

    pub(crate) fn get(&self, tenant: &TenantId, thread: ThreadId) -> Option<Thread> {
        self.read(tenant, thread, |conversation| conversation.thread.clone())
    }

    pub(crate) fn update(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        change: &ThreadChange,
    ) -> Answer<Thread> {
        self.change(tenant, thread, |conversation, _, room| {
            conversation.update(change, room)
        })
    }

    pub(crate) fn append(&self, tenant: &TenantId, append: &Append) -> Answer<Appended> {
        if !self.has(tenant, append.thread) {
            return None;
        }
        let prepare = |message| Prepared::of(append.thread, message);
        let prepared: Vec<Prepared> = append.messages.iter().map(prepare).collect();
        let hash = append.request_id.map(|_| append::content_hash(append));
        let needed = appending::most_bytes(&prepared);
        let config = &self.shared.config;
        let mut table = self.lock();
        if needed > table.room(config) {
            table.sweep(config.idle_ttl);
        }
        let done = table.with(config, tenant, append.thread, |conversation, ids, room| {
            conversation.append(append, prepared, hash, ids, room)
        });
        self.measure(&table);
        done
    }

    pub(crate) fn delete_message(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        message: MessageId,
    ) -> Answer<Revision> {
        self.change(tenant, thread, |conversation, _, _| {
            conversation.delete_message(message)
        })
    }

    /// Makes a message the head; `expected` is the head that the caller
    /// believes in.
    pub(crate) fn set_head(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        message: MessageId,
        expected: Option<Option<MessageId>>,
    ) -> Answer<Thread> {
        self.change(tenant, thread, |conversation, _, _| {
            conversation.set_head(message, expected)
        })
    }

    pub(crate) fn clear(&self, tenant: &TenantId, thread: ThreadId) -> Option<Erased> {
        self.change(tenant, thread, |conversation, ids, _| {
            conversation.clear(ids)
        })
    }

    pub(crate) fn delete(&self, tenant: &TenantId, thread: ThreadId) -> Option<Erased> {
        if !self.has(tenant, thread) {
            return None;
        }
        let mut table = self.lock();
        let erased = table.remove(tenant, thread);
        self.measure(&table);
        erased
    }

    pub(crate) fn branches(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        after: i32,
        limit: u32,
    ) -> Option<Page<Branch, i32>> {
        self.read(tenant, thread, |conversation| {
            conversation.branches(after, limit)
        })
    }

    pub(crate) fn message(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        message: MessageId,
    ) -> Answer<Message> {
        let found = self.read(tenant, thread, |conversation| conversation.get(message))?;
        Some(found.map(Arc::unwrap_or_clone))
    }

    pub(crate) fn list(
        &self,
        tenant: &TenantId,
        query: &MessageQuery,
    ) -> Option<Page<Message, i64>> {
        let Page { items, next } = self.read(tenant, query.thread, |conversation| {
            conversation.list(query)
        })?;
        Some(Page {
            items: copied(items),
            next,
        })
    }

    pub(crate) fn history(&self, tenant: &TenantId, path: &Path) -> Answer<History> {
        let found = self.read(tenant, path.thread, |conversation| {
            conversation.history(path)
        })?;
        Some(found.map(|(messages, older)| History {
            messages: copied(messages),
            older,
        }))
    }

    pub(crate) fn recent(&self, tenant: &TenantId, path: &Path) -> Answer<Recent> {
        let found = self.read(tenant, path.thread, |conversation| {
            let (messages, _) = conversation.history(path)?;
            Ok((conversation.thread.clone(), conversation.ordinal, messages))
        })?;
        Some(found.map(|(thread, thread_ordinal, mut messages)| {
            messages.reverse();
            Recent {
                thread,
                thread_ordinal,
                messages: copied(messages),
            }
        }))
    }

    pub(crate) fn hydrate(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        head: Option<MessageId>,
        ids: &[MessageId],
    ) -> Option<Vec<Hydrated>> {
        let (thread_ordinal, found) = self.read(tenant, thread, |conversation| {
            (conversation.ordinal, conversation.hydrate(head, ids))
        })?;
        let found = found.into_iter().map(|(message, active)| Hydrated {
            message: Arc::unwrap_or_clone(message),
            thread_ordinal,
            active,
        });
        Some(found.collect())
    }

    pub(crate) fn neighbors(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        head: Option<MessageId>,
        anchors: &[MessageId],
        before: u32,
        after: u32,
    ) -> Option<Vec<Neighbor>> {
        let (thread_ordinal, found) = self.read(tenant, thread, |conversation| {
            let found = conversation.neighbors(head, anchors, before as usize, after as usize);
            (conversation.ordinal, found)
        })?;
        let found = found.into_iter().map(|(anchor, offset, message)| Neighbor {
            anchor,
            offset,
            message: Arc::unwrap_or_clone(message),
            thread_ordinal,
        });
        Some(found.collect())
    }

    pub(crate) fn search(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        query: &str,
        filter: &MessageFilter,
        limit: u32,
    ) -> Option<Vec<TextMatch>> {
        let candidates = self.read(tenant, thread, |conversation| {
            conversation.candidates(filter)
        })?;
        let query = search::words(&words::prepare(query));
        Some(search::rank(&query, &candidates, limit))
    }

    /// Reads from a thread.
    fn read<T>(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        work: impl FnOnce(&Conversation) -> T,
    ) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.lock()
            .with(&self.shared.config, tenant, thread, |conversation, _, _| {
                work(conversation)
            })
    }

    /// Changes a thread.
    fn change<T>(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        work: impl FnOnce(&mut Conversation, &mut Ids, usize) -> T,
    ) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut table = self.lock();
        let done = table.with(&self.shared.config, tenant, thread, work);
        self.measure(&table);
        done
    }

    fn is_empty(&self) -> bool {
        self.shared.count.load(Ordering::Acquire) == 0
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.shared.lock()
    }

    fn measure(&self, table: &Table) {
        self.shared.measure(table);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn measure(&self, table: &Table) {
        self.count.store(table.threads, Ordering::Release);
        gauge!("recollect_ephemeral_threads").set(table.threads as f64);
        gauge!("recollect_ephemeral_bytes").set(table.bytes as f64);
    }
}

impl fmt::Debug for Ephemeral {
    /// Only the number: the rest is content.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.shared.count.load(Ordering::Relaxed);
        f.debug_struct("Ephemeral")
            .field("threads", &count)
            .finish()
    }
}

fn copied(messages: Vec<Arc<Message>>) -> Vec<Message> {
    messages.into_iter().map(Arc::unwrap_or_clone).collect()
}

/// Drops threads that nobody uses, until the store is gone. That they are gone
/// is seen at once; this gives their memory back.
async fn sweep(shared: Weak<Shared>, idle_ttl: Duration) {
    let pause = (idle_ttl / 4).clamp(Duration::from_millis(250), Duration::from_secs(30));
    let mut ticks = interval(pause);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        if shared.count.load(Ordering::Acquire) == 0 {
            continue;
        }
        let mut table = shared.lock();
        table.sweep(idle_ttl);
        shared.measure(&table);
    }
}

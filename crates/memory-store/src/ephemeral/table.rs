//! All threads in memory, tenant by tenant, and what they take together.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use memory_contract::{Session, TenantId, Thread, ThreadId};

use super::conversation::{Conversation, Ids};
use crate::{EphemeralConfig, Erased, NewThread, Resolved, StoreError};

/// In the order of creation these threads come after all that are stored: they
/// are younger than most, and no number is lost by it.
const FIRST_ORDINAL: i64 = 1 << 62;

/// The threads of all tenants.
#[derive(Default)]
pub(super) struct Table {
    tenants: HashMap<TenantId, Tenant>,
    pub(super) threads: usize,
    /// About how many bytes all of it takes.
    pub(super) bytes: usize,
    created: i64,
}

/// One tenant's threads. Nothing here leads to another tenant's.
#[derive(Default)]
struct Tenant {
    threads: HashMap<ThreadId, Conversation>,
    sessions: HashMap<Session, ThreadId>,
    ids: Ids,
}

impl Table {
    /// Works on a thread, which uses it. A thread whose time has come is gone.
    pub(super) fn with<T>(
        &mut self,
        config: &EphemeralConfig,
        tenant: &TenantId,
        thread: ThreadId,
        work: impl FnOnce(&mut Conversation, &mut Ids, usize) -> T,
    ) -> Option<T> {
        if !self.lives(config, tenant, thread) {
            self.remove(tenant, thread);
        }
        let room = self.room(config);
        let Tenant { threads, ids, .. } = self.tenants.get_mut(tenant)?;
        let conversation = threads.get_mut(&thread)?;
        let before = conversation.bytes;
        conversation.used = Instant::now();
        let done = work(conversation, ids, room);
        self.bytes = (self.bytes + conversation.bytes).saturating_sub(before);
        Some(done)
    }

    /// Whether there is such a thread, and its time has not come.
    pub(super) fn lives(
        &self,
        config: &EphemeralConfig,
        tenant: &TenantId,
        thread: ThreadId,
    ) -> bool {
        self.tenants
            .get(tenant)
            .and_then(|tenant| tenant.threads.get(&thread))
            .is_some_and(|conversation| conversation.lives(config.idle_ttl))
    }

    /// The bytes that are left.
    pub(super) fn room(&self, config: &EphemeralConfig) -> usize {
        let max = usize::try_from(config.max_bytes).unwrap_or(usize::MAX);
        max.saturating_sub(self.bytes)
    }

    /// The thread of a session.
    pub(super) fn find(
        &mut self,
        config: &EphemeralConfig,
        tenant: &TenantId,
        session: &Session,
    ) -> Option<Thread> {
        let thread = *self.tenants.get(tenant)?.sessions.get(session)?;
        self.with(config, tenant, thread, |conversation, _, _| {
            conversation.thread.clone()
        })
    }

    /// Finds the thread of a session, or creates it.
    pub(super) fn resolve(
        &mut self,
        config: &EphemeralConfig,
        tenant: &TenantId,
        new: &NewThread,
    ) -> Result<Resolved, StoreError> {
        if let Some(thread) = self.find(config, tenant, &new.session) {
            return Ok(Resolved {
                thread,
                created: false,
            });
        }
        let conversation = Conversation::new(new, FIRST_ORDINAL + self.created);
        let fits = |table: &Self| {
            table.threads < config.max_threads && conversation.bytes <= table.room(config)
        };
        if !fits(self) {
            self.sweep(config.idle_ttl);
        }
        if !fits(self) {
            return Err(StoreError::EphemeralFull);
        }
        self.created += 1;
        self.threads += 1;
        self.bytes += conversation.bytes;
        let thread = conversation.thread.clone();
        let Tenant {
            threads, sessions, ..
        } = self.tenants.entry(tenant.clone()).or_default();
        sessions.insert(new.session.clone(), thread.id);
        threads.insert(thread.id, conversation);
        Ok(Resolved {
            thread,
            created: true,
        })
    }

    /// Drops a thread with everything in it.
    pub(super) fn remove(&mut self, tenant: &TenantId, thread: ThreadId) -> Option<Erased> {
        let Tenant {
            threads,
            sessions,
            ids,
        } = self.tenants.get_mut(tenant)?;
        let mut conversation = threads.remove(&thread)?;
        sessions.remove(&conversation.thread.session);
        self.threads -= 1;
        self.bytes = self.bytes.saturating_sub(conversation.bytes);
        let erased = conversation.forget(ids);
        if threads.is_empty() {
            self.tenants.remove(tenant);
        }
        Some(erased)
    }

    /// Drops all threads whose time has come, and answers that nobody will ask
    /// for again.
    pub(super) fn sweep(&mut self, idle_ttl: Duration) {
        let mut dead = Vec::new();
        for (tenant, Tenant { threads, ids, .. }) in &mut self.tenants {
            for (thread, conversation) in threads {
                if !conversation.lives(idle_ttl) {
                    dead.push((tenant.clone(), *thread));
                    continue;
                }
                let before = conversation.bytes;
                conversation.forget_requests(ids);
                self.bytes = (self.bytes + conversation.bytes).saturating_sub(before);
            }
        }
        for (tenant, thread) in dead {
            self.remove(&tenant, thread);
        }
    }
}

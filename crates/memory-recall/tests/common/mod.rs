//! A store in memory, and one that fails when it is told to.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use memory_contract::{
    AppId, Memory, MemoryFilter, MemoryId, MemoryOrigin, MemoryOwner, MemoryType, Message,
    MessageFilter, MessageId, Part, Role, Session, SessionKey, TenantId, Thread, ThreadId, UserId,
};
use memory_recall::{Outbox, Source};
use memory_store::{
    Claim, Failure, Freshness, Hydrated, IndexRecord, Job, JobKind, LeaseId, MemoryMatch,
    MemoryRecord, Neighbor, OutboxStats, Recent, Revision, Scope, StoreError, TextMatch,
};
use serde_json::{Map, Value};
use time::OffsetDateTime;
use uuid::Uuid;

/// What a test waits for that nobody has promised a time for: long, because the
/// machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again and again until it is so.
///
/// # Panics
/// If it is not after [`PATIENCE`].
pub async fn eventually(what: &str, met: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !met().await {
        assert!(start.elapsed() < PATIENCE, "never came: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The one tenant of most tests.
pub fn tenant() -> TenantId {
    TenantId::new("acme")
}

/// A store in memory. Clones share it.
#[derive(Clone, Default)]
pub struct FakeStore {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    threads: Vec<(TenantId, Thread)>,
    messages: Vec<(TenantId, Message)>,
    inactive: HashSet<MessageId>,
    jobs: Vec<Queued>,
    dead: Vec<(Job, String)>,
    next_job: i64,
    down: bool,
    reads: usize,
    erase_on_load: Option<MessageId>,
    memories: Vec<(TenantId, Memory)>,
    used: Vec<MemoryId>,
}

struct Queued {
    job: Job,
    lease: Option<LeaseId>,
    not_before: OffsetDateTime,
}

/// What to append.
pub struct Said<'a> {
    pub role: Role,
    pub name: &'a str,
    pub text: &'a str,
    pub metadata: Map<String, Value>,
    pub time: OffsetDateTime,
}

impl<'a> Said<'a> {
    pub fn new(role: Role, text: &'a str) -> Self {
        Self {
            role,
            name: "",
            text,
            metadata: Map::new(),
            time: OffsetDateTime::now_utc(),
        }
    }
}

impl FakeStore {
    pub fn thread(&self, tenant: &TenantId, app: &str, user: &str) -> ThreadId {
        let id = ThreadId::new();
        let now = OffsetDateTime::now_utc();
        let thread = Thread {
            id,
            session: Session {
                app: AppId::new(app),
                user: UserId::new(user),
                key: SessionKey::new(id.to_string()),
            },
            title: String::new(),
            metadata: Map::new(),
            last_seq: 0,
            head: None,
            message_count: 0,
            created: now,
            updated: now,
            expires: None,
            policy: Default::default(),
            ephemeral: false,
        };
        self.lock().threads.push((tenant.clone(), thread));
        id
    }

    pub fn say(&self, tenant: &TenantId, thread: ThreadId, role: Role, text: &str) -> MessageId {
        self.append(tenant, thread, Said::new(role, text)).0
    }

    pub fn append(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        said: Said<'_>,
    ) -> (MessageId, Revision) {
        let parts = vec![Part::Text(said.text.to_owned())];
        self.append_parts(tenant, thread, said, parts)
    }

    pub fn append_parts(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        said: Said<'_>,
        parts: Vec<Part>,
    ) -> (MessageId, Revision) {
        let mut inner = self.lock();
        let (last_seq, parent) = {
            let (_, found) = inner
                .threads
                .iter_mut()
                .find(|(_, found)| found.id == thread)
                .unwrap();
            found.last_seq += 1;
            (found.last_seq, found.head)
        };
        let id = MessageId::new();
        let message = Message {
            id,
            thread,
            parent,
            seq: last_seq,
            branch: 1,
            depth: i32::try_from(last_seq).unwrap(),
            role: said.role,
            name: said.name.to_owned(),
            tokens: i32::try_from(said.text.len() / 4).unwrap() + 4,
            parts,
            metadata: said.metadata,
            created: said.time,
        };
        inner.messages.push((tenant.clone(), message));
        let (_, found) = inner
            .threads
            .iter_mut()
            .find(|(_, found)| found.id == thread)
            .unwrap();
        found.head = Some(id);
        let change = inner.queue(tenant, thread, last_seq, JobKind::Upsert(id));
        (id, Revision { thread, change })
    }

    /// Stores a memory.
    pub fn remember(&self, tenant: &TenantId, user: &str, text: &str) -> MemoryId {
        let mut inner = self.lock();
        let id = MemoryId::new();
        let now = OffsetDateTime::now_utc();
        let memory = Memory {
            id,
            owner: MemoryOwner {
                app: AppId::new("app"),
                user: UserId::new(user),
            },
            text: text.to_owned(),
            kind: MemoryType::Semantic,
            topics: Vec::new(),
            entities: Vec::new(),
            event: None,
            origin: MemoryOrigin::Caller,
            record: String::new(),
            thread: None,
            sources: Vec::new(),
            pinned: false,
            valid_from: now,
            valid_until: None,
            superseded_by: None,
            made_by: String::new(),
            strategy: None,
            version: 1,
            created: now,
            updated: now,
            persisted: None,
            last_used: None,
            ordinal: inner.memories.len() as i64,
        };
        inner.memories.push((tenant.clone(), memory));
        inner.queue(tenant, Uuid::nil().into(), 0, JobKind::UpsertMemory(id));
        id
    }

    /// Erases a memory, without telling the index where it does so silently.
    pub fn forget(&self, tenant: &TenantId, memory: MemoryId, silently: bool) {
        let mut inner = self.lock();
        inner.memories.retain(|(_, found)| found.id != memory);
        if !silently {
            let nil = Uuid::nil().into();
            inner.queue(tenant, nil, 0, JobKind::DeleteMemory(memory));
        }
    }

    /// Ends the validity of a memory without telling the index.
    pub fn supersede(&self, memory: MemoryId) {
        let mut inner = self.lock();
        let found = inner.memories.iter_mut().find(|(_, one)| one.id == memory);
        found.unwrap().1.valid_until = Some(OffsetDateTime::now_utc());
    }

    /// Whether the index has told that it knows a memory.
    pub fn persisted(&self, memory: MemoryId) -> bool {
        let inner = self.lock();
        let mut all = inner.memories.iter();
        all.any(|(_, one)| one.id == memory && one.persisted.is_some())
    }

    /// The memories that were returned.
    pub fn used(&self) -> Vec<MemoryId> {
        self.lock().used.clone()
    }

    /// Erases a message.
    pub fn erase(&self, tenant: &TenantId, message: MessageId) {
        self.lock().erase(tenant, message);
    }

    /// Erases a message without telling the index: its deletion is on its way.
    pub fn erase_silently(&self, message: MessageId) {
        self.lock()
            .messages
            .retain(|(_, found)| found.id != message);
    }

    pub fn clear(&self, tenant: &TenantId, thread: ThreadId) {
        let mut inner = self.lock();
        inner
            .messages
            .retain(|(_, message)| message.thread != thread);
        let (_, found) = inner
            .threads
            .iter_mut()
            .find(|(_, found)| found.id == thread)
            .unwrap();
        found.head = None;
        let last_seq = found.last_seq;
        inner.queue(tenant, thread, last_seq, JobKind::Purge);
    }

    /// Puts a message on a branch that is not active.
    pub fn abandon(&self, message: MessageId) {
        self.lock().inactive.insert(message);
    }

    /// Erases the message just when it has been loaded for indexing.
    pub fn erase_on_load(&self, message: MessageId) {
        self.lock().erase_on_load = Some(message);
    }

    /// Claims everything so many times, with a worker that dies each time.
    pub fn claim_and_die(&self, times: i32) {
        for queued in &mut self.lock().jobs {
            queued.job.attempts += times;
        }
    }

    pub fn set_down(&self, down: bool) {
        self.lock().down = down;
    }

    pub fn pending(&self) -> usize {
        self.lock().jobs.len()
    }

    pub fn dead(&self) -> Vec<(Job, String)> {
        self.lock().dead.clone()
    }

    /// Gives up a change that nobody works on.
    pub fn give_up(&self, change: i64) -> bool {
        let mut inner = self.lock();
        let waits = |queued: &Queued| {
            queued.job.id == change && queued.lease.is_none() && queued.job.attempts > 0
        };
        let Some(place) = inner.jobs.iter().position(waits) else {
            return false;
        };
        let job = inner.jobs.remove(place).job;
        inner.dead.push((job, "refused".to_owned()));
        true
    }

    /// Reads answered so far.
    pub fn reads(&self) -> usize {
        self.lock().reads
    }

    pub fn message(&self, message: MessageId) -> Message {
        self.lock()
            .messages
            .iter()
            .find(|(_, found)| found.id == message)
            .unwrap()
            .1
            .clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    fn read(&self) -> Result<std::sync::MutexGuard<'_, Inner>, StoreError> {
        let mut inner = self.lock();
        if inner.down {
            return Err(StoreError::Unavailable {
                source: "down".into(),
            });
        }
        inner.reads += 1;
        Ok(inner)
    }
}

impl Inner {
    fn queue(&mut self, tenant: &TenantId, thread: ThreadId, seq: i64, kind: JobKind) -> i64 {
        self.next_job += 1;
        let now = OffsetDateTime::now_utc();
        let job = Job {
            id: self.next_job,
            tenant: tenant.clone(),
            thread,
            seq,
            kind,
            attempts: 0,
            created: now,
        };
        self.jobs.push(Queued {
            job,
            lease: None,
            not_before: now,
        });
        self.next_job
    }

    fn erase(&mut self, tenant: &TenantId, message: MessageId) {
        let Some(place) = self
            .messages
            .iter()
            .position(|(_, found)| found.id == message)
        else {
            return;
        };
        let (_, message) = self.messages.remove(place);
        self.queue(
            tenant,
            message.thread,
            message.seq,
            JobKind::Delete(message.id),
        );
    }

    fn ordinal(&self, thread: ThreadId) -> i64 {
        let place = self
            .threads
            .iter()
            .position(|(_, found)| found.id == thread)
            .unwrap();
        i64::try_from(place).unwrap()
    }

    fn within<'a>(
        &'a self,
        tenant: &'a TenantId,
        scope: &'a Scope,
    ) -> impl Iterator<Item = &'a Message> + 'a {
        self.messages
            .iter()
            .filter(move |(owner, _)| owner == tenant)
            .map(|(_, message)| message)
            .filter(move |message| {
                let (_, thread) = self
                    .threads
                    .iter()
                    .find(|(_, found)| found.id == message.thread)
                    .unwrap();
                match scope {
                    Scope::Thread(id) => message.thread == *id,
                    Scope::User { app, user } => {
                        thread.session.app == *app && thread.session.user == *user
                    }
                    Scope::App(app) => thread.session.app == *app,
                }
            })
    }

    fn memories_of<'a>(
        &'a self,
        tenant: &'a TenantId,
        owner: &'a MemoryOwner,
        filter: &'a MemoryFilter,
    ) -> impl Iterator<Item = &'a Memory> + 'a {
        self.memories
            .iter()
            .filter(move |(whose, _)| whose == tenant)
            .map(|(_, memory)| memory)
            .filter(move |memory| memory.owner == *owner && (filter.superseded || memory.holds()))
    }

    fn hydrated(&self, message: &Message) -> Hydrated {
        Hydrated {
            message: message.clone(),
            thread_ordinal: self.ordinal(message.thread),
            active: !self.inactive.contains(&message.id),
        }
    }
}

#[async_trait]
impl Source for FakeStore {
    async fn thread(&self, tenant: &TenantId, thread: ThreadId) -> Result<Thread, StoreError> {
        let inner = self.read()?;
        let found = inner
            .threads
            .iter()
            .find(|(owner, found)| owner == tenant && found.id == thread);
        found
            .map(|(_, thread)| thread.clone())
            .ok_or(StoreError::ThreadNotFound)
    }

    async fn recent(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        limit: u32,
    ) -> Result<Recent, StoreError> {
        let found = Source::thread(self, tenant, thread).await?;
        let inner = self.lock();
        let mut messages: Vec<Message> = inner
            .messages
            .iter()
            .filter(|(_, message)| {
                message.thread == thread && !inner.inactive.contains(&message.id)
            })
            .map(|(_, message)| message.clone())
            .collect();
        messages.drain(..messages.len().saturating_sub(limit as usize));
        Ok(Recent {
            thread: found,
            thread_ordinal: inner.ordinal(thread),
            messages,
        })
    }

    async fn hydrate(
        &self,
        tenant: &TenantId,
        scope: &Scope,
        _head: Option<MessageId>,
        ids: &[MessageId],
    ) -> Result<Vec<Hydrated>, StoreError> {
        let inner = self.read()?;
        let messages = inner
            .within(tenant, scope)
            .filter(|message| ids.contains(&message.id));
        Ok(messages.map(|message| inner.hydrated(message)).collect())
    }

    async fn neighbors(
        &self,
        tenant: &TenantId,
        scope: &Scope,
        _head: Option<MessageId>,
        anchors: &[MessageId],
        before: u32,
        after: u32,
    ) -> Result<Vec<Neighbor>, StoreError> {
        let inner = self.read()?;
        let mut found = Vec::new();
        for anchor in inner
            .within(tenant, scope)
            .filter(|message| anchors.contains(&message.id))
        {
            for message in inner.within(tenant, &Scope::Thread(anchor.thread)) {
                let offset = message.seq - anchor.seq;
                if offset != 0 && offset >= -i64::from(before) && offset <= i64::from(after) {
                    found.push(Neighbor {
                        anchor: anchor.id,
                        offset: i32::try_from(offset).unwrap(),
                        message: message.clone(),
                        thread_ordinal: inner.ordinal(message.thread),
                    });
                }
            }
        }
        Ok(found)
    }

    async fn search_text(
        &self,
        tenant: &TenantId,
        scope: &Scope,
        query: &str,
        _filter: &MessageFilter,
        limit: u32,
    ) -> Result<Vec<TextMatch>, StoreError> {
        let inner = self.read()?;
        let query = query.to_lowercase();
        let words: Vec<&str> = query
            .split(|c: char| !c.is_alphanumeric())
            .filter(|w| w.len() > 3)
            .collect();
        let mut found: Vec<TextMatch> = inner
            .within(tenant, scope)
            .map(|message| {
                let text = memory_contract::text_of_parts(&message.parts).to_lowercase();
                let score = words.iter().filter(|word| text.contains(**word)).count() as f32;
                TextMatch {
                    id: message.id,
                    score,
                }
            })
            .filter(|found| found.score > 0.0)
            .collect();
        found.sort_by(|left, right| right.score.total_cmp(&left.score));
        found.truncate(limit as usize);
        Ok(found)
    }

    async fn hydrate_memories(
        &self,
        tenant: &TenantId,
        owner: &MemoryOwner,
        filter: &MemoryFilter,
        ids: &[MemoryId],
    ) -> Result<Vec<Memory>, StoreError> {
        let inner = self.read()?;
        let found = inner.memories_of(tenant, owner, filter);
        Ok(found.filter(|one| ids.contains(&one.id)).cloned().collect())
    }

    async fn search_memories(
        &self,
        tenant: &TenantId,
        owner: &MemoryOwner,
        query: &str,
        filter: &MemoryFilter,
        limit: u32,
    ) -> Result<Vec<MemoryMatch>, StoreError> {
        let inner = self.read()?;
        let query = query.to_lowercase();
        let matches = inner.memories_of(tenant, owner, filter).filter(|one| {
            let text = one.text.to_lowercase();
            query
                .split(' ')
                .any(|word| word.len() > 3 && text.contains(word))
        });
        Ok(matches
            .take(limit as usize)
            .map(|one| MemoryMatch {
                id: one.id,
                score: 1.0,
            })
            .collect())
    }

    fn memories_used(&self, _tenant: &TenantId, memories: &[&Memory]) {
        self.lock().used.extend(memories.iter().map(|one| one.id));
    }

    async fn freshness(
        &self,
        tenant: &TenantId,
        revision: &Revision,
    ) -> Result<Freshness, StoreError> {
        let inner = self.read()?;
        let of = |job: &Job| {
            job.tenant == *tenant && job.thread == revision.thread && job.id <= revision.change
        };
        Ok(Freshness {
            pending: inner.jobs.iter().any(|queued| of(&queued.job)),
            dead_letters: inner.dead.iter().filter(|(job, _)| of(job)).count() as i64,
        })
    }
}

#[async_trait]
impl Outbox for FakeStore {
    async fn claim(&self, limit: u32, _lease: Duration) -> Result<Claim, StoreError> {
        let mut inner = self.read()?;
        let lease = LeaseId::new();
        let now = OffsetDateTime::now_utc();
        let mut jobs = Vec::new();
        for queued in &mut inner.jobs {
            if queued.lease.is_none() && queued.not_before <= now && jobs.len() < limit as usize {
                queued.lease = Some(lease);
                queued.job.attempts += 1;
                jobs.push(queued.job.clone());
            }
        }
        Ok(Claim { lease, jobs })
    }

    async fn records(
        &self,
        tenant: &TenantId,
        ids: &[MessageId],
    ) -> Result<Vec<IndexRecord>, StoreError> {
        let mut inner = self.read()?;
        let mut records = Vec::new();
        for (owner, message) in inner.messages.iter().filter(|(owner, _)| owner == tenant) {
            if !ids.contains(&message.id) {
                continue;
            }
            let (_, thread) = inner
                .threads
                .iter()
                .find(|(_, found)| found.id == message.thread)
                .unwrap();
            let mut previous: Vec<Message> = inner
                .messages
                .iter()
                .filter(|(other, before)| {
                    other == owner
                        && before.thread == message.thread
                        && (message.seq - 3..message.seq).contains(&before.seq)
                })
                .map(|(_, before)| before.clone())
                .collect();
            previous.reverse();
            records.push(IndexRecord {
                message: message.clone(),
                previous,
                app: thread.session.app.clone(),
                user: thread.session.user.clone(),
                thread_ordinal: inner.ordinal(message.thread),
            });
        }
        if let Some(message) = inner.erase_on_load.take() {
            inner.erase(tenant, message);
            // Another worker has carried out the deletion already.
            inner
                .jobs
                .retain(|queued| queued.job.kind != JobKind::Delete(message));
        }
        Ok(records)
    }

    async fn readable(
        &self,
        tenant: &TenantId,
        ids: &[MessageId],
    ) -> Result<HashSet<MessageId>, StoreError> {
        let inner = self.read()?;
        let own = inner.messages.iter().filter(|(owner, _)| owner == tenant);
        Ok(own
            .map(|(_, message)| message.id)
            .filter(|id| ids.contains(id))
            .collect())
    }

    async fn memory_records(
        &self,
        tenant: &TenantId,
        ids: &[MemoryId],
    ) -> Result<Vec<MemoryRecord>, StoreError> {
        let inner = self.read()?;
        let own = inner.memories.iter().filter(|(owner, _)| owner == tenant);
        Ok(own
            .filter(|(_, memory)| ids.contains(&memory.id))
            .map(|(_, memory)| MemoryRecord {
                id: memory.id,
                owner: memory.owner.clone(),
                text: memory.text.clone(),
                kind: memory.kind,
                topics: memory.topics.clone(),
                entities: memory.entities.clone(),
                origin: memory.origin,
                thread: memory.thread,
                holds: memory.holds(),
                event: memory.event,
                created: memory.created,
                version: memory.version,
            })
            .collect())
    }

    async fn present_memories(
        &self,
        tenant: &TenantId,
        ids: &[MemoryId],
    ) -> Result<HashSet<MemoryId>, StoreError> {
        let records = self.memory_records(tenant, ids).await?;
        Ok(records.into_iter().map(|record| record.id).collect())
    }

    async fn memories_persisted(
        &self,
        tenant: &TenantId,
        memories: &[(MemoryId, i64)],
    ) -> Result<(), StoreError> {
        let mut inner = self.read()?;
        for (owner, memory) in &mut inner.memories {
            if owner == tenant && memories.contains(&(memory.id, memory.version)) {
                memory.persisted = Some(OffsetDateTime::now_utc());
            }
        }
        Ok(())
    }

    async fn ack(&self, lease: LeaseId, ids: &[i64]) -> Result<(), StoreError> {
        let mut inner = self.read()?;
        inner
            .jobs
            .retain(|queued| queued.lease != Some(lease) || !ids.contains(&queued.job.id));
        Ok(())
    }

    async fn retry(
        &self,
        lease: LeaseId,
        failures: &[Failure],
        max_attempts: i32,
    ) -> Result<u64, StoreError> {
        let mut inner = self.read()?;
        let failures: HashMap<i64, &Failure> = failures
            .iter()
            .map(|failure| (failure.id, failure))
            .collect();
        let mut dead = Vec::new();
        inner.jobs.retain_mut(|queued| {
            let Some(failure) = failures.get(&queued.job.id) else {
                return true;
            };
            if queued.lease != Some(lease) {
                return true;
            }
            queued.lease = None;
            queued.not_before = OffsetDateTime::now_utc() + failure.delay;
            let keep = queued.job.attempts < max_attempts;
            if !keep {
                dead.push((queued.job.clone(), failure.error.clone()));
            }
            keep
        });
        let count = dead.len() as u64;
        inner.dead.extend(dead);
        Ok(count)
    }

    async fn release(&self, lease: LeaseId, ids: &[i64]) -> Result<(), StoreError> {
        let mut inner = self.read()?;
        for queued in &mut inner.jobs {
            if queued.lease == Some(lease) && ids.contains(&queued.job.id) {
                queued.lease = None;
                queued.job.attempts -= 1;
            }
        }
        Ok(())
    }

    async fn stats(&self) -> Result<OutboxStats, StoreError> {
        let inner = self.read()?;
        let oldest = inner.jobs.iter().map(|queued| queued.job.created).min();
        let lag = oldest.map_or(Duration::ZERO, |oldest| {
            (OffsetDateTime::now_utc() - oldest)
                .try_into()
                .unwrap_or_default()
        });
        Ok(OutboxStats {
            pending: inner.jobs.len() as i64,
            lag,
            dead_letters: inner.dead.len() as i64,
        })
    }

    async fn enqueue_everything(&self) -> Result<u64, StoreError> {
        let mut inner = self.read()?;
        let queued: Vec<MessageId> = inner
            .jobs
            .iter()
            .filter_map(|queued| match queued.job.kind {
                JobKind::Upsert(message) => Some(message),
                JobKind::Delete(_)
                | JobKind::Purge
                | JobKind::UpsertMemory(_)
                | JobKind::DeleteMemory(_) => None,
            })
            .collect();
        let missing: Vec<(TenantId, Message)> = inner
            .messages
            .iter()
            .filter(|(_, message)| !queued.contains(&message.id))
            .cloned()
            .collect();
        for (tenant, message) in &missing {
            inner.queue(
                tenant,
                message.thread,
                message.seq,
                JobKind::Upsert(message.id),
            );
        }
        let memories: Vec<(TenantId, MemoryId)> = inner
            .memories
            .iter()
            .filter(|(_, memory)| {
                let waits = JobKind::UpsertMemory(memory.id);
                inner.jobs.iter().all(|queued| queued.job.kind != waits)
            })
            .map(|(tenant, memory)| (tenant.clone(), memory.id))
            .collect();
        for (tenant, memory) in &memories {
            let nil = Uuid::nil().into();
            inner.queue(tenant, nil, 0, JobKind::UpsertMemory(*memory));
        }
        Ok((missing.len() + memories.len()) as u64)
    }
}

/// A UUID that is the same each time.
pub fn uuid(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

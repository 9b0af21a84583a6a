//! Converts changes in the outbox into changes of the index.

use std::collections::{HashMap, HashSet};

use memory_contract::{MemoryId, MessageId, TenantId};
use memory_store::{Caller, IndexRecord, Job, JobKind, MemoryRecord};

use super::Indexer;
use crate::embed::Urgency;
use crate::error::RecallError;
use crate::index::{Change, MemoryPoint, Point, Subject};
use crate::text;

/// Rounds of writing and rechecking: a message may be erased and appended again while
/// its change is applied.
const RECHECKS: usize = 3;

/// The messages and memories of one tenant that jobs are about.
#[derive(Default)]
struct Affected {
    messages: Vec<MessageId>,
    memories: Vec<MemoryId>,
}

/// What could be read and has been written into the index.
#[derive(Default)]
struct Indexed<'a> {
    subjects: HashSet<(&'a TenantId, Subject)>,
    /// The version in which each memory was read.
    memories: HashMap<&'a TenantId, HashMap<MemoryId, i64>>,
}

/// A loaded message or memory.
enum Loaded {
    Message(Box<IndexRecord>),
    Memory(Box<MemoryRecord>),
}

impl Affected {
    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.memories.is_empty()
    }

    fn subjects(&self) -> impl Iterator<Item = Subject> {
        let messages = self.messages.iter().copied().map(Subject::Message);
        messages.chain(self.memories.iter().copied().map(Subject::Memory))
    }
}

impl Indexer {
    /// Brings the index in line with the store for the jobs' messages and memories, then
    /// rechecks them, so that an embedding in progress does not bring back an erased
    /// message. Notes the indexed memories as persisted before their jobs are
    /// acknowledged; both are idempotent.
    pub(super) async fn apply(&self, jobs: &[Job]) -> Result<(), RecallError> {
        let mut affected: HashMap<&TenantId, Affected> = HashMap::new();
        let mut changes = Vec::new();
        for job in jobs {
            let of_tenant = affected.entry(&job.tenant).or_default();
            match job.kind {
                JobKind::Upsert(message) | JobKind::Delete(message) => {
                    of_tenant.messages.push(message);
                }
                JobKind::UpsertMemory(memory) | JobKind::DeleteMemory(memory) => {
                    of_tenant.memories.push(memory);
                }
                JobKind::Purge => changes.push(Change::Purge {
                    tenant: job.tenant.clone(),
                    thread: job.thread,
                    up_to_seq: job.seq,
                }),
            }
        }
        // A claim has either kind alone.
        let urgency = match jobs.iter().any(|job| job.bulk) {
            true => Urgency::Bulk,
            false => Urgency::Live,
        };
        for _ in 0..RECHECKS {
            let indexed = self.sync(&affected, changes, urgency).await?;
            changes = Vec::new();
            affected = self.changed_since(affected, &indexed).await?;
            for (tenant, memories) in indexed.memories {
                let memories: Vec<(MemoryId, i64)> = memories.into_iter().collect();
                self.store
                    .memories(&Caller::worker(tenant.clone()))
                    .memories_persisted(&memories)
                    .await?;
            }
            if affected.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Keeps what has become readable or unreadable since it was indexed.
    async fn changed_since<'a>(
        &self,
        affected: HashMap<&'a TenantId, Affected>,
        indexed: &Indexed<'a>,
    ) -> Result<HashMap<&'a TenantId, Affected>, RecallError> {
        let mut changed = HashMap::new();
        for (tenant, mut affected) in affected {
            let was = |subject| indexed.subjects.contains(&(tenant, subject));
            if !affected.messages.is_empty() {
                let now = self
                    .store
                    .messages(&Caller::worker(tenant.clone()))
                    .readable(&affected.messages)
                    .await?;
                affected
                    .messages
                    .retain(|id| now.contains(id) != was(Subject::Message(*id)));
            }
            if !affected.memories.is_empty() {
                let now = self
                    .store
                    .memories(&Caller::worker(tenant.clone()))
                    .present_memories(&affected.memories)
                    .await?;
                affected
                    .memories
                    .retain(|id| now.contains(id) != was(Subject::Memory(*id)));
            }
            if !affected.is_empty() {
                changed.insert(tenant, affected);
            }
        }
        Ok(changed)
    }

    /// Writes what can be read into the index and deletes the rest from it. Returns what
    /// could be read.
    async fn sync<'a>(
        &self,
        affected: &HashMap<&'a TenantId, Affected>,
        mut changes: Vec<Change>,
        urgency: Urgency,
    ) -> Result<Indexed<'a>, RecallError> {
        let mut indexed = Indexed::default();
        let mut records = Vec::new();
        for (&tenant, affected) in affected {
            for record in self.read(tenant, affected).await? {
                indexed.subjects.insert((tenant, record.subject()));
                if let Loaded::Memory(memory) = &record {
                    let versions = indexed.memories.entry(tenant).or_default();
                    versions.insert(memory.id, memory.version);
                }
                records.push((tenant, record));
            }
            changes.extend(
                affected
                    .subjects()
                    .filter(|subject| !indexed.subjects.contains(&(tenant, *subject)))
                    .map(|subject| Change::Delete {
                        tenant: tenant.clone(),
                        subject,
                    }),
            );
        }
        let mut vectors = match &self.embedder {
            Some(embedder) => {
                let texts = records.iter().map(|(_, record)| record.meaning()).collect();
                embedder.documents(texts, urgency).await?
            }
            None => Vec::new(),
        }
        .into_iter();
        changes.extend(
            records
                .into_iter()
                .map(|(tenant, record)| record.change(tenant, vectors.next())),
        );
        self.index.apply(changes).await?;
        Ok(indexed)
    }

    async fn read(
        &self,
        tenant: &TenantId,
        affected: &Affected,
    ) -> Result<Vec<Loaded>, RecallError> {
        let mut records = Vec::new();
        if !affected.messages.is_empty() {
            let found = self
                .store
                .messages(&Caller::worker(tenant.clone()))
                .index_records(&affected.messages, i32::MAX)
                .await?;
            records.extend(found.into_iter().map(Box::new).map(Loaded::Message));
        }
        if !affected.memories.is_empty() {
            let found = self
                .store
                .memories(&Caller::worker(tenant.clone()))
                .memory_records(&affected.memories)
                .await?;
            records.extend(found.into_iter().map(Box::new).map(Loaded::Memory));
        }
        Ok(records)
    }
}

impl Loaded {
    fn subject(&self) -> Subject {
        match self {
            Self::Message(record) => Subject::Message(record.message.id),
            Self::Memory(record) => Subject::Memory(record.id),
        }
    }

    /// The text that is embedded.
    fn meaning(&self) -> String {
        match self {
            Self::Message(record) => text::meaning(&record.message),
            Self::Memory(record) => record.text.clone(),
        }
    }

    fn change(self, tenant: &TenantId, dense: Option<Vec<f32>>) -> Change {
        match self {
            Self::Message(record) => Change::Upsert(Box::new(Point::of(tenant, *record, dense))),
            Self::Memory(record) => {
                Change::UpsertMemory(Box::new(MemoryPoint::of(tenant, *record, dense)))
            }
        }
    }
}

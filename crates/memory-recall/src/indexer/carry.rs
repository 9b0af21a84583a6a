//! From changes of the store to changes of the index.

use std::collections::{HashMap, HashSet};

use memory_contract::{MemoryId, MessageId, TenantId};
use memory_store::{IndexRecord, Job, JobKind, MemoryRecord};

use super::Indexer;
use crate::error::RecallError;
use crate::index::{Change, MemoryPoint, Point, Subject};
use crate::text;

/// Rounds of rechecking: a message may be erased and appended again while its
/// change is carried out.
const RECHECKS: usize = 3;

/// What jobs of one tenant are about.
#[derive(Default)]
struct Wanted {
    messages: Vec<MessageId>,
    memories: Vec<MemoryId>,
}

/// What could be read and is in the index now.
#[derive(Default)]
struct Learnt<'a> {
    subjects: HashSet<(&'a TenantId, Subject)>,
    /// Memories, with the state in which they were read.
    memories: HashMap<&'a TenantId, HashMap<MemoryId, i64>>,
}

/// What is read of a message or a memory.
enum Record {
    Message(Box<IndexRecord>),
    Memory(Box<MemoryRecord>),
}

impl Wanted {
    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.memories.is_empty()
    }

    fn subjects(&self) -> impl Iterator<Item = Subject> {
        let messages = self.messages.iter().copied().map(Subject::Message);
        messages.chain(self.memories.iter().copied().map(Subject::Memory))
    }
}

impl Indexer {
    /// Brings the index in line with the store for what the jobs are about, and
    /// looks again afterwards: what was erased meanwhile must not come back with an
    /// embedding that was on its way. Memories that the index has learnt are
    /// stamped, before their jobs are acknowledged: a worker that dies in between
    /// does both again.
    pub(super) async fn carry_out(&self, jobs: &[Job]) -> Result<(), RecallError> {
        let mut wanted: HashMap<&TenantId, Wanted> = HashMap::new();
        let mut changes = Vec::new();
        for job in jobs {
            match job.kind {
                JobKind::Upsert(message) | JobKind::Delete(message) => {
                    wanted
                        .entry(&job.tenant)
                        .or_default()
                        .messages
                        .push(message);
                }
                JobKind::UpsertMemory(memory) | JobKind::DeleteMemory(memory) => {
                    wanted.entry(&job.tenant).or_default().memories.push(memory);
                }
                JobKind::Purge => changes.push(Change::Purge {
                    tenant: job.tenant.clone(),
                    thread: job.thread,
                    up_to_seq: job.seq,
                }),
            }
        }
        for _ in 0..RECHECKS {
            let learnt = self.sync(&wanted, changes).await?;
            changes = Vec::new();
            wanted = self.moved(wanted, &learnt).await?;
            for (tenant, memories) in learnt.memories {
                let memories: Vec<(MemoryId, i64)> = memories.into_iter().collect();
                self.outbox.memories_persisted(tenant, &memories).await?;
            }
            if wanted.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// What can be read now and could not then, or the other way round.
    async fn moved<'a>(
        &self,
        wanted: HashMap<&'a TenantId, Wanted>,
        learnt: &Learnt<'a>,
    ) -> Result<HashMap<&'a TenantId, Wanted>, RecallError> {
        let mut moved = HashMap::new();
        for (tenant, mut wanted) in wanted {
            let was = |subject| learnt.subjects.contains(&(tenant, subject));
            if !wanted.messages.is_empty() {
                let now = self.outbox.readable(tenant, &wanted.messages).await?;
                wanted
                    .messages
                    .retain(|id| now.contains(id) != was(Subject::Message(*id)));
            }
            if !wanted.memories.is_empty() {
                let now = self
                    .outbox
                    .present_memories(tenant, &wanted.memories)
                    .await?;
                wanted
                    .memories
                    .retain(|id| now.contains(id) != was(Subject::Memory(*id)));
            }
            if !wanted.is_empty() {
                moved.insert(tenant, wanted);
            }
        }
        Ok(moved)
    }

    /// Indexes those that can be read, forgets the others, and tells which could
    /// be read.
    async fn sync<'a>(
        &self,
        wanted: &HashMap<&'a TenantId, Wanted>,
        mut changes: Vec<Change>,
    ) -> Result<Learnt<'a>, RecallError> {
        let mut learnt = Learnt::default();
        let mut records = Vec::new();
        for (&tenant, wanted) in wanted {
            for record in self.read(tenant, wanted).await? {
                learnt.subjects.insert((tenant, record.subject()));
                if let Record::Memory(memory) = &record {
                    let versions = learnt.memories.entry(tenant).or_default();
                    versions.insert(memory.id, memory.version);
                }
                records.push((tenant, record));
            }
            changes.extend(
                wanted
                    .subjects()
                    .filter(|subject| !learnt.subjects.contains(&(tenant, *subject)))
                    .map(|subject| Change::Delete {
                        tenant: tenant.clone(),
                        subject,
                    }),
            );
        }
        let mut vectors = match &self.embedder {
            Some(embedder) => {
                let texts = records.iter().map(|(_, record)| record.meaning()).collect();
                embedder.documents(texts).await?
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
        Ok(learnt)
    }

    async fn read(&self, tenant: &TenantId, wanted: &Wanted) -> Result<Vec<Record>, RecallError> {
        let mut records = Vec::new();
        if !wanted.messages.is_empty() {
            let found = self.outbox.records(tenant, &wanted.messages).await?;
            records.extend(found.into_iter().map(Box::new).map(Record::Message));
        }
        if !wanted.memories.is_empty() {
            let found = self.outbox.memory_records(tenant, &wanted.memories).await?;
            records.extend(found.into_iter().map(Box::new).map(Record::Memory));
        }
        Ok(records)
    }
}

impl Record {
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
            Self::Message(record) => Change::Upsert(Box::new(point(tenant, *record, dense))),
            Self::Memory(record) => {
                Change::UpsertMemory(Box::new(memory_point(tenant, *record, dense)))
            }
        }
    }
}

/// The index entry of a message.
fn point(tenant: &TenantId, record: IndexRecord, dense: Option<Vec<f32>>) -> Point {
    let IndexRecord {
        message,
        previous,
        app,
        user,
        thread_ordinal: _,
    } = record;
    Point {
        lexical: text::lexical_document(&message, &previous),
        question: text::is_question(&message),
        short: text::is_short(&message),
        message: message.id,
        tenant: tenant.clone(),
        app,
        user,
        thread: message.thread,
        seq: message.seq,
        branch: message.branch,
        depth: message.depth,
        role: message.role,
        name: message.name,
        said: message.created,
        metadata: message.metadata,
        dense,
    }
}

/// The index entry of a memory.
fn memory_point(tenant: &TenantId, record: MemoryRecord, dense: Option<Vec<f32>>) -> MemoryPoint {
    let MemoryRecord {
        id,
        owner,
        text,
        kind,
        topics,
        entities,
        origin,
        thread,
        holds,
        event,
        created,
        version: _,
    } = record;
    let labels = topics.iter().chain(&entities).map(String::as_str);
    MemoryPoint {
        lexical: text::lexical_memory(std::iter::once(text.as_str()).chain(labels), event),
        memory: id,
        tenant: tenant.clone(),
        owner,
        kind,
        topics,
        entities,
        origin,
        thread,
        holds,
        created,
        dense,
    }
}

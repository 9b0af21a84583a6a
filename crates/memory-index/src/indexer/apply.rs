//! Converts changes in the outbox into changes of the index.

use std::collections::HashMap;

use memory_contract::{MemoryId, MessageId, TenantId, ThreadId};
use memory_embed::{Embedder, TenantText, Urgency};
use memory_store::{Caller, IndexRecord, Job, JobKind, MemoryRecord};
use memory_text::meaning;

use super::error::IndexerError;
use super::state::Indexer;
use crate::point::{Change, MemoryPoint, Point, Subject, most_passages};

/// Most rounds of writing and rechecking for one batch. A further round is only needed
/// where something changed during the one before, which takes milliseconds.
const ROUNDS: usize = 10;

/// The messages and memories of one tenant that jobs change.
#[derive(Default)]
struct Affected {
    messages: Vec<MessageId>,
    memories: Vec<MemoryId>,
}

/// The points written into the index, and the content that each was made of.
type WrittenPoints<'a> = HashMap<(&'a TenantId, Subject), Inputs>;

/// Identifies the content that a point was made of. While it is the same, so is the point.
#[derive(PartialEq)]
enum Inputs {
    /// The message, and the messages before it whose words the point has. The content at a place
    /// never changes; it can be erased.
    Message(Vec<(MessageId, Place)>),
    /// The memory's version.
    Memory(i64),
}

/// A message's thread and its seq there.
type Place = (ThreadId, i64);

/// A loaded message or memory.
enum Loaded {
    Message(Box<IndexRecord>),
    Memory(Box<MemoryRecord>),
}

impl Affected {
    fn add(&mut self, subject: Subject) {
        match subject {
            Subject::Message(message) => add_new(&mut self.messages, message),
            Subject::Memory(memory) => add_new(&mut self.memories, memory),
        }
    }

    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.memories.is_empty()
    }

    fn subjects(&self) -> impl Iterator<Item = Subject> {
        let messages = self.messages.iter().copied().map(Subject::Message);
        messages.chain(self.memories.iter().copied().map(Subject::Memory))
    }
}

impl Indexer {
    /// Makes the index equal to the store for the jobs' messages and memories. Compares the written
    /// points with the store again until both are equal: meanwhile another worker may have indexed a
    /// newer version or an erasure, which a slow write overwrites. The last of all writers compares
    /// after its write, so the index ends up right in any order; a worker that dies before that has
    /// not acknowledged its jobs.
    /// Notes the indexed memories as persisted before their jobs are acknowledged; both are
    /// idempotent.
    pub(super) async fn apply(&self, jobs: &[Job]) -> Result<(), IndexerError> {
        let mut affected: HashMap<&TenantId, Affected> = HashMap::new();
        let mut changes = Vec::new();
        for job in jobs {
            let of_tenant = affected.entry(&job.tenant).or_default();
            match job.kind {
                JobKind::Upsert(message) | JobKind::Delete(message) => {
                    of_tenant.add(Subject::Message(message));
                }
                JobKind::UpsertMemory(memory) | JobKind::DeleteMemory(memory) => {
                    of_tenant.add(Subject::Memory(memory));
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
        for _ in 0..ROUNDS {
            let written = self.sync(&affected, changes, urgency).await?;
            changes = Vec::new();
            affected = self.changed_since(affected, &written).await?;
            self.note_persisted(&written).await?;
            if affected.is_empty() {
                return Ok(());
            }
        }
        Err(IndexerError::StillChanging)
    }

    /// Keeps the messages and memories whose points differ from the store by now.
    async fn changed_since<'a>(
        &self,
        affected: HashMap<&'a TenantId, Affected>,
        written: &WrittenPoints<'a>,
    ) -> Result<HashMap<&'a TenantId, Affected>, IndexerError> {
        let mut changed = HashMap::new();
        for (tenant, mut affected) in affected {
            let caller = Caller::worker(tenant.clone());
            let was = |subject| written.get(&(tenant, subject));
            if !affected.messages.is_empty() {
                let mut inputs = affected.messages.clone();
                for id in &affected.messages {
                    if let Some(Inputs::Message(of_point)) = was(Subject::Message(*id)) {
                        inputs.extend(of_point.iter().map(|(input, _)| *input));
                    }
                }
                let now = self.store.messages(&caller).places(&inputs).await?;
                affected
                    .messages
                    .retain(|id| match was(Subject::Message(*id)) {
                        Some(Inputs::Message(inputs)) => {
                            inputs.iter().any(|(id, place)| now.get(id) != Some(place))
                        }
                        Some(Inputs::Memory(_)) | None => now.contains_key(id),
                    });
            }
            if !affected.memories.is_empty() {
                let now = self
                    .store
                    .memories(&caller)
                    .memory_versions(&affected.memories)
                    .await?;
                affected.memories.retain(|id| {
                    let now = now.get(id).copied().map(Inputs::Memory);
                    was(Subject::Memory(*id)) != now.as_ref()
                });
            }
            if !affected.is_empty() {
                changed.insert(tenant, affected);
            }
        }
        Ok(changed)
    }

    async fn note_persisted(&self, written: &WrittenPoints<'_>) -> Result<(), IndexerError> {
        let mut memories: HashMap<&TenantId, Vec<(MemoryId, i64)>> = HashMap::new();
        for ((tenant, subject), inputs) in written {
            if let (Subject::Memory(id), Inputs::Memory(version)) = (subject, inputs) {
                memories.entry(*tenant).or_default().push((*id, *version));
            }
        }
        for (tenant, memories) in memories {
            self.store
                .memories(&Caller::worker(tenant.clone()))
                .memories_persisted(&memories)
                .await?;
        }
        Ok(())
    }

    /// Writes the readable messages and memories into the index and deletes the others from it.
    /// Returns the written points.
    async fn sync<'a>(
        &self,
        affected: &HashMap<&'a TenantId, Affected>,
        mut changes: Vec<Change>,
        urgency: Urgency,
    ) -> Result<WrittenPoints<'a>, IndexerError> {
        let mut written = WrittenPoints::new();
        let mut texts = Vec::new();
        // With the number of their texts.
        let mut upserts: Vec<(Change, usize)> = Vec::new();
        for portion in portions(affected, self.config.batch_size) {
            for (&tenant, affected) in &portion {
                for record in self.read(tenant, affected).await? {
                    written.insert((tenant, record.subject()), record.inputs());
                    let before = texts.len();
                    if let Some(embedder) = &self.embedder {
                        texts.extend(record.meanings(embedder).map(|text| TenantText {
                            tenant: Some(tenant.clone()),
                            text,
                        }));
                    }
                    upserts.push((record.change(tenant), texts.len() - before));
                }
                changes.extend(
                    affected
                        .subjects()
                        .filter(|subject| !written.contains_key(&(tenant, *subject)))
                        .map(|subject| Change::Delete {
                            tenant: tenant.clone(),
                            subject,
                        }),
                );
            }
        }
        if let Some(embedder) = &self.embedder {
            let vectors = embedder.tenant_documents(texts, urgency).await?;
            let mut vectors = vectors.into_iter();
            for (upsert, count) in &mut upserts {
                upsert.set_dense(vectors.by_ref().take(*count));
            }
        }
        changes.extend(upserts.into_iter().map(|(upsert, _)| upsert));
        self.index.apply(changes).await?;
        Ok(written)
    }

    async fn read(
        &self,
        tenant: &TenantId,
        affected: &Affected,
    ) -> Result<Vec<Loaded>, IndexerError> {
        let mut records = Vec::new();
        if !affected.messages.is_empty() {
            let found = self
                .store
                .messages(&Caller::worker(tenant.clone()))
                .index_records(&affected.messages, i32::MAX, None)
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

/// Adds an element, unless the list has it.
fn add_new<T: PartialEq>(to: &mut Vec<T>, one: T) {
    if !to.contains(&one) {
        to.push(one);
    }
}

/// Splits the affected messages and memories, so that few contents are in memory at a time.
fn portions<'a>(
    affected: &HashMap<&'a TenantId, Affected>,
    size: usize,
) -> Vec<HashMap<&'a TenantId, Affected>> {
    let all: Vec<(&TenantId, Subject)> = affected
        .iter()
        .flat_map(|(&tenant, affected)| affected.subjects().map(move |one| (tenant, one)))
        .collect();
    let portion = |subjects: &[(&'a TenantId, Subject)]| {
        let mut portion: HashMap<&TenantId, Affected> = HashMap::new();
        for &(tenant, subject) in subjects {
            portion.entry(tenant).or_default().add(subject);
        }
        portion
    };
    all.chunks(size.max(1)).map(portion).collect()
}

impl Loaded {
    fn subject(&self) -> Subject {
        match self {
            Self::Message(record) => Subject::Message(record.message.id),
            Self::Memory(record) => Subject::Memory(record.id),
        }
    }

    fn inputs(&self) -> Inputs {
        match self {
            Self::Message(record) => {
                let messages = std::iter::once(&record.message).chain(&record.previous);
                let inputs = messages.map(|one| (one.id, (one.thread, one.seq)));
                Inputs::Message(inputs.collect())
            }
            Self::Memory(record) => Inputs::Memory(record.version),
        }
    }

    /// The texts that are embedded: the beginning, and of a message its later passages.
    fn meanings(&self, embedder: &Embedder) -> impl Iterator<Item = String> + use<> {
        let (text, most) = match self {
            Self::Message(record) => (meaning(&record.message), most_passages(&record.message)),
            Self::Memory(record) => (record.text.clone(), 0),
        };
        let later = embedder.later_passages(&text, most);
        std::iter::once(embedder.clip(text)).chain(later)
    }

    /// Its point, without a dense vector.
    fn change(self, tenant: &TenantId) -> Change {
        match self {
            Self::Message(record) => Change::Upsert(Box::new(Point::new(tenant, *record))),
            Self::Memory(record) => {
                Change::UpsertMemory(Box::new(MemoryPoint::new(tenant, *record)))
            }
        }
    }
}

//! Converts changes in the outbox into changes of the index.

use std::collections::HashMap;
use std::mem;

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
/// Texts that are embedded and written together, at most; one message may add some dozens more.
const MOST_TEXTS: usize = 512;

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
    /// A message.
    Message {
        /// The messages, and those before it whose words the point has. The text at a place never
        /// changes; it can be erased.
        places: Vec<(MessageId, ThreadId, i64)>,
        metadata_hash: i64,
    },
    /// The memory's version.
    Memory(i64),
}

/// Changes that write points, and what is to be embedded for them.
#[derive(Default)]
struct Upserts {
    /// Each with the number of its texts.
    changes: Vec<(Change, usize)>,
    texts: Vec<TenantText>,
}

impl Upserts {
    fn add(&mut self, record: Loaded, tenant: &TenantId, embedder: Option<&Embedder>) {
        let before = self.texts.len();
        if let Some(embedder) = embedder {
            self.texts
                .extend(record.meanings(embedder).map(|text| TenantText {
                    tenant: Some(tenant.clone()),
                    text,
                }));
        }
        let count = self.texts.len() - before;
        self.changes.push((record.change(tenant), count));
    }
}

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
                    if let Some(Inputs::Message { places, .. }) = was(Subject::Message(*id)) {
                        inputs.extend(places.iter().map(|(input, ..)| *input));
                    }
                }
                let now = self.store.messages(&caller).places(&inputs).await?;
                affected
                    .messages
                    .retain(|id| match was(Subject::Message(*id)) {
                        Some(Inputs::Message {
                            places,
                            metadata_hash,
                        }) => {
                            let is_there = |(id, thread, seq): &(MessageId, ThreadId, i64)| {
                                now.get(id).map(|place| (place.thread, place.seq))
                                    == Some((*thread, *seq))
                            };
                            let hash = now.get(id).map(|place| place.metadata_hash);
                            !places.iter().all(is_there) || hash != Some(*metadata_hash)
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
        let mut upserts = Upserts::default();
        for portion in portions(affected, self.config.batch_size) {
            for (&tenant, affected) in &portion {
                for record in self.read(tenant, affected).await? {
                    written.insert((tenant, record.subject()), record.inputs());
                    upserts.add(record, tenant, self.embedder.as_ref());
                    if upserts.texts.len() >= MOST_TEXTS {
                        changes.extend(self.embed(mem::take(&mut upserts), urgency).await?);
                        self.index.apply(mem::take(&mut changes)).await?;
                    }
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
        changes.extend(self.embed(upserts, urgency).await?);
        self.index.apply(changes).await?;
        Ok(written)
    }

    async fn embed(
        &self,
        upserts: Upserts,
        urgency: Urgency,
    ) -> Result<impl Iterator<Item = Change>, IndexerError> {
        let Upserts { mut changes, texts } = upserts;
        if let Some(embedder) = &self.embedder {
            let vectors = embedder.tenant_documents(texts, urgency).await?;
            let mut vectors = vectors.into_iter();
            for (change, count) in &mut changes {
                change.set_dense(vectors.by_ref().take(*count));
            }
        }
        Ok(changes.into_iter().map(|(change, _)| change))
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
                let places = messages.map(|one| (one.id, one.thread, one.seq));
                Inputs::Message {
                    places: places.collect(),
                    metadata_hash: record.metadata_hash,
                }
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

//! The content of events: what was made, as it is when the event is sent.

use std::collections::HashMap;
use std::time::Duration;

use memory_contract::proto::watch_thread_response::Event;
use memory_contract::proto::{MemoriesExtracted, MessageDeleted, MessagesAppended, WatchedMessage};
use memory_contract::{
    Memory, MemoryFilter, MemoryId, MemoryOwner, Message, MessageId, ThreadId, limits,
    memory_bytes, message_bytes_at_most,
};
use memory_store::{Caller, DistillKind, SeqRange, Store, StoreError};
use tokio::time::sleep;
use uuid::Uuid;

use crate::error::ApiError;
use crate::services::files::{annotate, references};

/// The pause after the database was unavailable. The deadline of the call ends the wait.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Reads what the events of one stream are about.
pub(super) struct Content {
    pub(super) store: Store,
    pub(super) caller: Caller,
    pub(super) thread: ThreadId,
    /// Whether events have content beside ids.
    pub(super) included: bool,
}

impl Content {
    /// Adds the ids of the appended and the erased messages to events.
    pub(super) async fn add_ids<'a>(
        &self,
        events: impl Iterator<Item = &'a mut Event>,
    ) -> Result<(), ApiError> {
        let (mut appended, mut deleted) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                Event::MessagesAppended(event) => appended.push(event),
                Event::MessageDeleted(event) => deleted.push(event),
                _ => {}
            }
        }
        self.add_appended(appended).await?;
        self.add_digests(deleted).await
    }

    async fn add_digests(&self, deleted: Vec<&mut MessageDeleted>) -> Result<(), ApiError> {
        let id_of = |event: &MessageDeleted| Uuid::try_parse(&event.message_id).ok();
        let ids: Vec<Uuid> = deleted.iter().filter_map(|event| id_of(event)).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let threads = self.store.threads(&self.caller);
        let found = available(|| threads.watched_digests(self.thread, &ids)).await?;
        let found: HashMap<String, Vec<u8>> = found
            .into_iter()
            .map(|(id, digest)| (id.to_string(), digest))
            .collect();
        for event in deleted {
            let digest = found.get(&event.message_id).cloned();
            event.external_id_digest = digest.unwrap_or_default();
        }
        Ok(())
    }

    async fn add_appended(&self, mut appended: Vec<&mut MessagesAppended>) -> Result<(), ApiError> {
        if appended.is_empty() {
            return Ok(());
        }
        let ranges: Vec<SeqRange> = appended.iter().map(|appended| range(appended)).collect();
        let threads = self.store.threads(&self.caller);
        let found = available(|| threads.watched_ids(self.thread, &ranges)).await?;
        for (appended, range) in appended.iter_mut().zip(ranges) {
            let found = found.iter().filter(|(_, seq, _)| range.contains(*seq));
            appended.messages = found
                .map(|(id, seq, external)| message_ref(*id, *seq, external))
                .collect();
        }
        Ok(())
    }

    /// Adds content to an event, if the caller wants it.
    pub(super) async fn add(&self, event: &mut Event) -> Result<(), ApiError> {
        if !self.included {
            return Ok(());
        }
        match event {
            Event::MessagesAppended(appended) => self.add_messages(appended).await?,
            Event::SummaryMade(made) => {
                made.text = self.text(DistillKind::Summary, made.number).await?;
            }
            Event::ObservationMade(made) => {
                made.text = self.text(DistillKind::Observation, made.number).await?;
            }
            Event::ReflectionMade(made) => {
                made.text = self.text(DistillKind::Observation, made.number).await?;
            }
            Event::MemoriesExtracted(extracted) => self.add_memories(extracted).await?,
            _ => {}
        }
        Ok(())
    }

    async fn add_messages(&self, appended: &mut MessagesAppended) -> Result<(), ApiError> {
        let (threads, range) = (self.store.threads(&self.caller), range(appended));
        let messages = available(|| threads.watched_messages(self.thread, range)).await?;
        let mut bytes = 0;
        appended.messages = messages
            .into_iter()
            .map(|message| {
                bytes += message_bytes_at_most(&message);
                let watched = message_ref(message.id, message.seq, &message.external_id);
                WatchedMessage {
                    message: fitting(message, bytes),
                    ..watched
                }
            })
            .collect();
        appended.content_omitted = bytes > limits::ANSWER_BYTES;
        let contents = appended.messages.iter_mut();
        let contents = contents.filter_map(|watched| watched.message.as_mut());
        annotate(
            &self.store,
            &self.caller,
            contents.flat_map(references).collect(),
        )
        .await
    }

    async fn add_memories(&self, extracted: &mut MemoriesExtracted) -> Result<(), ApiError> {
        let ids: Vec<MemoryId> = extracted
            .memory_ids
            .iter()
            .filter_map(|id| Uuid::try_parse(id).ok())
            .map(MemoryId::from)
            .collect();
        let memories = available(|| self.memories(&ids)).await?;
        let mut bytes = 0;
        let fitting = memories.into_iter().take_while(|memory| {
            bytes += memory_bytes(memory);
            bytes <= limits::ANSWER_BYTES
        });
        extracted.memories = fitting.map(Into::into).collect();
        Ok(())
    }

    /// The memories that still exist, in the order of the ids.
    async fn memories(&self, ids: &[MemoryId]) -> Result<Vec<Memory>, StoreError> {
        let session = match self
            .store
            .threads(&self.caller)
            .get_thread(self.thread)
            .await
        {
            Ok(thread) => thread.session,
            Err(StoreError::ThreadNotFound) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let owner = MemoryOwner {
            app: session.app,
            user: session.user,
        };
        let all = MemoryFilter {
            superseded: true,
            ..Default::default()
        };
        let store = self.store.memories(&self.caller);
        let mut memories = store.hydrate_memories(&owner, &all, ids).await?;
        memories.sort_by_key(|memory| ids.iter().position(|id| *id == memory.id));
        Ok(memories)
    }

    /// The text of a summary, an observation or a reflection; empty if it was erased.
    async fn text(&self, kind: DistillKind, number: i64) -> Result<String, ApiError> {
        let threads = self.store.threads(&self.caller);
        let text = available(|| threads.watched_text(self.thread, kind, number)).await?;
        Ok(text.unwrap_or_default())
    }
}

fn range(appended: &MessagesAppended) -> SeqRange {
    SeqRange {
        first: appended.first_seq,
        count: appended.message_count,
    }
}

fn message_ref(id: MessageId, seq: i64, external_id: &str) -> WatchedMessage {
    WatchedMessage {
        message_id: id.to_string(),
        seq,
        external_id: external_id.to_owned(),
        message: None,
    }
}

/// The message for an event that has this many bytes with it, if they fit.
fn fitting(message: Message, bytes: usize) -> Option<memory_contract::proto::Message> {
    (bytes <= limits::ANSWER_BYTES).then(|| message.into())
}

/// Reads until the database answers: a watch outlives its outages.
async fn available<T, F: Future<Output = Result<T, StoreError>>>(
    mut read: impl FnMut() -> F,
) -> Result<T, StoreError> {
    loop {
        match read().await {
            Err(error) if error.retryable() => sleep(RETRY_PAUSE).await,
            done => return done,
        }
    }
}

//! The content of events: what was made, as it is when the event is sent.

use std::collections::HashMap;

use memory_agent_contract::plan::{Attempt, EventQuery, Plan};
use memory_contract::proto::watch_thread_response::Event;
use memory_contract::proto::{
    self, EventsAppended, MemoriesExtracted, MessageDeleted, MessageUpdated, MessagesAppended,
    WatchedMessage,
};
use memory_contract::{
    MemoryId, MessageId, ThreadId, limits,
    memory::{Memory, MemoryFilter, MemoryOwner},
    message::Message,
    size::{memory_bytes, message_bytes_at_most},
};
use memory_grpc::{ApiError, available};
use memory_store::{
    AttemptQuery, Caller, DistillKind, MemoryOwners, PlanError, SeqRange, Store, StoreError,
};
use uuid::Uuid;

use crate::files::{annotate, references};

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
            Event::MessageUpdated(updated) => updated.message = self.message(updated).await?,
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
            Event::PlanChanged(changed) => changed.plan = self.plan().await?.map(Into::into),
            Event::AttemptLogged(logged) => {
                logged.attempt = self.attempt(logged.number).await?.map(Into::into);
            }
            Event::EventsAppended(appended) => self.add_events(appended).await?,
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

    /// The message as it is now.
    async fn message(&self, updated: &MessageUpdated) -> Result<Option<proto::Message>, ApiError> {
        let Ok(id) = Uuid::try_parse(&updated.message_id) else {
            return Ok(None);
        };
        let messages = self.store.messages(&self.caller);
        let found = available(|| messages.get_message(self.thread, MessageId::from(id))).await;
        let mut message = match found {
            Ok(message) => proto::Message::from(message),
            Err(
                StoreError::MessageNotFound
                | StoreError::ThreadNotFound
                | StoreError::DeletionInProgress,
            ) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        annotate(
            &self.store,
            &self.caller,
            references(&mut message).collect(),
        )
        .await?;
        Ok(Some(message))
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
            Err(StoreError::ThreadNotFound | StoreError::DeletionInProgress) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        };
        let owners = MemoryOwners::User(MemoryOwner::of(&session));
        let all = MemoryFilter {
            superseded: true,
            ..Default::default()
        };
        let store = self.store.memories(&self.caller);
        let mut memories = store.hydrate_memories(&owners, &all, ids).await?;
        memories.sort_by_key(|memory| ids.iter().position(|id| *id == memory.id));
        Ok(memories)
    }

    /// The plan as it is now.
    async fn plan(&self) -> Result<Option<Plan>, ApiError> {
        let plans = self.store.plans(&self.caller);
        match available(|| plans.get_plan(self.thread)).await {
            Ok(plan) => Ok(Some(plan)),
            Err(
                StoreError::Plan(PlanError::NotFound)
                | StoreError::ThreadNotFound
                | StoreError::DeletionInProgress,
            ) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn attempt(&self, number: i64) -> Result<Option<Attempt>, ApiError> {
        let plans = self.store.plans(&self.caller);
        let query = AttemptQuery {
            thread: self.thread,
            task: None,
            failed: false,
            after: Some(number - 1),
            limit: 1,
            max_bytes: u32::try_from(limits::ANSWER_BYTES).unwrap_or(u32::MAX),
        };
        match available(|| plans.list_attempts(&query)).await {
            Ok(page) => Ok(page
                .items
                .into_iter()
                .find(|logged| logged.number == number)),
            Err(StoreError::ThreadNotFound | StoreError::DeletionInProgress) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn add_events(&self, appended: &mut EventsAppended) -> Result<(), ApiError> {
        let plans = self.store.plans(&self.caller);
        let limit = u32::try_from(appended.event_count)
            .unwrap_or(u32::MAX)
            .max(1);
        let query = EventQuery {
            after: Some(appended.first_number - 1),
            ..EventQuery::of(self.thread, limit, limits::ANSWER_BYTES)
        };
        let page = match available(|| plans.list_events(&query)).await {
            Ok(page) => page.items,
            Err(StoreError::ThreadNotFound | StoreError::DeletionInProgress) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let end = appended.first_number.saturating_add(appended.event_count);
        let mut bytes = 0;
        let fitting = page.into_iter().take_while(|event| {
            bytes += event.bytes();
            event.number < end && bytes <= limits::ANSWER_BYTES
        });
        appended.events = fitting.map(Into::into).collect();
        Ok(())
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

//! A thread with its messages, events and head.

use std::collections::{HashMap, HashSet};

use memory_agent_contract::plan::EventQuery;
use memory_checksum::message_digest;
use memory_context::restore_contents;
use memory_contract::proto::{
    AgentEvent, AppendEventsRequest, ImportMessagesRequest, Message, MessageInput,
    ResolveThreadRequest, SessionRef, SetHeadRequest, Thread, message_input::Parent,
};
use memory_contract::{
    AppId, MessageId, MessageName, check, limits,
    message::{NewMessage, Part},
};
use memory_grpc::ApiError;
use memory_store::{AppendError, StoreError};
use prost_types::Duration;
use time::OffsetDateTime;
use uuid::Uuid;

use super::errors::{orphan, renamed};
use super::open::OpenThread;
use super::state::Import;
use super::tally::Outcome;
use super::waiting::WaitingMessage;
use crate::transfers::CONTENT_BYTES;

impl Import {
    pub(super) async fn open_thread(&mut self, thread: Thread) -> Result<Outcome, ApiError> {
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let app = Some(AppId::new(thread.app_id.clone()));
        let request = ResolveThreadRequest {
            session: Some(SessionRef {
                app_id: thread.app_id,
                user_id: thread.user_id,
                session_key: thread.session_key,
                agent_session_key: String::new(),
            }),
            title: thread.title,
            metadata: thread.metadata,
            ttl: thread.expire_time.map(|time| Duration {
                seconds: (time.seconds - now).max(1),
                nanos: 0,
            }),
            policy: thread.policy,
            ephemeral: false,
        };
        let resolved = self.handlers.threads.resolve(self.call(request)).await;
        let resolved = resolved.map_err(|error| renamed(error, "session", "thread"))?;
        let id = resolved.thread.unwrap_or_default().thread_id;
        self.threads.insert(thread.thread_id, id.clone());
        self.thread = Some(OpenThread {
            id,
            app,
            head: thread.head_message_id,
            ..OpenThread::default()
        });
        Ok(Outcome::of(!resolved.created))
    }

    /// The thread that a record belongs to.
    pub(super) fn thread_of(&mut self, kind: &str) -> Result<&mut OpenThread, ApiError> {
        let thread = self.thread.as_mut();
        thread.ok_or_else(|| orphan(kind, "thread").into())
    }

    /// Lets a message wait for its batch.
    pub(super) fn message(&mut self, position: i64, message: Message) -> Result<(), ApiError> {
        let new_ids = self.options.new_ids;
        let thread = self.thread_of("message")?;
        let old = check::uuid("record.message.message_id", &message.message_id)?;
        let id = match new_ids {
            true => Uuid::now_v7(),
            false => old,
        };
        let follows = |id: &Uuid| Some(Parent::ParentMessageId(id.to_string()));
        let parent = Uuid::parse_str(&message.parent_message_id).ok();
        let parent = match parent.and_then(|parent| thread.ids.get(&parent)) {
            Some(parent) => follows(parent),
            // The first message of a thread needs no parent. A message whose parent is not
            // there follows the last message of its branch.
            None if thread.ids.is_empty() => None,
            None if message.parent_message_id.is_empty() => Some(Parent::Root(())),
            None => thread.tips.get(&message.branch).and_then(follows),
        };
        let is_head = !thread.head.is_empty() && message.message_id == thread.head;
        thread.ids.insert(old, id);
        thread.tips.insert(message.branch, id);
        let mut input = MessageInput {
            message_id: id.to_string(),
            parent,
            ..MessageInput::from(message)
        };
        if new_ids {
            input.external_id.clear();
        }
        thread.repair(&mut input);
        // One that is wrong may not keep the others of its batch out.
        if let Err(invalid) = NewMessage::try_from(input.clone()) {
            thread.note_refused(&input);
            return Err(ApiError::from(invalid.within("record.message")));
        }
        self.waiting.push_message(WaitingMessage {
            position,
            input,
            is_head,
        });
        Ok(())
    }

    pub(super) async fn flush_messages(
        &mut self,
        messages: Vec<WaitingMessage>,
    ) -> Result<(), ApiError> {
        let inputs = messages.iter().map(|one| one.input.clone()).collect();
        match self.import_messages(inputs).await {
            Ok(outcome) => {
                self.tally
                    .add(outcome, messages.len(), |counts| &mut counts.message_count);
                if let Some(thread) = &mut self.thread {
                    messages
                        .into_iter()
                        .for_each(|message| thread.note_stored(message));
                }
                return Ok(());
            }
            Err(error) if error.retryable() => return Err(error),
            Err(_) => {}
        }
        // All or none: what keeps one message out must not keep the others out.
        for mut message in messages {
            if let Some(thread) = &self.thread {
                thread.repair(&mut message.input);
            }
            let stored = self.import_messages(vec![message.input.clone()]).await;
            let stored = match stored {
                Err(ApiError::Store(StoreError::Append(AppendError::MessageExists { id }))) => {
                    self.known_message(id, &message.input).await
                }
                stored => stored,
            };
            let position = message.position;
            if let Some(thread) = &mut self.thread {
                match &stored {
                    Ok(_) => thread.note_stored(message),
                    Err(_) => thread.note_refused(&message.input),
                }
            }
            let stored = stored.map_err(|error| renamed(error, "messages[0]", "message"));
            self.settle(position, stored, |counts| &mut counts.message_count)?;
        }
        Ok(())
    }

    /// A message whose id exists: it is known if an earlier import stored it, so long ago that
    /// its request is forgotten, or with other messages.
    async fn known_message(
        &mut self,
        id: MessageId,
        wanted: &MessageInput,
    ) -> Result<Outcome, ApiError> {
        let thread = self.thread_of("message")?.id.clone();
        let thread = check::uuid("thread_id", &thread)?.into();
        let store = &self.store;
        let messages = store.messages(&self.caller);
        let found = messages
            .get_message(thread, MessageName::new(id.to_string()))
            .await;
        let mut found = match found {
            // It is a message of another thread.
            Err(StoreError::MessageNotFound) => {
                return Err(StoreError::from(AppendError::MessageExists { id }).into());
            }
            found => found?,
        };
        let files = found.parts.iter_mut().flat_map(Part::files_mut);
        restore_contents(store, &self.caller, files.collect(), CONTENT_BYTES).await?;
        let wanted = Message::from(wanted.clone());
        match message_digest(&found.into()) == message_digest(&wanted) {
            true => Ok(Outcome::Known),
            false => Err(ApiError::RecordDiffers {
                exists: format!("the message {id} has other content"),
                replaceable: false,
            }),
        }
    }

    async fn import_messages(&mut self, messages: Vec<MessageInput>) -> Result<Outcome, ApiError> {
        let thread = self.thread_of("message")?.id.clone();
        let request = ImportMessagesRequest {
            request_id: self.request_id(&thread, &messages),
            thread: Some(thread.into()),
            messages,
            provider_messages: Vec::new(),
        };
        let import = self.handlers.messages.import(self.caller.clone());
        let imported = import.take(request).await?;
        self.tally.redacted += i64::from(imported.redaction_count);
        Ok(Outcome::of(imported.replayed))
    }

    /// Lets an event wait for its batch. It belongs to the new message where ids are new.
    pub(super) fn event(&mut self, position: i64, mut event: AgentEvent) -> Result<(), ApiError> {
        let thread = self.thread_of("event")?;
        if let Some(id) = &mut event.message_id {
            *id = thread.id_of(id);
        }
        self.waiting.push_event(position, event);
        Ok(())
    }

    pub(super) async fn flush_events(
        &mut self,
        mut events: Vec<(i64, AgentEvent)>,
    ) -> Result<(), ApiError> {
        let stored = self.stored_events(&events).await?;
        let wanted = events.len();
        events.retain(|(_, event)| !stored.contains(&event.number));
        let known = wanted - events.len();
        self.tally
            .add(Outcome::Known, known, |counts| &mut counts.event_count);
        if events.is_empty() {
            return Ok(());
        }
        let all = events.iter().map(|(_, event)| event.clone()).collect();
        match self.append_events(all).await {
            Ok(outcome) => {
                self.tally
                    .add(outcome, events.len(), |counts| &mut counts.event_count);
                return Ok(());
            }
            Err(error) if error.retryable() => return Err(error),
            Err(_) => {}
        }
        for (position, event) in events {
            let stored = self.append_events(vec![event]).await;
            let stored = stored.map_err(|error| renamed(error, "events[0]", "event"));
            self.settle(position, stored, |counts| &mut counts.event_count)?;
        }
        Ok(())
    }

    /// The numbers of those events that the thread has already. An earlier import that ended
    /// within a batch stored them under another request id.
    async fn stored_events(
        &mut self,
        events: &[(i64, AgentEvent)],
    ) -> Result<HashSet<i64>, ApiError> {
        let wanted: HashMap<i64, &AgentEvent> = events
            .iter()
            .map(|(_, event)| (event.number, event))
            .filter(|(number, _)| *number > 0 && !self.options.new_ids)
            .collect();
        let mut found = HashSet::new();
        let (Some(first), Some(last)) = (wanted.keys().min(), wanted.keys().max()) else {
            return Ok(found);
        };
        let thread = check::uuid("thread_id", &self.thread_of("event")?.id)?;
        let most = u32::try_from(events.len()).unwrap_or(u32::MAX);
        let mut query = EventQuery::of(thread.into(), most, limits::PAGE_BYTES);
        query.after = Some(first - 1);
        while query.after.is_some_and(|after| after < *last) {
            let store = &self.store;
            let page = store.plans(&self.caller).list_events(&query).await?;
            for event in page.items {
                let event = AgentEvent::from(event);
                if wanted.get(&event.number) == Some(&&event) {
                    found.insert(event.number);
                }
            }
            query.after = page.next;
        }
        Ok(found)
    }

    async fn append_events(&mut self, events: Vec<AgentEvent>) -> Result<Outcome, ApiError> {
        let thread = self.thread_of("event")?.id.clone();
        let request = AppendEventsRequest {
            request_id: self.request_id(&thread, &events),
            thread: Some(thread.into()),
            events,
        };
        let appended = self.handlers.events.append(self.call(request)).await?;
        Ok(Outcome::of(appended.replayed))
    }

    /// Ends a thread: its head is what it was. One with newer messages since an earlier import
    /// keeps its head.
    pub(super) async fn close_thread(&mut self) -> Result<(), ApiError> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        let (Some(head), Some(last)) = (thread.new_head, thread.last) else {
            return Ok(());
        };
        if head == last {
            return Ok(());
        }
        let request = SetHeadRequest {
            thread: Some(thread.id.into()),
            head_message_id: head,
            expected_head: Some(last),
        };
        match self.handlers.threads.move_head(self.call(request)).await {
            Err(error) if error.retryable() => Err(error),
            // It has moved on, or has been deleted since.
            _ => Ok(()),
        }
    }
}

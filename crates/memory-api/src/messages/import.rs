//! `ImportMessages`: many conversations over one stream.

use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt as _, stream};
use memory_context::{Conversation, counting, store_contents};
use memory_contract::proto::import_messages_response::Outcome;
use memory_contract::proto::{ImportMessagesRequest, ImportMessagesResponse, ImportedMessages};
use memory_contract::{RequestId, message::NewMessage};
use memory_grpc::request::{
    Fields, NamedConversation, request_id_from, streamed_conversation_from, written,
};
use memory_grpc::status::import_error;
use memory_grpc::{ApiError, Redactor, unreadable, until};
use memory_index::{Background, IndexerHandle};
use memory_store::{Append, Appended, Caller, NewThread, Store, StoreError, ThreadError};
use tokio::time::Instant;
use tonic::{Status, Streaming};

use super::read::read_messages;
use crate::storage_quota::{Amount, StorageQuotas, is_stored};

/// The answers of an import.
pub(crate) type Imported =
    Pin<Box<dyn Stream<Item = Result<ImportMessagesResponse, Status>> + Send + 'static>>;

/// Stores the requests of one stream.
#[derive(Clone)]
pub struct Import {
    pub(super) store: Store,
    pub(super) indexer: Option<IndexerHandle>,
    pub(super) quotas: StorageQuotas,
    pub(super) redactor: Redactor,
    pub(super) caller: Caller,
    /// Room for requests that are stored, which all streams share in turn.
    pub(super) background: Background,
}

impl Import {
    /// Stores the requests one after the other, so that threads are created and answered
    /// in the order of the stream. Requests are read only as fast as the caller reads
    /// answers. After `time` the stream ends with DEADLINE_EXCEEDED.
    pub(super) fn run(
        self,
        requests: Streaming<ImportMessagesRequest>,
        time: Duration,
    ) -> Imported {
        let answers = requests
            .zip(stream::iter(0..))
            .then(move |(request, position)| self.clone().answer(position, request));
        Box::pin(until(Instant::now() + time, answers))
    }

    async fn answer(
        self,
        position: i64,
        request: Result<ImportMessagesRequest, Status>,
    ) -> Result<ImportMessagesResponse, Status> {
        let request = request.map_err(|status| match unreadable(&status) {
            Some(error) => Status::from(error),
            None => status,
        })?;
        let outcome = match self.take(request).await {
            Ok(imported) => Outcome::Imported(imported),
            Err(error) => Outcome::Error(import_error(error)),
        };
        Ok(ImportMessagesResponse {
            position,
            outcome: Some(outcome),
        })
    }

    /// Stores the messages of one request, all or none.
    ///
    /// # Errors
    /// Wrong fields, and those of an append.
    pub async fn take(&self, request: ImportMessagesRequest) -> Result<ImportedMessages, ApiError> {
        let redacted =
            self.redactor
                .redact_message(&self.caller, None, "ImportMessagesRequest", request);
        let (request, redacted) = redacted.await?;
        let imported = self.store(parse(request).await?).await?;
        Ok(ImportedMessages {
            redaction_count: i32::try_from(redacted.count()).unwrap_or(i32::MAX),
            ..imported
        })
    }

    async fn store(&self, batch: Batch) -> Result<ImportedMessages, ApiError> {
        let Batch {
            named,
            mut messages,
            request_id,
        } = batch;
        let target = named.resolve(&self.store, &self.caller).await?;
        let _admitted = self
            .quotas
            .admit_or_retry(
                &self.caller,
                || Amount::of_messages(&messages),
                is_stored(&self.store, &self.caller, &target, &messages, request_id),
            )
            .await?;
        let (store, caller) = (&self.store, &self.caller);
        let hold = store_contents(store, caller, &mut messages).await?;
        let import = async {
            let _room = self.background.import().await;
            let messages = counting::counted(messages).await?;
            let threads = store.threads(caller);
            let thread = match target {
                Conversation::Thread(id) => threads.get_thread(id).await?,
                Conversation::Session(session) => {
                    threads
                        .resolve_thread(&NewThread::of(session))
                        .await?
                        .thread
                }
            };
            // Imported messages must persist.
            if thread.ephemeral {
                return Err(StoreError::Thread(ThreadError::Ephemeral).into());
            }
            let append = Append {
                thread: thread.id,
                messages,
                request_id,
                expected_head: None,
            };
            Ok(store.messages(caller).import(&append).await?)
        };
        let is_new = |appended: &Appended| !appended.replayed;
        let appended = written(store, caller, &hold, import.await, is_new).await?;
        if let Some(indexer) = &self.indexer {
            indexer.wake();
        }
        Ok(ImportedMessages {
            thread_id: appended.revision.thread.to_string(),
            message_count: i32::try_from(appended.messages.len()).unwrap_or(i32::MAX),
            first_seq: appended.messages.first().map_or(0, |message| message.seq),
            revision: appended.revision.to_string(),
            replayed: appended.replayed,
            redaction_count: 0,
        })
    }
}

struct Batch {
    named: NamedConversation,
    messages: Vec<NewMessage>,
    request_id: Option<RequestId>,
}

async fn parse(request: ImportMessagesRequest) -> Result<Batch, ApiError> {
    let ImportMessagesRequest {
        thread,
        messages,
        provider_messages,
        request_id,
    } = request;
    let mut fields = Fields::default();
    // The metadata belongs to the whole stream, so it does not name a session.
    let named = fields.get(streamed_conversation_from(thread));
    let messages = fields.get_all(read_messages(messages, provider_messages).await?);
    let request_id = fields.take(request_id_from(&request_id));
    let (named, messages) = fields.all(named.zip(messages))?;
    Ok(Batch {
        named,
        messages,
        request_id,
    })
}

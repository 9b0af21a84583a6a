//! The message service.

mod history;
mod import;
mod list;
mod read;

use memory_context::{Conversation, counting, store_contents};
use memory_contract::proto::message_service_server::MessageService;
use memory_contract::proto::{
    self, AppendMessagesRequest, AppendMessagesResponse, DeleteMessageRequest,
    DeleteMessageResponse, GetHistoryRequest, GetHistoryResponse, GetMessageRequest,
    GetMessageResponse, ImportMessagesRequest, ListMessagesRequest, ListMessagesResponse,
    ThreadRef, UpdateMessageRequest, UpdateMessageResponse,
};
use memory_contract::{
    Invalid, InvalidFields, MessageName, ThreadId, check, convert::metadata_from, message::Message,
};
use memory_grpc::request::{
    Fields, NamedConversation, expected_head_from, request_id_from, required_conversation_from,
    written,
};
use memory_grpc::{ApiError, Redactor, caller_of, remaining};
use memory_index::{Background, IndexerHandle};
use memory_store::{Append, Appended, Caller, Store, StoreError};
use prost::Message as _;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, Streaming, async_trait};

use super::files::{annotate, references};
use crate::storage_quota::{Amount, StorageQuotas, is_stored};
use import::{Import, Imported};
use read::read_messages;

/// Implements `MessageService`.
#[derive(Clone)]
pub struct Messages {
    pub(crate) store: Store,
    pub(crate) indexer: Option<IndexerHandle>,
    pub(crate) quotas: StorageQuotas,
    /// The longest that a stream may last.
    pub(crate) stream_timeout: std::time::Duration,
    /// Room for the requests of imports.
    pub(crate) background: Background,
}

#[async_trait]
impl MessageService for Messages {
    type ImportMessagesStream = Imported;

    async fn append_messages(
        &self,
        request: Request<AppendMessagesRequest>,
    ) -> Result<Response<AppendMessagesResponse>, Status> {
        Ok(Response::new(self.append(request).await?))
    }

    async fn get_message(
        &self,
        request: Request<GetMessageRequest>,
    ) -> Result<Response<GetMessageResponse>, Status> {
        Ok(Response::new(self.get(request).await?))
    }

    async fn list_messages(
        &self,
        request: Request<ListMessagesRequest>,
    ) -> Result<Response<ListMessagesResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }

    async fn get_history(
        &self,
        request: Request<GetHistoryRequest>,
    ) -> Result<Response<GetHistoryResponse>, Status> {
        Ok(Response::new(self.history(request).await?))
    }

    async fn update_message(
        &self,
        request: Request<UpdateMessageRequest>,
    ) -> Result<Response<UpdateMessageResponse>, Status> {
        Ok(Response::new(self.update(request).await?))
    }

    async fn delete_message(
        &self,
        request: Request<DeleteMessageRequest>,
    ) -> Result<Response<DeleteMessageResponse>, Status> {
        Ok(Response::new(self.delete(request).await?))
    }

    async fn import_messages(
        &self,
        request: Request<Streaming<ImportMessagesRequest>>,
    ) -> Result<Response<Imported>, Status> {
        let caller = caller_of(&request)?;
        let time = remaining(&request, self.stream_timeout);
        let import = self.import(caller);
        Ok(Response::new(import.run(request.into_inner(), time)))
    }
}

impl Messages {
    /// An import for a caller.
    pub fn import(&self, caller: Caller) -> Import {
        Import {
            store: self.store.clone(),
            indexer: self.indexer.clone(),
            quotas: self.quotas.clone(),
            redactor: Redactor::new(self.store.clone()),
            caller,
            background: self.background.clone(),
        }
    }

    async fn append(
        &self,
        request: Request<AppendMessagesRequest>,
    ) -> Result<AppendMessagesResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, request) = request.into_parts();
        let AppendMessagesRequest {
            thread,
            messages,
            provider_messages,
            request_id,
            expected_head,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&call, thread));
        let messages = fields.get_all(read_messages(messages, provider_messages).await?);
        let request_id = fields.take(request_id_from(&request_id));
        let expected_head = fields.take(expected_head_from(expected_head.as_deref()));
        let (named, mut messages) = fields.all(named.zip(messages))?;
        let target = named.resolve(&self.store, &caller).await?;
        let _admitted = self
            .quotas
            .admit_or_retry(
                &caller,
                || Amount::of_messages(&messages),
                is_stored(&self.store, &caller, &target, &messages, request_id),
            )
            .await?;
        let hold = store_contents(&self.store, &caller, &mut messages).await?;
        let store = self.store.messages(&caller);
        let append = async {
            let append = Append {
                thread: match target {
                    Conversation::Thread(thread) => thread,
                    Conversation::Session(_) => ThreadId::new(),
                },
                messages: counting::counted(messages).await?,
                request_id,
                expected_head,
            };
            let appended = match &target {
                Conversation::Thread(_) => store.append(&append).await?,
                Conversation::Session(session) => store.append_to_session(session, &append).await?,
            };
            Ok(appended)
        };
        let is_new = |appended: &Appended| !appended.replayed;
        let appended = written(&self.store, &caller, &hold, append.await, is_new).await?;
        if let Some(indexer) = &self.indexer {
            indexer.wake();
        }
        Ok(AppendMessagesResponse {
            messages: appended.messages.into_iter().map(Into::into).collect(),
            revision: appended.revision.to_string(),
            replayed: appended.replayed,
            thread_id: appended.revision.thread.to_string(),
            thread_created: appended.created,
        })
    }

    async fn get(
        &self,
        request: Request<GetMessageRequest>,
    ) -> Result<GetMessageResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, GetMessageRequest { thread, message_id }) = request.into_parts();
        let (named, message) = message_place(&call, thread, &message_id)?;
        let thread = named.thread(&self.store, &caller).await?;
        let messages = self.store.messages(&caller);
        let message = messages.get_message(thread, message).await;
        let message = message.map_err(|error| ApiError::from(error).naming("message_id"))?;
        Ok(GetMessageResponse {
            message: Some(self.annotated(&caller, message).await?),
        })
    }

    /// A message, with what is known of its files.
    async fn annotated(
        &self,
        caller: &Caller,
        message: Message,
    ) -> Result<proto::Message, ApiError> {
        let mut message = proto::Message::from(message);
        annotate(&self.store, caller, references(&mut message).collect()).await?;
        Ok(message)
    }

    async fn update(
        &self,
        request: Request<UpdateMessageRequest>,
    ) -> Result<UpdateMessageResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, request) = request.into_parts();
        let bytes = request.encoded_len();
        let UpdateMessageRequest {
            thread,
            message_id,
            metadata,
        } = request;
        let mut fields = Fields::default();
        let metadata = metadata.ok_or_else(|| Invalid::missing("metadata"));
        let metadata = fields.get(metadata.and_then(|text| metadata_from("metadata", text)));
        let place = fields.get_all(message_place(&call, thread, &message_id));
        let ((named, message), metadata) = fields.all(place.zip(metadata))?;
        let thread = named.thread(&self.store, &caller).await?;
        let wanted = || Amount::of_request(0, bytes);
        let _admitted = self.quotas.admit(&caller, wanted).await?;
        let updated = self
            .store
            .messages(&caller)
            .update_message(thread, message, &metadata)
            .await;
        let (message, revision) =
            updated.map_err(|error| ApiError::from(error).naming("message_id"))?;
        if let Some(indexer) = &self.indexer {
            indexer.wake();
        }
        Ok(UpdateMessageResponse {
            message: Some(self.annotated(&caller, message).await?),
            revision: revision.to_string(),
        })
    }

    async fn delete(
        &self,
        request: Request<DeleteMessageRequest>,
    ) -> Result<DeleteMessageResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, DeleteMessageRequest { thread, message_id }) = request.into_parts();
        let (named, message) = message_place(&call, thread, &message_id)?;
        let thread = named.thread(&self.store, &caller).await?;
        let deleted = self
            .store
            .messages(&caller)
            .delete_message(thread, message)
            .await;
        let revision = match deleted {
            Err(StoreError::MessageNotFound) => return Ok(DeleteMessageResponse::default()),
            deleted => deleted?,
        };
        if let Some(indexer) = &self.indexer {
            indexer.wake();
        }
        Ok(DeleteMessageResponse {
            deleted: true,
            revision: revision.to_string(),
        })
    }
}

fn message_place(
    call: &MetadataMap,
    thread: Option<ThreadRef>,
    message: &str,
) -> Result<(NamedConversation, MessageName), InvalidFields> {
    let mut fields = Fields::default();
    let thread = fields.get(required_conversation_from(call, thread));
    let message = fields.get(check::message_name("message_id", message));
    fields.all(thread.zip(message))
}

//! The message service.

mod export;
mod history;
mod import;

use memory_budget::Tokenizer;
use memory_context::counting;
use memory_context::template::MessageTemplate;
use memory_context::{Conversation, KnownFiles};
use memory_contract::proto::message_service_server::MessageService;
use memory_contract::proto::{
    self, AppendMessagesRequest, AppendMessagesResponse, DeleteMessageRequest,
    DeleteMessageResponse, ExportMessagesRequest, GetHistoryRequest, GetHistoryResponse,
    GetMessageRequest, GetMessageResponse, ImportMessagesRequest, ListMessagesRequest,
    ListMessagesResponse, MessageInput, ProviderMessages, SortOrder,
};
use memory_contract::{
    Invalid, InvalidFields, Message, MessageName, NewMessage, PageToken, ThreadId, ThreadName,
    check, filter_from, limits, new_messages_from,
};
use memory_recall::IndexerHandle;
use memory_store::{Append, MessageQuery, Order, Store};
use prost::Message as _;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, Streaming, async_trait};

use super::files::{annotate, references, with_metadata};
use super::request::{
    Fields, NamedConversation, expected_head_from, next_token, page_limit, request_id_from,
    required_conversation_from,
};
use crate::error::ApiError;
use crate::layers::{caller_of, remaining};
use export::{Export, Exported};
use import::{Import, Imported};

/// Implements `MessageService`.
#[derive(Clone)]
pub(crate) struct Messages {
    pub(crate) store: Store,
    pub(crate) indexer: Option<IndexerHandle>,
    /// The longest that a stream may last.
    pub(crate) stream_timeout: std::time::Duration,
}

#[async_trait]
impl MessageService for Messages {
    type ImportMessagesStream = Imported;
    type ExportMessagesStream = Exported;

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
        let import = Import {
            store: self.store.clone(),
            indexer: self.indexer.clone(),
            caller,
        };
        Ok(Response::new(import.run(request.into_inner(), time)))
    }

    async fn export_messages(
        &self,
        request: Request<ExportMessagesRequest>,
    ) -> Result<Response<Exported>, Status> {
        let caller = caller_of(&request)?;
        let time = remaining(&request, self.stream_timeout);
        let (call, _, request) = request.into_parts();
        let export = Export::read(self.store.clone(), caller, &call, request).await?;
        Ok(Response::new(export.run(time)))
    }
}

impl Messages {
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
        let (named, messages) = fields.all(named.zip(messages))?;
        let target = named.resolve(&self.store, &caller).await?;
        let append = Append {
            thread: match target {
                Conversation::Thread(thread) => thread,
                Conversation::Session(_) => ThreadId::new(),
            },
            messages: counting::counted(messages).await?,
            request_id,
            expected_head,
        };
        let messages = self.store.messages(&caller);
        let appended = match &target {
            Conversation::Thread(_) => messages.append(&append).await?,
            Conversation::Session(session) => messages.append_to_session(session, &append).await?,
        };
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
        let message = self
            .store
            .messages(&caller)
            .get_message(thread, message)
            .await;
        let message = message.map_err(|error| ApiError::from(error).naming("message_id"))?;
        let mut message = proto::Message::from(message);
        annotate(&self.store, &caller, references(&mut message).collect()).await?;
        Ok(GetMessageResponse {
            message: Some(message),
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
        let revision = self
            .store
            .messages(&caller)
            .delete_message(thread, message)
            .await;
        let revision = revision.map_err(|error| ApiError::from(error).naming("message_id"))?;
        if let Some(indexer) = &self.indexer {
            indexer.wake();
        }
        Ok(DeleteMessageResponse {
            revision: revision.to_string(),
        })
    }

    async fn list(
        &self,
        request: Request<ListMessagesRequest>,
    ) -> Result<ListMessagesResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, request) = request.into_parts();
        let ListMessagesRequest {
            target,
            filter,
            order,
            text_template,
            page_size,
            page_token,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&call, target));
        let filter = fields.take(filter_from(filter));
        let order = fields.take(order_from(order));
        let limit = fields.take(page_limit(page_size));
        let template = fields.take(MessageTemplate::compile(text_template.clone()));
        let identity = (
            "messages",
            caller.tenant.as_str(),
            format!("{named:?}"),
            format!("{filter:?}"),
            order == Order::Descending,
            text_template,
        );
        let after = fields.take(PageToken::key(&identity, &page_token));
        let named = fields.all(named)?;
        let thread = named.thread(&self.store, &caller).await?;
        let query = MessageQuery {
            thread,
            filter,
            order,
            after,
            limit,
            max_bytes: u32::try_from(limits::PAGE_BYTES).unwrap_or(u32::MAX),
        };
        let page = self.store.messages(&caller).list_messages(&query).await?;
        let (mut rendered, found) = match template {
            Some(template) => template.render(page.items).await?,
            None => (Vec::new(), page.items),
        };
        let known = KnownFiles::of_messages(&self.store, &caller, found.iter()).await?;
        let (messages, cut) = fit(found, &rendered, &known);
        rendered.truncate(messages.len());
        let next = if cut {
            messages.last().map(|message| message.seq)
        } else {
            page.next
        };
        Ok(ListMessagesResponse {
            messages,
            rendered_texts: rendered,
            next_page_token: next_token(&identity, next),
        })
    }
}

/// Reads the messages of a request.
async fn read_messages(
    messages: Vec<MessageInput>,
    provider_messages: Vec<ProviderMessages>,
) -> Result<Result<Vec<NewMessage>, InvalidFields>, ApiError> {
    let bytes = provider_messages.iter().map(|list| list.json.len()).sum();
    let read = move || new_messages_from(messages, provider_messages);
    Ok(counting::counting(bytes, Tokenizer::O200kBase, read).await?)
}

fn message_place(
    call: &MetadataMap,
    thread: Option<impl Into<ThreadName>>,
    message: &str,
) -> Result<(NamedConversation, MessageName), InvalidFields> {
    let mut fields = Fields::default();
    let thread = fields.get(required_conversation_from(call, thread));
    let message = fields.get(check::message_name("message_id", message));
    fields.all(thread.zip(message))
}

fn order_from(order: i32) -> Result<Order, Invalid> {
    match SortOrder::try_from(order) {
        Ok(SortOrder::Unspecified | SortOrder::Ascending) => Ok(Order::Ascending),
        Ok(SortOrder::Descending) => Ok(Order::Descending),
        Err(_) => Err(Invalid::new(
            "order",
            "must be SORT_ORDER_ASCENDING or SORT_ORDER_DESCENDING",
        )),
    }
}

/// As many messages, with their texts and files, as a caller accepts at a time,
/// and whether that was not all. The first always fits.
fn fit(
    found: Vec<Message>,
    rendered: &[String],
    known: &KnownFiles,
) -> (Vec<proto::Message>, bool) {
    let count = found.len();
    let mut bytes = 0;
    let messages: Vec<proto::Message> = found
        .into_iter()
        .map(|message| with_metadata(message, known))
        .enumerate()
        .take_while(|(index, message)| {
            bytes += message.encoded_len() + rendered.get(*index).map_or(0, String::len) + 16;
            *index == 0 || bytes <= limits::PAGE_BYTES
        })
        .map(|(_, message)| message)
        .collect();
    let cut = messages.len() < count;
    (messages, cut)
}

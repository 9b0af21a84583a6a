//! The service of nodes' memories.

use memory_agent_contract::{
    convert::{node_parent_from, node_place_from, node_turn_from},
    node::NewNodeMessage,
};
use memory_budget::Tokenizer;
use memory_context::claim_node_contents;
use memory_context::counting::{counting, size_of};
use memory_context::{Conversation, Dialogue, parts_of, read_dialogue};
use memory_contract::proto::node_memory_service_server::NodeMemoryService;
use memory_contract::proto::{
    self, AddNodeTurnRequest, AddNodeTurnResponse, DeleteNodeMemoryRequest,
    DeleteNodeMemoryResponse, FlushNodeMemoryRequest, FlushNodeMemoryResponse,
    GetNodeHistoryRequest, GetNodeHistoryResponse, ListNodeMemoriesRequest,
    ListNodeMemoriesResponse, NodeRef,
};
use memory_contract::{
    Invalid, InvalidFields, check, convert::timestamp, limits, page::PageToken, thread::Thread,
};
use memory_grpc::request::{
    Fields, NamedConversation, budget_from, next_token, page_limit, request_id_from,
    required_conversation_at, required_conversation_from, wait_deadline, written,
};
use memory_grpc::{ApiError, caller_of};
use memory_store::{AddedTurn, Caller, Node, NodeMemory, NodeTurn, Policies, Store, StoreError};
use prost::Message as _;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, async_trait};

use super::files::add_metadata;
use crate::storage_quota::{Amount, StorageQuotas};

/// Implements `NodeMemoryService`.
#[derive(Clone)]
pub struct Nodes {
    pub(crate) store: Store,
    pub(crate) quotas: StorageQuotas,
}

#[async_trait]
impl NodeMemoryService for Nodes {
    async fn add_node_turn(
        &self,
        request: Request<AddNodeTurnRequest>,
    ) -> Result<Response<AddNodeTurnResponse>, Status> {
        Ok(Response::new(self.add(request).await?))
    }

    async fn flush_node_memory(
        &self,
        request: Request<FlushNodeMemoryRequest>,
    ) -> Result<Response<FlushNodeMemoryResponse>, Status> {
        Ok(Response::new(self.flush(request).await?))
    }

    async fn get_node_history(
        &self,
        request: Request<GetNodeHistoryRequest>,
    ) -> Result<Response<GetNodeHistoryResponse>, Status> {
        Ok(Response::new(self.history(request).await?))
    }

    async fn delete_node_memory(
        &self,
        request: Request<DeleteNodeMemoryRequest>,
    ) -> Result<Response<DeleteNodeMemoryResponse>, Status> {
        Ok(Response::new(self.clear(request).await?))
    }

    async fn list_node_memories(
        &self,
        request: Request<ListNodeMemoriesRequest>,
    ) -> Result<Response<ListNodeMemoriesResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }
}

impl Nodes {
    /// Handles `AddNodeTurn`.
    pub async fn add(
        &self,
        request: Request<AddNodeTurnRequest>,
    ) -> Result<AddNodeTurnResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let bytes = request.encoded_len();
        let AddNodeTurnRequest {
            node,
            parent,
            user,
            assistant,
            request_id,
            place,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get_all(Named::from(&metadata, node));
        let parent = fields.take(node_parent_from(parent));
        let place = fields.take(node_place_from(place));
        let messages = fields.get_all(node_turn_from(user, assistant));
        let request_id = fields.take(request_id_from(&request_id));
        let (named, mut messages) = fields.all(named.zip(messages))?;
        let (conversation, id) = named.conversation(&self.store, &caller).await?;
        let policies = self.policies(&caller, conversation).await?;
        let node = Node {
            thread: policies.thread.id,
            id,
        };
        let _admitted = self
            .quotas
            .admit_request(
                &caller,
                Amount::of_request(messages.len(), bytes),
                ("node_turn", request_id),
            )
            .await?;
        let (contents, hold) = claim_node_contents(&self.store, &caller, &mut messages).await?;
        let nodes = self.store.nodes(&caller);
        let add = async {
            let turn = NodeTurn {
                node,
                app: policies.thread.session.app.clone(),
                parent,
                place,
                tokens: sizes(&messages).await?,
                messages,
                contents,
                request_id,
                ttl: policies.resolve().node_ttl.into(),
            };
            Ok(nodes.add_node_turn(&turn).await?)
        };
        let is_new = |added: &AddedTurn| !added.replayed;
        let AddedTurn {
            user,
            assistant,
            replayed,
        } = written(&self.store, &caller, &hold, add.await, is_new).await?;
        Ok(AddNodeTurnResponse {
            user_message_id: user,
            assistant_message_id: assistant,
            replayed,
        })
    }

    /// Handles `FlushNodeMemory`.
    pub async fn flush(
        &self,
        request: Request<FlushNodeMemoryRequest>,
    ) -> Result<FlushNodeMemoryResponse, ApiError> {
        let caller = caller_of(&request)?;
        let deadline = wait_deadline(&request);
        let (metadata, _, FlushNodeMemoryRequest { node }) = request.into_parts();
        let named = Named::from(&metadata, node)?;
        let (_, node) = self.node(&caller, named).await?;
        let flushed = self
            .store
            .nodes(&caller)
            .flush_node(&node, deadline)
            .await?;
        Ok(FlushNodeMemoryResponse {
            flushed_turn_count: i32::try_from(flushed).unwrap_or(i32::MAX),
        })
    }

    async fn history(
        &self,
        request: Request<GetNodeHistoryRequest>,
    ) -> Result<GetNodeHistoryResponse, ApiError> {
        let caller = caller_of(&request)?;
        let deadline = wait_deadline(&request);
        let (metadata, _, request) = request.into_parts();
        let GetNodeHistoryRequest {
            node,
            current_message_id,
            max_tokens,
            max_messages,
            oversized_turn,
            model,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get_all(Named::from(&metadata, node));
        let current = fields.take(check::text(
            "current_message_id",
            current_message_id,
            limits::NODE_MESSAGE_ID_CHARS,
        ));
        let budget = budget_from(&mut fields, max_tokens, max_messages, oversized_turn, model);
        let named = fields.all(named)?;
        let (_, node) = self.node(&caller, named).await?;
        let (dialogue, known) =
            read_dialogue(&self.store, &caller, &node, &current, budget, deadline).await?;
        let Dialogue {
            messages,
            total_tokens,
            truncated,
            content_truncated,
            omitted,
        } = dialogue;
        let mut messages: Vec<proto::NodeMessage> = messages.into_iter().map(Into::into).collect();
        for reference in messages.iter_mut().flat_map(|message| &mut message.files) {
            add_metadata(reference, &known);
        }
        Ok(GetNodeHistoryResponse {
            messages,
            total_tokens,
            truncated,
            content_truncated,
            omitted_message_count: omitted.count,
            omitted_token_count: omitted.tokens,
            tokenizer: budget.tokenizer.name().to_owned(),
        })
    }

    async fn clear(
        &self,
        request: Request<DeleteNodeMemoryRequest>,
    ) -> Result<DeleteNodeMemoryResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, DeleteNodeMemoryRequest { node }) = request.into_parts();
        let named = Named::from(&metadata, node)?;
        let (_, node) = self.node(&caller, named).await?;
        Ok(DeleteNodeMemoryResponse {
            deleted_message_count: self.store.nodes(&caller).clear_node(&node).await?,
        })
    }

    async fn list(
        &self,
        request: Request<ListNodeMemoriesRequest>,
    ) -> Result<ListNodeMemoriesResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let ListNodeMemoriesRequest {
            thread,
            page_size,
            page_token,
        } = request;
        let mut fields = Fields::default();
        let limit = fields.take(page_limit(page_size));
        let named = fields.get(required_conversation_from(&metadata, thread));
        let identity = (
            "node memories",
            caller.tenant.as_str(),
            format!("{named:?}"),
        );
        let after = fields.take(PageToken::key(&identity, &page_token));
        let conversation = fields.all(named)?.resolve(&self.store, &caller).await?;
        let thread = self.thread(&caller, conversation).await?;
        let page = self
            .store
            .nodes(&caller)
            .list_node_memories(thread.id, after.unwrap_or_default(), limit)
            .await?;
        Ok(ListNodeMemoriesResponse {
            node_memories: page.items.into_iter().map(node_memory).collect(),
            next_page_token: next_token(&identity, page.next),
        })
    }

    /// The node that a request names, and its thread.
    async fn node(&self, caller: &Caller, named: Named) -> Result<(Thread, Node), ApiError> {
        let (conversation, id) = named.conversation(&self.store, caller).await?;
        let thread = self.thread(caller, conversation).await?;
        let node = Node {
            thread: thread.id,
            id,
        };
        Ok((thread, node))
    }

    async fn thread(
        &self,
        caller: &Caller,
        conversation: Conversation,
    ) -> Result<Thread, ApiError> {
        Ok(match conversation {
            Conversation::Thread(id) => self.store.threads(caller).get_thread(id).await?,
            Conversation::Session(session) => {
                self.store.threads(caller).find_thread(&session).await?
            }
        })
    }

    async fn policies(
        &self,
        caller: &Caller,
        conversation: Conversation,
    ) -> Result<Policies, ApiError> {
        Ok(match conversation {
            Conversation::Thread(id) => self.store.policies(caller).policies(id).await?,
            Conversation::Session(session) => {
                let (thread, app) = self
                    .store
                    .policies(caller)
                    .session_policies(&session)
                    .await?;
                let (thread, thread_ordinal) = thread.ok_or(StoreError::ThreadNotFound)?;
                Policies {
                    server: self.store.server_policy(),
                    thread,
                    thread_ordinal,
                    app,
                }
            }
        })
    }
}

/// A node as a request names it.
struct Named {
    conversation: NamedConversation,
    id: String,
}

impl Named {
    fn from(metadata: &MetadataMap, node: Option<NodeRef>) -> Result<Self, InvalidFields> {
        let NodeRef { thread, node_id } = node.ok_or_else(|| Invalid::missing("node"))?;
        let mut fields = Fields::default();
        let conversation = required_conversation_at(metadata, "node.thread", thread);
        let conversation = fields.get(conversation);
        let id = fields.take(check::required_text(
            "node.node_id",
            node_id,
            limits::NODE_ID_CHARS,
        ));
        let conversation = fields.all(conversation)?;
        Ok(Self { conversation, id })
    }

    /// The conversation, and the node's name.
    async fn conversation(
        self,
        store: &Store,
        caller: &Caller,
    ) -> Result<(Conversation, String), ApiError> {
        Ok((self.conversation.resolve(store, caller).await?, self.id))
    }
}

/// The sizes of both messages, as the store keeps them.
async fn sizes(messages: &[NewNodeMessage; 2]) -> Result<[i32; 2], ApiError> {
    let parts = messages
        .each_ref()
        .map(|message| parts_of(message.content.clone(), message.files.clone()));
    let bytes = parts.each_ref().map(|parts| size_of(parts)).iter().sum();
    let tokenizer = Tokenizer::O200kBase;
    let count = move || parts.map(|parts| tokenizer.count_message("", &parts));
    Ok(counting(bytes, tokenizer, count).await?)
}

fn node_memory(memory: NodeMemory) -> proto::NodeMemory {
    let NodeMemory {
        node,
        object_key: _,
        message_count,
        waiting_count,
        size_bytes,
        updated,
        flushed,
        expires,
        last_error,
    } = memory;
    proto::NodeMemory {
        node_id: node,
        message_count,
        waiting_turn_count: waiting_count,
        size_bytes,
        update_time: Some(timestamp(updated)),
        flush_time: flushed.map(timestamp),
        expire_time: expires.map(timestamp),
        last_error,
    }
}

//! Helpers for tests of nodes' memories.

use memory_contract::proto::{
    AddNodeTurnRequest, AddNodeTurnResponse, DeleteNodeMemoryRequest, FlushNodeMemoryRequest,
    FlushNodeMemoryResponse, GetNodeHistoryRequest, GetServerInfoRequest, GetThreadRequest,
    ListNodeMemoriesRequest, NodeMemory, NodeMessage, NodeMessageInput, NodeRef,
    thread_ref::Thread,
};
use memory_contract::{AppId, TenantId};
use memory_objects::memory_key;
use uuid::Uuid;

use crate::Client;
use crate::by_id;

pub fn node(thread_id: &str, node_id: &str) -> NodeRef {
    NodeRef {
        thread: by_id(thread_id),
        node_id: node_id.to_owned(),
    }
}

/// The id of the thread that [`node`] names.
pub fn thread_of(node: &NodeRef) -> &str {
    let thread = node.thread.as_ref().and_then(|named| named.thread.as_ref());
    match thread {
        Some(Thread::ThreadId(id)) => id,
        other => panic!("not by its id: {other:?}"),
    }
}

/// One side of a turn.
pub fn says(content: &str) -> NodeMessageInput {
    NodeMessageInput {
        content: content.to_owned(),
        ..Default::default()
    }
}

pub fn node_turn(node: &NodeRef, question: &str, answer: &str) -> AddNodeTurnRequest {
    AddNodeTurnRequest {
        node: Some(node.clone()),
        user: Some(says(question)),
        assistant: Some(says(answer)),
        ..Default::default()
    }
}

/// What was said.
pub fn node_texts(messages: &[NodeMessage]) -> Vec<String> {
    messages
        .iter()
        .map(|message| message.content.clone())
        .collect()
}

impl Client {
    /// Adds a turn to a node's memory.
    pub async fn add_node_turn(
        &self,
        node: &NodeRef,
        question: &str,
        answer: &str,
    ) -> AddNodeTurnResponse {
        self.call(node_turn(node, question, answer)).await
    }

    /// Flushes a node's memory.
    pub async fn flush_node(&self, node: &NodeRef) -> FlushNodeMemoryResponse {
        let request = FlushNodeMemoryRequest {
            node: Some(node.clone()),
        };
        self.call(request).await
    }

    /// What was said to and by a node, up to a message; up to the last where that
    /// is empty.
    pub async fn node_dialogue(&self, node: &NodeRef, current: &str) -> Vec<String> {
        let request = GetNodeHistoryRequest {
            node: Some(node.clone()),
            current_message_id: current.to_owned(),
            max_tokens: Some(1_000_000),
            max_messages: Some(500),
            ..Default::default()
        };
        node_texts(&self.call(request).await.messages)
    }

    /// The key of the object of a node memory, in object storage.
    pub async fn object_key(&self, node: &NodeRef) -> String {
        let thread = GetThreadRequest {
            thread: node.thread.clone(),
        };
        let thread = self.call(thread).await.thread.unwrap();
        let tenant = self.call(GetServerInfoRequest {}).await.tenant;
        memory_key(
            &TenantId::new(tenant),
            &AppId::new(thread.app_id),
            thread.thread_id.parse::<Uuid>().unwrap().into(),
            &node.node_id,
        )
    }

    /// Deletes a node's memory; how many messages it had.
    pub async fn delete_node(&self, node: &NodeRef) -> i64 {
        let request = DeleteNodeMemoryRequest {
            node: Some(node.clone()),
        };
        self.call(request).await.deleted_message_count
    }

    pub async fn node_memories(&self, thread_id: &str) -> Vec<NodeMemory> {
        let request = ListNodeMemoriesRequest {
            thread: by_id(thread_id),
            page_size: 500,
            ..Default::default()
        };
        self.call(request).await.node_memories
    }
}

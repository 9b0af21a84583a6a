//! Short ways to talk about the memories of nodes.

use memory_contract::proto::{
    AddNodeTurnRequest, AddNodeTurnResponse, ClearNodeMemoryRequest, FlushNodeMemoryRequest,
    FlushNodeMemoryResponse, GetNodeHistoryRequest, GetNodeHistoryResponse,
    ListNodeMemoriesRequest, NodeMemory, NodeMessage, NodeMessageInput, NodeRef,
};

use crate::Client;

/// A node of a thread.
pub fn node(thread_id: &str, node_id: &str) -> NodeRef {
    NodeRef {
        thread_id: thread_id.to_owned(),
        session: None,
        node_id: node_id.to_owned(),
    }
}

/// One side of a turn.
pub fn says(content: &str) -> NodeMessageInput {
    NodeMessageInput {
        content: content.to_owned(),
        ..Default::default()
    }
}

/// A turn to add.
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
    pub async fn add_turn(&self, request: AddNodeTurnRequest) -> AddNodeTurnResponse {
        let response = self.nodes().add_node_turn(request).await.unwrap();
        response.into_inner()
    }

    /// Flushes a node's memory.
    pub async fn flush_node(&self, node: &NodeRef) -> FlushNodeMemoryResponse {
        let request = FlushNodeMemoryRequest {
            node: Some(node.clone()),
        };
        let response = self.nodes().flush_node_memory(request).await.unwrap();
        response.into_inner()
    }

    /// A node's dialogue.
    pub async fn node_history(&self, request: GetNodeHistoryRequest) -> GetNodeHistoryResponse {
        let response = self.nodes().get_node_history(request).await.unwrap();
        response.into_inner()
    }

    /// What was said to and by a node, up to a message; up to the last where that
    /// is empty.
    pub async fn node_dialogue(&self, node: &NodeRef, current: &str) -> Vec<String> {
        let request = GetNodeHistoryRequest {
            node: Some(node.clone()),
            current_message_id: current.to_owned(),
            max_tokens: 1_000_000,
            message_limit: 500,
            ..Default::default()
        };
        node_texts(&self.node_history(request).await.messages)
    }

    /// Clears a node's memory; how many messages it had.
    pub async fn clear_node(&self, node: &NodeRef) -> i64 {
        let request = ClearNodeMemoryRequest {
            node: Some(node.clone()),
        };
        let response = self.nodes().clear_node_memory(request).await.unwrap();
        response.into_inner().deleted_message_count
    }

    /// The memories of a thread's nodes.
    pub async fn node_memories(&self, thread_id: &str) -> Vec<NodeMemory> {
        let request = ListNodeMemoriesRequest {
            thread_id: thread_id.to_owned(),
            page_size: 500,
            ..Default::default()
        };
        let response = self.nodes().list_node_memories(request).await.unwrap();
        response.into_inner().node_memories
    }
}

//! What tools of MCP have to show of the answers of gRPC: ids, texts and their order.

use memory_contract::message;
use memory_contract::proto::{
    AppendMessagesResponse, BuildContextResponse, ContextBlock, ContextMessage, GetHistoryResponse,
    ListMemoriesResponse, ListThreadsResponse, Memory, Message, Part, RecallResponse, Role,
    SearchMemoriesResponse, Thread,
};
use memory_contract::text::of_parts;
use serde_json::{Value, json};

pub(super) fn appended(answer: &AppendMessagesResponse) -> Value {
    let ids = answer.messages.iter().map(|stored| &stored.message_id);
    json!({"message_ids": ids.collect::<Vec<_>>(), "replayed": answer.replayed})
}

pub(super) fn history(answer: &GetHistoryResponse) -> Value {
    json!({
        "messages": answer.messages.iter().map(stored).collect::<Vec<_>>(),
        "omitted_messages": answer.omitted_message_count,
        "content_truncated": answer.content_truncated,
    })
}

pub(super) fn recalled(answer: &RecallResponse) -> Value {
    let messages = answer.messages.iter().flat_map(|found| &found.message);
    json!({"messages": messages.map(stored).collect::<Vec<_>>()})
}

pub(super) fn found_memories(answer: &SearchMemoriesResponse) -> Value {
    let memories = answer.memories.iter().flat_map(|found| &found.memory);
    json!({"memories": memories.map(memory).collect::<Vec<_>>()})
}

pub(super) fn memories(answer: &ListMemoriesResponse) -> Value {
    json!({
        "memories": answer.memories.iter().map(memory).collect::<Vec<_>>(),
        "next_page_token": unless_empty(&answer.next_page_token),
    })
}

pub(super) fn sessions(answer: &ListThreadsResponse) -> Value {
    let session = |thread: &Thread| {
        json!({
            "session": thread.session_key,
            "title": unless_empty(&thread.title),
            "messages": thread.message_count,
        })
    };
    json!({
        "sessions": answer.threads.iter().map(session).collect::<Vec<_>>(),
        "next_page_token": unless_empty(&answer.next_page_token),
    })
}

pub(super) fn context(answer: &BuildContextResponse) -> Value {
    let message = |message: &ContextMessage| {
        json!({
            "role": role(message.role()),
            "name": unless_empty(&message.name),
            "text": text(&message.parts),
        })
    };
    let block = |block: &ContextBlock| {
        let kind = block.kind().as_str_name();
        json!({
            "kind": kind.trim_start_matches("CONTEXT_BLOCK_KIND_").to_lowercase(),
            "messages": block.messages.iter().map(message).collect::<Vec<_>>(),
        })
    };
    json!({
        "blocks": answer.blocks.iter().map(block).collect::<Vec<_>>(),
        "total_tokens": answer.total_tokens,
    })
}

fn stored(message: &Message) -> Value {
    json!({
        "message_id": message.message_id,
        "role": role(message.role()),
        "name": unless_empty(&message.name),
        "text": text(&message.parts),
    })
}

fn memory(memory: &Memory) -> Value {
    json!({
        "memory_id": memory.memory_id,
        "text": memory.text,
        "topics": (!memory.topics.is_empty()).then_some(&memory.topics),
        "entities": (!memory.entities.is_empty()).then_some(&memory.entities),
    })
}

/// `user`, `assistant`, `system` or `tool`.
pub(super) fn role(role: Role) -> String {
    role.as_str_name()
        .trim_start_matches("ROLE_")
        .to_lowercase()
}

/// A text that is absent where it is empty.
fn unless_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn text(parts: &[Part]) -> String {
    let parts = parts.iter().cloned();
    let parts: Vec<message::Part> = parts.map(|part| part.try_into().unwrap()).collect();
    of_parts(&parts)
}

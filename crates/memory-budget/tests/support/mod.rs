//! Conversations for the tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use memory_budget::{Budget, OversizedTurn, Tokenizer};
use memory_contract::{Message, Part, Role, ToolCall, ToolOutput, ToolResult};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

/// A message whose stored size is right.
pub fn message(role: Role, name: &str, parts: Vec<Part>) -> Message {
    Message {
        id: Uuid::nil().into(),
        thread: Uuid::nil().into(),
        parent: None,
        seq: 0,
        branch: 1,
        depth: 0,
        role,
        name: name.to_owned(),
        tokens: Tokenizer::O200kBase.count_message(name, &parts),
        parts,
        metadata: Map::new(),
        created: OffsetDateTime::UNIX_EPOCH,
    }
}

/// Numbers the messages of a conversation from 1.
pub fn conversation(mut messages: Vec<Message>) -> Vec<Message> {
    for (index, message) in messages.iter_mut().enumerate() {
        message.seq = index as i64 + 1;
        message.depth = index as i32 + 1;
        message.id = Uuid::from_u128(index as u128 + 1).into();
    }
    messages
}

pub fn user(text: &str) -> Message {
    message(Role::User, "", vec![Part::Text(text.to_owned())])
}

pub fn assistant(text: &str) -> Message {
    message(Role::Assistant, "", vec![Part::Text(text.to_owned())])
}

pub fn system(text: &str) -> Message {
    message(Role::System, "", vec![Part::Text(text.to_owned())])
}

pub fn call(id: &str) -> Message {
    message(Role::Assistant, "", vec![call_part(id)])
}

pub fn result(id: &str, output: &str) -> Message {
    message(Role::Tool, "", vec![result_part(id, output)])
}

pub fn call_part(id: &str) -> Part {
    Part::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "look_up".to_owned(),
        arguments: Map::from_iter([("of".to_owned(), Value::from(id))]),
    })
}

pub fn result_part(id: &str, output: &str) -> Part {
    Part::ToolResult(ToolResult {
        call_id: id.to_owned(),
        name: "look_up".to_owned(),
        output: Some(ToolOutput::Text(output.to_owned())),
        is_error: false,
    })
}

/// The messages' places in their conversation.
pub fn seqs(messages: &[Message]) -> Vec<i64> {
    messages.iter().map(|message| message.seq).collect()
}

pub fn tokens(messages: &[Message], tokenizer: Tokenizer) -> i32 {
    messages
        .iter()
        .map(|message| tokenizer.count_message(&message.name, &message.parts))
        .sum()
}

/// For each result, the indices of its message and of the message with the
/// nearest call before it. Written apart from the code under test.
pub fn pairs(messages: &[Message]) -> Vec<(usize, Option<usize>)> {
    let flat: Vec<(usize, &Part)> = messages
        .iter()
        .enumerate()
        .flat_map(|(index, message)| message.parts.iter().map(move |part| (index, part)))
        .collect();
    flat.iter()
        .enumerate()
        .filter_map(|(place, (index, part))| {
            let Part::ToolResult(result) = part else {
                return None;
            };
            let call = flat[..place].iter().rev().find_map(|(index, part)| {
                matches!(part, Part::ToolCall(call) if call.id == result.call_id).then_some(*index)
            });
            Some((*index, call))
        })
        .collect()
}

/// Any conversation at all: roles in any order, calls without results, results
/// without calls, ids used twice.
pub fn any_conversation() -> impl Strategy<Value = Vec<Message>> {
    let id = "[ab]";
    let part = prop_oneof![
        6 => "[a-z é漢😀.\n]{0,60}".prop_map(Part::Text),
        1 => id.prop_map(|id| call_part(&id)),
        1 => (id, "[a-z ]{0,60}").prop_map(|(id, text)| result_part(&id, &text)),
        1 => any::<u16>().prop_map(|n| Part::Json(json!({ "n": n }))),
    ];
    let role = prop::sample::select(vec![
        Role::User,
        Role::User,
        Role::Assistant,
        Role::Assistant,
        Role::Tool,
        Role::System,
    ]);
    let message = (role, "[a-z]{0,5}", prop::collection::vec(part, 0..3))
        .prop_map(|(role, name, parts)| message(role, &name, parts));
    prop::collection::vec(message, 0..24).prop_map(conversation)
}

/// Budgets from nothing to more than enough.
pub fn any_budget() -> impl Strategy<Value = Budget> {
    let policy = prop::sample::select(vec![
        OversizedTurn::TruncateContent,
        OversizedTurn::Drop,
        OversizedTurn::Fail,
    ]);
    let tokenizer = prop::sample::select(vec![Tokenizer::O200kBase, Tokenizer::Cl100kBase]);
    (-1..250_i32, 0..30_usize, policy, tokenizer).prop_map(
        |(max_tokens, message_limit, oversized_turn, tokenizer)| Budget {
            max_tokens,
            message_limit,
            oversized_turn,
            tokenizer,
        },
    )
}

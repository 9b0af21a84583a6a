//! Conversations for the tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use memory_budget::{Budget, OversizedTurn, Tokenizer};
use memory_contract::message::{Content, Message, Part, Role, ToolCall, ToolOutput, ToolResult};
use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

/// A message whose stored size is right.
pub fn message(role: Role, name: &str, parts: Vec<Part>) -> Message {
    Message {
        id: Uuid::nil().into(),
        thread: Uuid::nil().into(),
        seq: 0,
        depth: 0,
        name: name.to_owned(),
        tokens: Tokenizer::O200kBase.count_message(name, &parts),
        ..Message::new(role, parts)
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
    message(Role::User, "", vec![Part::text(text)])
}

pub fn assistant(text: &str) -> Message {
    message(Role::Assistant, "", vec![Part::text(text)])
}

pub fn system(text: &str) -> Message {
    message(Role::System, "", vec![Part::text(text)])
}

pub fn call(id: &str) -> Message {
    message(Role::Assistant, "", vec![call_part(id)])
}

pub fn result(id: &str, output: &str) -> Message {
    message(Role::Tool, "", vec![result_part(id, output)])
}

pub fn call_part(id: &str) -> Part {
    Content::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "look_up".to_owned(),
        arguments: json!({ "of": id }).to_string(),
    })
    .into()
}

pub fn result_part(id: &str, output: &str) -> Part {
    Content::ToolResult(ToolResult {
        call_id: id.to_owned(),
        name: "look_up".to_owned(),
        output: vec![ToolOutput::Text(output.to_owned())],
        is_error: false,
    })
    .into()
}

/// A question, and an agent's loop that answers it: in each step a call and its
/// result.
pub fn agent_loop(steps: usize, output: &str) -> Vec<Message> {
    let step = |number: usize| {
        let id = number.to_string();
        [call(&id), result(&id, output)]
    };
    let mut messages = vec![user("find it out")];
    messages.extend((0..steps).flat_map(step));
    conversation(messages)
}

/// A budget of tokens that shortens an oversized turn.
pub fn budget(max_tokens: i32) -> Budget {
    Budget {
        max_tokens,
        message_limit: 100,
        oversized_turn: OversizedTurn::TruncateContent,
        tokenizer: Tokenizer::O200kBase,
    }
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

/// The messages that were kept, as they were given.
pub fn as_given(messages: &[Message], kept: &[Message]) -> Vec<Message> {
    let kept = seqs(kept);
    let is_kept = |message: &&Message| kept.contains(&message.seq);
    messages.iter().filter(is_kept).cloned().collect()
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
            let Content::ToolResult(result) = &part.content else {
                return None;
            };
            let call = flat[..place].iter().rev().find_map(|(index, part)| {
                matches!(&part.content, Content::ToolCall(call) if call.id == result.call_id)
                    .then_some(*index)
            });
            Some((*index, call))
        })
        .collect()
}

/// Any conversation; it may end with an agent's loop of tool calls.
pub fn any_conversation() -> impl Strategy<Value = Vec<Message>> {
    prop_oneof![
        2 => prop::collection::vec(any_message(), 0..24),
        1 => (prop::collection::vec(any_message(), 0..6), any_loop())
            .prop_map(|(before, last)| [before, last].concat()),
    ]
    .prop_map(conversation)
}

/// Roles in any order, calls without results, results without calls, ids used
/// twice.
fn any_message() -> impl Strategy<Value = Message> {
    let id = "[ab]";
    let part = prop_oneof![
        6 => "[a-z é漢😀.\n]{0,60}".prop_map(Part::text),
        1 => id.prop_map(|id| call_part(&id)),
        1 => (id, "[a-z ]{0,60}").prop_map(|(id, text)| result_part(&id, &text)),
        1 => any::<u16>().prop_map(|n| Content::Json(json!({ "n": n }).to_string()).into()),
    ];
    let role = prop::sample::select(vec![
        Role::User,
        Role::User,
        Role::Assistant,
        Role::Assistant,
        Role::Tool,
        Role::System,
    ]);
    (role, "[a-z]{0,5}", prop::collection::vec(part, 0..3))
        .prop_map(|(role, name, parts)| message(role, &name, parts))
}

/// A user message, and steps of calls that all have their results.
fn any_loop() -> impl Strategy<Value = Vec<Message>> {
    let steps = prop::collection::vec((0..4_usize, "[a-z ]{0,60}"), 0..12);
    steps.prop_map(|steps| {
        let mut messages = vec![user("find it out")];
        for (step, (calls, output)) in steps.into_iter().enumerate() {
            let ids: Vec<String> = (0..calls).map(|call| format!("{step}-{call}")).collect();
            let parts = ids.iter().map(|id| call_part(id)).collect();
            messages.push(message(Role::Assistant, "", parts));
            messages.extend(ids.iter().rev().map(|id| result(id, &output)));
        }
        messages
    })
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

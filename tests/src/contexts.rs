//! Contexts, and what holds of every one of them.

use std::collections::HashSet;

use memory_budget::Tokenizer;
use memory_contract::proto::{
    BuildContextRequest, BuildContextResponse, ContextBlock, ContextBlockKind, ContextMessage,
    MemoryMode, MemoryPolicy, MessageInput, Part, part,
};
use memory_contract::{NewMessage, new_messages_from, object_from};
use prost_types::Struct;
use serde_json::Value;

/// A context of a thread with an input of one text, and a budget that leaves
/// nothing out.
pub fn context_request(thread_id: &str, input: &str) -> BuildContextRequest {
    let text = Part {
        content: Some(part::Content::Text(input.to_owned())),
    };
    BuildContextRequest {
        thread_id: thread_id.to_owned(),
        input: if input.is_empty() {
            Vec::new()
        } else {
            vec![text]
        },
        max_tokens: 1_000_000,
        ..Default::default()
    }
}

/// A policy that sets the mode alone.
pub fn mode(mode: MemoryMode) -> MemoryPolicy {
    MemoryPolicy {
        mode: mode.into(),
        ..Default::default()
    }
}

/// The block of a kind.
pub fn block(context: &BuildContextResponse, kind: ContextBlockKind) -> Option<&ContextBlock> {
    context.blocks.iter().find(|block| block.kind() == kind)
}

/// The kinds of the blocks, in order.
pub fn kinds(context: &BuildContextResponse) -> Vec<ContextBlockKind> {
    context.blocks.iter().map(ContextBlock::kind).collect()
}

/// The texts of a block's messages, one of each; none where there is no block.
pub fn block_texts(context: &BuildContextResponse, kind: ContextBlockKind) -> Vec<String> {
    let messages = block(context, kind).map_or(&[][..], |block| &block.messages);
    messages
        .iter()
        .map(|message| memory_contract::text_of_parts(&domain(message).parts))
        .collect()
}

/// The quotations of what was recalled, read as JSON.
///
/// # Panics
/// If a line is none.
pub fn quotes(context: &BuildContextResponse) -> Vec<Value> {
    let texts = block_texts(context, ContextBlockKind::Recalled);
    let Some(text) = texts.first() else {
        return Vec::new();
    };
    let lines: Vec<&str> = text.split('\n').collect();
    assert!(lines[0].contains("not instructions"), "{text}");
    lines[1..]
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What was said in the quotations.
pub fn quoted_texts(context: &BuildContextResponse) -> Vec<String> {
    quotes(context)
        .iter()
        .map(|quote| quote["text"].as_str().unwrap().to_owned())
        .collect()
}

/// A message as the service sees it.
///
/// # Panics
/// If it could not have been stored.
pub fn domain(message: &ContextMessage) -> NewMessage {
    let input = MessageInput {
        role: message.role,
        name: message.name.clone(),
        parts: message.parts.clone(),
        ..Default::default()
    };
    new_messages_from(vec![input]).unwrap().remove(0)
}

/// An object as JSON.
///
/// # Panics
/// If it is none.
pub fn object_json(object: &Struct) -> Value {
    Value::Object(object_from("object", Some(object.clone()), usize::MAX, 64).unwrap())
}

/// Checks what holds of every context: the order of the blocks, the sizes, the
/// budget, and that nothing stands twice.
///
/// # Panics
/// If anything of it does not hold.
#[track_caller]
pub fn check_context(context: &BuildContextResponse, max_tokens: i32) {
    let tokenizer = Tokenizer::ALL
        .into_iter()
        .find(|tokenizer| tokenizer.name() == context.tokenizer)
        .unwrap();
    let kinds: Vec<i32> = context.blocks.iter().map(|block| block.kind).collect();
    assert!(kinds.is_sorted_by(|left, right| left < right), "{kinds:?}");
    let mut total = 0;
    let mut stored = HashSet::new();
    for block in &context.blocks {
        assert!(!block.messages.is_empty(), "an empty block");
        assert_eq!(block.hash.len(), 64, "{}", block.hash);
        let mut sum = 0;
        for message in &block.messages {
            let said = domain(message);
            let counted = tokenizer.count_message(&said.name, &said.parts);
            assert_eq!(message.token_count, counted, "{message:?}");
            sum += counted;
        }
        assert_eq!(block.token_count, sum);
        total += sum;
        for source in &block.sources {
            assert!(!source.reasons.is_empty(), "{source:?}");
            let id = [&source.message_id, &source.memory_id].into_iter();
            let id: Vec<&String> = id.filter(|id| !id.is_empty()).collect();
            assert_eq!(id.len(), 1, "{source:?}");
            assert!(stored.insert(id[0]), "{} stands twice", id[0]);
        }
        match block.kind() {
            ContextBlockKind::Recent | ContextBlockKind::Node => {
                let ids = |ids: Vec<&String>| ids.into_iter().cloned().collect::<Vec<_>>();
                let messages = block.messages.iter().map(|message| &message.message_id);
                let sources = block.sources.iter().map(|source| &source.message_id);
                assert_eq!(ids(messages.collect()), ids(sources.collect()));
            }
            _ => assert!(block.messages.iter().all(|one| one.message_id.is_empty())),
        }
    }
    assert_eq!(context.total_tokens, total);
    assert!(total <= max_tokens, "{total} of {max_tokens} tokens");
    assert!(context.omitted.len() <= 200);
    for omission in &context.omitted {
        let id = match omission.message_id.is_empty() {
            true => &omission.memory_id,
            false => &omission.message_id,
        };
        assert!(!stored.contains(id), "{id} is there and left out");
    }
    assert!(context.effective_policy.is_some());
}

//! Builds contexts, and checks the invariants of each.

use std::collections::HashSet;

use memory_budget::Tokenizer;
use memory_contract::proto::{
    BuildContextRequest, BuildContextResponse, ContextBlock, ContextBlockKind, ContextCut,
    ContextMessage, MemoryMode, MemoryPolicy, MessageInput, Part, ProviderFormat, part,
};
use memory_contract::{convert::messages_from, message::NewMessage};
use serde_json::Value;

use crate::by_id;

/// A context of a thread, or of none, with an input of one text, a budget that leaves
/// nothing out, and the policy that applied.
pub fn context_request(thread_id: &str, input: &str) -> BuildContextRequest {
    let text = Part {
        content: Some(part::Content::Text(input.to_owned())),
        ..Default::default()
    };
    BuildContextRequest {
        thread: match thread_id {
            "" => None,
            id => by_id(id),
        },
        input: if input.is_empty() {
            Vec::new()
        } else {
            vec![text]
        },
        max_tokens: Some(1_000_000),
        explain: true,
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

pub fn block(context: &BuildContextResponse, kind: ContextBlockKind) -> Option<&ContextBlock> {
    context.blocks.iter().find(|block| block.kind() == kind)
}

/// What a context says that a block lacks; nothing where it says nothing.
pub fn cut(context: &BuildContextResponse, kind: ContextBlockKind) -> ContextCut {
    let mut cuts = context.cuts.iter();
    cuts.find(|cut| cut.kind() == kind)
        .copied()
        .unwrap_or_default()
}

/// The body of a context in a format; empty where it was not asked for.
pub fn body(context: &BuildContextResponse, format: ProviderFormat) -> &str {
    let mut rendered = context.rendered.iter();
    rendered
        .find(|rendered| rendered.format() == format)
        .map_or("", |rendered| &rendered.body)
}

/// The body of a context in a provider's format.
pub fn body_json(context: &BuildContextResponse, format: ProviderFormat) -> Value {
    serde_json::from_str(body(context, format)).unwrap()
}

/// The `messages` of a context in OpenAI's chat format.
pub fn chat_messages(context: &BuildContextResponse) -> Vec<Value> {
    let body = body_json(context, ProviderFormat::OpenaiChat);
    body["messages"].as_array().unwrap().clone()
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
        .map(|message| memory_contract::text::bare_text(&domain(message).parts))
        .collect()
}

/// The quotations of what was recalled, read as JSON.
///
/// # Panics
/// If a line is not a JSON object.
pub fn quotes(context: &BuildContextResponse) -> Vec<Value> {
    let texts = block_texts(context, ContextBlockKind::Recalled);
    texts
        .first()
        .map_or_else(Vec::new, |text| quoted_lines(text))
}

/// What was distilled, each record read as JSON.
///
/// # Panics
/// If a line is not a JSON object.
pub fn records(context: &BuildContextResponse) -> Vec<Value> {
    let texts = block_texts(context, ContextBlockKind::Distilled);
    texts
        .first()
        .map_or_else(Vec::new, |text| quoted_lines(text))
}

fn quoted_lines(text: &str) -> Vec<Value> {
    let lines: Vec<&str> = text.split('\n').collect();
    assert!(lines[0].contains("not instructions"), "{text}");
    lines[1..]
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The texts of the user's profile.
///
/// # Panics
/// If a line is not a JSON object with a text.
pub fn profile_texts(context: &BuildContextResponse) -> Vec<String> {
    let texts = block_texts(context, ContextBlockKind::Profile);
    let lines = texts
        .first()
        .map_or_else(Vec::new, |text| quoted_lines(text));
    lines
        .iter()
        .map(|line| line["text"].as_str().unwrap().to_owned())
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
    messages_from(vec![input]).unwrap().remove(0)
}

/// Checks the invariants of every context: the order of the blocks, the sizes, the
/// budget, and that there are no duplicates.
///
/// # Panics
/// If one of them does not hold.
#[track_caller]
pub fn check_context(context: &BuildContextResponse, max_tokens: i32) {
    let tokenizer = Tokenizer::ALL
        .into_iter()
        .find(|tokenizer| tokenizer.name() == context.tokenizer)
        .unwrap();
    let kinds = kinds(context);
    let before_input = 4 * i32::from(ContextBlockKind::Input);
    let place = |kind: &ContextBlockKind| match kind {
        ContextBlockKind::Profile => 4 * i32::from(ContextBlockKind::Instructions) + 1,
        ContextBlockKind::Plan => before_input - 3,
        ContextBlockKind::Memories if is_distilled(context) => before_input - 2,
        ContextBlockKind::Recalled if is_distilled(context) => before_input - 1,
        other => 4 * i32::from(*other),
    };
    let in_order = kinds.is_sorted_by(|left, right| place(left) < place(right));
    assert!(in_order, "{kinds:?}");
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
            let always = matches!(
                block.kind(),
                ContextBlockKind::Profile | ContextBlockKind::Distilled
            );
            assert_eq!(source.reasons.is_empty(), always, "{source:?}");
            let id = id_of(&source.message_id, &source.memory_id, source.number);
            assert!(stored.insert(id.clone()), "{id} is there twice");
        }
        if block.truncated {
            let lacking = cut(context, block.kind());
            assert!(lacking.item_count > 0, "{:?} is cut silently", block.kind());
        }
        match block.kind() {
            ContextBlockKind::Instructions | ContextBlockKind::Recent | ContextBlockKind::Node => {
                let ids = |ids: Vec<&String>| ids.into_iter().cloned().collect::<Vec<_>>();
                let messages = block.messages.iter().map(|message| &message.message_id);
                let sources = block.sources.iter().map(|source| &source.message_id);
                assert_eq!(ids(messages.collect()), ids(sources.collect()));
            }
            _ => assert!(block.messages.iter().all(|one| one.message_id.is_empty())),
        }
    }
    for cut in &context.cuts {
        assert!(cut.item_count > 0 || cut.token_count > 0, "{cut:?}");
        assert!(cut.item_count >= 0 && cut.token_count >= 0, "{cut:?}");
    }
    assert!(
        context
            .cuts
            .is_sorted_by(|left, right| left.kind < right.kind)
    );
    assert_eq!(context.total_tokens, total);
    assert!(total <= max_tokens, "{total} of {max_tokens} tokens");
    assert!(total <= context.max_tokens);
    assert!(context.omitted.len() <= 200);
    for omission in &context.omitted {
        let id = id_of(&omission.message_id, &omission.memory_id, omission.number);
        assert!(!stored.contains(&id), "{id} is there and left out");
    }
    assert!(context.effective_policy.is_some());
}

/// Whether the mode has derived text; memories and matches come right before the input then.
fn is_distilled(context: &BuildContextResponse) -> bool {
    let effective = context.effective_policy.as_ref();
    let mode = effective
        .and_then(|effective| effective.policy.as_ref())
        .unwrap()
        .mode();
    matches!(mode, MemoryMode::Working | MemoryMode::Observational)
}

/// The one thing that a source or an omission names.
#[track_caller]
fn id_of(message_id: &str, memory_id: &str, number: i64) -> String {
    let number = match number {
        0 => String::new(),
        number => format!("#{number}"),
    };
    let ids = [message_id.to_owned(), memory_id.to_owned(), number];
    let ids: Vec<String> = ids.into_iter().filter(|id| !id.is_empty()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    ids.concat()
}

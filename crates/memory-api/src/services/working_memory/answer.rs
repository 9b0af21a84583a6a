//! A working memory as an answer has it.

use memory_budget::Tokenizer;
use memory_contract::{
    Message, ResolvedPolicy, TenantId, limits, memory_bytes, message_bytes, proto, timestamp,
    to_struct,
};
use memory_store::{Store, WorkingMemory};

use super::size::size_in;
use crate::error::ApiError;
use crate::services::files::KnownFiles;
use crate::services::tokens::counting;

/// Bytes that messages may take in any case.
const MESSAGES_AT_LEAST: usize = 1024 * 1024;

/// Adds its size to a context.
pub(super) async fn counted(context: Option<String>) -> Result<Option<(String, i32)>, ApiError> {
    let Some(text) = context else {
        return Ok(None);
    };
    let tokenizer = Tokenizer::O200kBase;
    let counted = counting(text.len(), tokenizer, move || {
        let tokens = tokenizer.count(&text);
        (text, tokens)
    });
    Ok(Some(counted.await?))
}

/// Makes an answer of what was read: of the messages as many of the newest as fit.
pub(super) async fn of(
    store: &Store,
    tenant: &TenantId,
    mut memory: WorkingMemory,
) -> Result<proto::WorkingMemory, ApiError> {
    let (tokenizer, _) = Tokenizer::for_model(&memory.model);
    let size = size_in(tokenizer, &mut memory).await?;
    let newest_first = memory.messages.iter().rev();
    let known = KnownFiles::of_messages(store, tenant, newest_first).await?;
    let WorkingMemory {
        policies,
        context,
        context_tokens: _,
        summarized_count,
        mut messages,
        message_count,
        message_tokens: _,
        memories,
        data,
        expires,
        model,
        window,
        anything: _,
        etag,
        updated,
    } = memory;
    let data = to_struct(data);
    let beside = context.len()
        + prost::Message::encoded_len(&data)
        + memories.iter().map(memory_bytes).sum::<usize>();
    let room = limits::ANSWER_BYTES
        .saturating_sub(beside)
        .max(MESSAGES_AT_LEAST);
    let bytes = |message: &Message| message_bytes(message) + known.bytes_of(&message.parts);
    let fitting = fitting(&messages, room, bytes);
    let messages = messages.split_off(messages.len() - fitting);
    let policy = policies.resolve();
    let window = window.unwrap_or(policy.context_window.cast_signed());
    let used = f64::from(size.context) + size.messages as f64;
    let thread = policies.thread;
    Ok(proto::WorkingMemory {
        thread_id: thread.id.to_string(),
        namespace: thread.session.app.into(),
        user_id: thread.session.user.into(),
        context,
        messages_left_out: message_count - i64::try_from(messages.len()).unwrap_or(i64::MAX),
        messages: messages.into_iter().map(|one| known.message(one)).collect(),
        memories: memories.into_iter().map(Into::into).collect(),
        data: Some(data),
        expire_time: expires.map(timestamp),
        etag,
        model,
        context_window: window,
        context_tokens: size.context,
        message_tokens: size.messages,
        tokenizer: tokenizer.name().to_owned(),
        context_percentage_total_used: percentage(used, f64::from(window)),
        context_percentage_until_summarization: match threshold_of(&policy) {
            Some(threshold) => percentage(used, f64::from(window) * threshold),
            None => 0.0,
        },
        summarized_message_count: summarized_count,
        update_time: Some(timestamp(updated)),
    })
}

/// How many of the newest messages fit into so many bytes.
fn fitting(messages: &[Message], room: usize, bytes: impl Fn(&Message) -> usize) -> usize {
    let mut left = room;
    let fits = |message: &&Message| match left.checked_sub(bytes(message)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    messages.iter().rev().take_while(fits).count()
}

/// The share of the window at which older turns are summarized; `None` where they
/// are not.
fn threshold_of(policy: &ResolvedPolicy) -> Option<f64> {
    policy
        .summarize
        .then_some(f64::from(policy.summarization_threshold))
}

fn percentage(used: f64, of: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "0 to 100")]
    let percentage = (100.0 * used / of.max(1.0)).clamp(0.0, 100.0) as f32;
    percentage
}

//! Converts working memories to protobuf.

use memory_budget::Tokenizer;
use memory_context::KnownFiles;
use memory_context::counting::counting;
use memory_context::working::size_in;
use memory_contract::{
    convert::timestamp,
    limits,
    message::Message,
    policy::ResolvedPolicy,
    proto,
    size::{fit_metadata, memory_bytes, message_bytes},
};
use memory_grpc::ApiError;
use memory_store::{Caller, Store, WorkingMemory};

use crate::files::with_metadata;
use crate::room::newest_within;

/// The bytes that messages get even where the rest of the answer is large.
const MESSAGES_AT_LEAST: usize = 1024 * 1024;

/// A context with its size in tokens.
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

/// A working memory with as many of its newest messages as fit into an answer.
pub(super) async fn of(
    store: &Store,
    caller: &Caller,
    mut memory: WorkingMemory,
) -> Result<proto::WorkingMemory, ApiError> {
    let (tokenizer, _) = Tokenizer::for_model(&memory.model);
    let size = size_in(tokenizer, &mut memory).await?;
    let newest_first = memory.messages.iter().rev();
    let known = KnownFiles::of_messages(store, caller, newest_first).await?;
    let WorkingMemory {
        policies,
        context,
        context_tokens: _,
        summarized_count,
        mut messages,
        message_count,
        message_tokens: _,
        mut memories,
        data,
        expires,
        model,
        window,
        anything: _,
        etag,
        updated,
    } = memory;
    let others = context.len() + data.bytes();
    fit_metadata(
        &mut memories,
        limits::ANSWER_BYTES.saturating_sub(others + MESSAGES_AT_LEAST),
    );
    let others = others + memories.iter().map(memory_bytes).sum::<usize>();
    let room = limits::ANSWER_BYTES
        .saturating_sub(others)
        .max(MESSAGES_AT_LEAST);
    let bytes = |message: &Message| message_bytes(message) + known.bytes_of(&message.parts);
    let kept = newest_within(&messages, room, bytes).0.len();
    let messages = messages.split_off(messages.len() - kept);
    let policy = policies.resolve();
    let window = window.unwrap_or(policy.context_window.cast_signed());
    let used = f64::from(size.context) + size.messages as f64;
    let thread = policies.thread;
    Ok(proto::WorkingMemory {
        thread_id: thread.id.to_string(),
        app_id: thread.session.app.into(),
        user_id: thread.session.user.into(),
        summary: context,
        omitted_message_count: message_count - i64::try_from(messages.len()).unwrap_or(i64::MAX),
        messages: messages
            .into_iter()
            .map(|one| with_metadata(one, &known))
            .collect(),
        memories: memories.into_iter().map(Into::into).collect(),
        data: data.into_text(),
        expire_time: expires.map(timestamp),
        etag,
        model,
        context_window: window,
        summary_tokens: size.context,
        message_tokens: size.messages,
        tokenizer: tokenizer.name().to_owned(),
        context_percentage_total_used: percentage(used, f64::from(window)),
        context_percentage_until_summarization: match threshold_of(&policy) {
            Some(threshold) => percentage(used, f64::from(window) * threshold),
            None => 0.0,
        },
        summarized_message_count: summarized_count,
        update_time: Some(timestamp(updated)),
        thread_expire_time: thread.expires.map(timestamp),
    })
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

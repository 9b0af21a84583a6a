//! Reads a request for a context.

use std::time::Instant;

use memory_context::{ContextRequest, query_of};
use memory_contract::proto::BuildContextRequest;
use memory_contract::{
    Invalid, check,
    convert::{filter_from, memory_times_from, user_parts_from},
    limits,
    policy::{MemoryMode, PolicyLevel},
};
use memory_grpc::ApiError;
use memory_store::{Caller, Store};
use tonic::metadata::MetadataMap;

use memory_grpc::request::{
    Fields, clock_from, conversation_from, formats_from, freshness_from, method_from,
    oversized_turn_from, policy_at, tokenizer_from,
};

/// Reads a request.
///
/// # Errors
/// Every wrong field at once.
pub(super) async fn read(
    store: &Store,
    caller: &Caller,
    metadata: &MetadataMap,
    request: BuildContextRequest,
) -> Result<ContextRequest, ApiError> {
    let BuildContextRequest {
        thread,
        head_message_id,
        system_prompt,
        input,
        input_name,
        query,
        max_tokens,
        model,
        policy,
        node_id,
        current_message_id,
        oversized_turn,
        filter,
        method,
        freshness,
        all_branches,
        formats,
        reserve_tokens,
        explain,
        query_time,
        as_of,
        known_at,
    } = request;
    let mut fields = Fields::default();
    let conversation = match conversation_from(metadata, thread) {
        Ok(Some(named)) => match named.resolve(store, caller).await {
            Err(ApiError::Invalid(invalid)) => fields.get_all(Err(invalid)),
            found => Some(Some(found?)),
        },
        Ok(None) => Some(None),
        Err(invalid) => fields.get(Err(invalid)),
    };
    let head = fields.take(check::optional_message_name(
        "head_message_id",
        &head_message_id,
    ));
    let system_prompt = fields.take(check::long_text(
        "system_prompt",
        system_prompt,
        limits::TEXT_BYTES,
    ));
    let input = fields.take(user_parts_from("input", input));
    let input_name = fields.take(check::text("input_name", input_name, limits::NAME_CHARS));
    let query = fields.take(check::text("query", query, limits::QUERY_CHARS));
    let clock = fields.get(clock_from(query_time));
    let max_tokens =
        max_tokens.map(|tokens| check::range("max_tokens", tokens, 1, limits::BUDGET_TOKENS));
    let max_tokens = fields.take(max_tokens.transpose());
    let model_window = memory_budget::context_window(&model);
    let model_window = model_window.and_then(|window| u32::try_from(window).ok());
    let tokenizer = fields.take(tokenizer_from(model));
    let policy = fields.get_all(policy_at(PolicyLevel::Request, policy));
    let node_id = fields.take(check::text("node_id", node_id, limits::NODE_ID_CHARS));
    let current_message_id = fields.take(check::text(
        "current_message_id",
        current_message_id,
        limits::NODE_ID_CHARS,
    ));
    let oversized_turn = fields.take(oversized_turn_from(oversized_turn));
    let filter = fields.take(filter_from(filter));
    let memory_times = fields.take(memory_times_from(as_of, known_at));
    let method = fields.take(method_from(method));
    let freshness = fields.get(freshness_from(freshness));
    let reserved = check::range_or(
        "reserve_tokens",
        reserve_tokens,
        0,
        0,
        limits::BUDGET_TOKENS,
    );
    let reserved = fields.take(reserved).unsigned_abs();
    let formats = fields.take(formats_from(formats));
    let mode = policy.as_ref().and_then(|policy| policy.mode);
    if let (Some(None), Some(_)) = (&conversation, &policy)
        && mode != Some(MemoryMode::None)
    {
        let missing = Invalid::new("thread", "is required: a thread_id or a session");
        fields.take(Err::<(), _>(missing));
    }
    let asked = clock.zip(freshness);
    let ((conversation, policy), (clock, (freshness, max_wait))) =
        fields.all(conversation.zip(policy).zip(asked))?;
    Ok(ContextRequest {
        conversation,
        head,
        query: match query.is_empty() {
            true => query_of(&input),
            false => query,
        },
        clock,
        system_prompt,
        input,
        input_name,
        max_tokens,
        reserved,
        tokenizer,
        explain,
        model_window,
        policy,
        node_id,
        current_message_id,
        oversized_turn,
        filter,
        memory_times,
        method,
        freshness,
        wait_until: Instant::now() + max_wait,
        all_branches,
        formats,
    })
}

//! What a request for a context asks, every limit checked.

use std::time::Instant;

use memory_budget::{OversizedTurn, Tokenizer};
use memory_contract::proto::{BuildContextRequest, ContextFormat};
use memory_contract::{
    Invalid, MemoryMode, MemoryPolicy, MessageFilter, MessageId, Part, PolicyLevel, TenantId,
    check, filter_from, limits, text_of_parts, user_parts_from,
};
use memory_recall::Method;
use memory_store::{Revision, Store};
use tonic::metadata::MetadataMap;

use crate::error::ApiError;
use crate::services::fields::Fields;
use crate::services::history::{oversized_turn_from, tokenizer_from};
use crate::services::policies::policy_of;
use crate::services::recall_convert::{method_from, revision_from, wait_from};
use crate::services::sessions::{Conversation, conversation};

/// What to compile.
#[derive(Debug)]
pub(super) struct Wanted {
    /// `None` only where nothing is remembered.
    pub(super) conversation: Option<Conversation>,
    pub(super) head: Option<MessageId>,
    pub(super) system_prompt: String,
    pub(super) input: Vec<Part>,
    pub(super) input_name: String,
    /// What memory is searched for; empty where the conversation has to tell.
    pub(super) query: String,
    pub(super) max_tokens: i32,
    pub(super) tokenizer: Tokenizer,
    pub(super) policy: MemoryPolicy,
    pub(super) node_id: String,
    pub(super) current_message_id: String,
    pub(super) oversized_turn: OversizedTurn,
    pub(super) filter: MessageFilter,
    pub(super) method: Method,
    pub(super) at_least_as_fresh: Option<Revision>,
    /// Until when the index is waited for.
    pub(super) wait_until: Instant,
    pub(super) all_branches: bool,
    pub(super) formats: Vec<ContextFormat>,
}

/// Reads a request.
///
/// # Errors
/// Every wrong field at once; node memory without a conversation.
pub(super) async fn read(
    store: &Store,
    tenant: &TenantId,
    metadata: &MetadataMap,
    request: BuildContextRequest,
) -> Result<Wanted, ApiError> {
    let BuildContextRequest {
        thread_id,
        session,
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
        at_least_as_fresh,
        max_wait,
        all_branches,
        formats,
    } = request;
    let mut fields = Fields::default();
    let conversation = match conversation(store, tenant, metadata, &thread_id, session).await {
        Err(ApiError::Invalid(invalid)) => fields.get_all(Err(invalid)),
        found => Some(found?),
    };
    let head = fields.take(check::optional_uuid("head_message_id", &head_message_id));
    let system_prompt = fields.take(check::long_text(
        "system_prompt",
        system_prompt,
        limits::TEXT_BYTES,
    ));
    let input = fields.take(user_parts_from("input", input));
    let input_name = fields.take(check::text("input_name", input_name, limits::NAME_CHARS));
    let query = fields.take(check::text("query", query, limits::QUERY_CHARS));
    let max_tokens = fields.take(check::range(
        "max_tokens",
        max_tokens,
        0,
        limits::BUDGET_TOKENS,
    ));
    let tokenizer = fields.take(tokenizer_from(model));
    let policy = fields.get_all(policy_of("policy", PolicyLevel::Request, policy));
    let node_id = fields.take(check::text("node_id", node_id, limits::NODE_ID_CHARS));
    let current_message_id = fields.take(check::text(
        "current_message_id",
        current_message_id,
        limits::NODE_ID_CHARS,
    ));
    let oversized_turn = fields.take(oversized_turn_from(oversized_turn));
    let filter = fields.take(filter_from(filter));
    let method = fields.take(method_from(method));
    let at_least_as_fresh = fields.take(revision_from(at_least_as_fresh));
    let max_wait = fields.take(wait_from(max_wait));
    let formats = fields.take(formats_from(formats));
    let mode = policy.as_ref().and_then(|policy| policy.mode);
    if let (Some(None), Some(_)) = (&conversation, &policy)
        && !matches!(mode, Some(MemoryMode::None | MemoryMode::Node))
    {
        let missing = Invalid::new("thread_id", "is required, or else session");
        fields.take(Err::<(), _>(missing));
    }
    let (conversation, policy) = fields.all(conversation.zip(policy))?;
    if conversation.is_none() && mode == Some(MemoryMode::Node) {
        return Err(ApiError::NodeMemoryNeedsConversation);
    }
    Ok(Wanted {
        conversation,
        head: head.map(MessageId::from),
        query: if query.is_empty() {
            query_of(&input)
        } else {
            query
        },
        system_prompt,
        input,
        input_name,
        max_tokens: if max_tokens == 0 {
            limits::CONTEXT_TOKENS
        } else {
            max_tokens
        },
        tokenizer,
        policy,
        node_id,
        current_message_id,
        oversized_turn,
        filter,
        method,
        at_least_as_fresh,
        wait_until: Instant::now() + max_wait.unwrap_or(limits::DEFAULT_WAIT),
        all_branches,
        formats,
    })
}

/// The words of a message as a query: the first of them where they are many.
pub(super) fn query_of(parts: &[Part]) -> String {
    let words = text_of_parts(parts);
    match words.char_indices().nth(limits::QUERY_CHARS) {
        Some((end, _)) => words[..end].to_owned(),
        None => words,
    }
}

fn formats_from(formats: Vec<i32>) -> Result<Vec<ContextFormat>, Invalid> {
    let mut wanted = Vec::new();
    for (index, format) in formats.into_iter().enumerate() {
        match ContextFormat::try_from(format) {
            Ok(ContextFormat::Unspecified) | Err(_) => {
                return Err(Invalid::new(
                    format!("formats[{index}]"),
                    "must be CONTEXT_FORMAT_OPENAI_CHAT, _ANTHROPIC_MESSAGES or _TEXT",
                ));
            }
            Ok(format) if !wanted.contains(&format) => wanted.push(format),
            Ok(_) => {}
        }
    }
    Ok(wanted)
}

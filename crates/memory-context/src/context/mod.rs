//! Contexts: everything that a model is given for one request.
//!
//! A context is made of blocks, in this order: system prompt, instructions, profile, derived text,
//! memories, recalled messages, recent messages, a node's dialogue, input. With derived text, an
//! agent's plan, the memories and the recalled messages come right before the input. System
//! prompt and input are always there; the others share the tokens that these leave.

mod assemble;
mod block;
mod budget;
mod compiled;
mod cut;
mod derived;
mod gist;
mod hash;
mod memories;
mod planned;
mod profile;
mod prompt;
mod quoted;
mod recalled;
mod remembered;
mod request;

use std::time::Instant;

use memory_budget::Budget;
use memory_contract::{
    Invalid, ThreadId,
    file::{FileDelivery, FileRef, FileType, ImageDetail},
    limits,
    message::Part,
    policy::{MemoryMode, PolicyLevel, ResolvedPolicy},
};
use memory_recall::Recall;
use memory_store::{Caller, Store};

pub use self::block::{
    Block, BlockKind, BlockSource, ContextMessage, Omission, SourceId, StoredMessage,
};
pub use self::compiled::Context;
pub use self::cut::BlockCut;
pub use self::request::{ContextRequest, query_of};

use self::assemble::Assembly;
use self::memories::matching_memories;
use self::profile::{known_facts, profile_room};
use self::prompt::Prompt;
use self::remembered::{Reader, Remembered, recall_beyond};
use crate::counting::{counting, size_of};
use crate::error::ContextError;
use crate::files::KnownFiles;
use crate::resolve::{Place, Resolved, Searched, resolve};
use crate::sending::Sending;

/// Builds a context, and makes an answer of it.
///
/// `answer` returns `None` for a context that is too large for one answer; it is called
/// again with a shorter context then. It gets the metadata of the files that the blocks
/// refer to. Reads from object storage end at `deadline`.
///
/// # Errors
/// `node_id` is missing in node mode, system prompt and input are too large, a newest turn
/// is too large and the request asks to fail then, a thread or message that the request
/// names is not stored, or a database fails.
pub async fn build_context<A: Send + 'static>(
    store: &Store,
    recall: &Recall,
    caller: &Caller,
    mut request: ContextRequest,
    deadline: Instant,
    answer: impl Fn(Context, &KnownFiles) -> Option<A> + Send + 'static,
) -> Result<A, ContextError> {
    request.wait_until = request.wait_until.min(deadline);
    let place = format!("{:?}", request.conversation);
    let mode = request.policy.mode;
    let mut prefetch = recall.prefetch(caller, place, mode, &request.query, request.method);
    let Resolved {
        thread,
        thread_ordinal: _,
        policy,
        scope,
        space,
        owner,
    } = resolve_request(store, caller, &request).await?;
    if policy.mode == MemoryMode::Node && request.node_id.is_empty() {
        let chars = limits::NODE_ID_CHARS;
        let problem = format!("is required in MEMORY_MODE_NODE: 1 to {chars} characters");
        return Err(Invalid::new("node_id", problem).into());
    }
    match &scope {
        Some(scope) if policy.mode.searches() && policy.top_k > 0 => {
            prefetch.searches(scope);
        }
        _ => prefetch.searches_nothing(),
    }
    if policy.image_detail == ImageDetail::Low {
        request.tokenizer = request.tokenizer.in_low_detail();
    }
    request.tokenizer = request.tokenizer.describing(described(&policy));
    let given = request.max_tokens;
    let named = request.model_window;
    let (prompt, window) = tokio::try_join!(
        take_prompt(&mut request, &policy),
        model_window(store, caller, thread, given, named, &policy)
    )?;
    let by_policy = || budget::default_budget(&policy, window, prompt.tokens);
    let reserved = i32::try_from(request.reserved).unwrap_or(i32::MAX);
    let whole_budget = given.unwrap_or_else(by_policy).saturating_sub(reserved);
    prompt.check(whole_budget)?;
    let max_tokens = whole_budget - prompt.tokens;
    let most_found = budget::most_found(&policy, given);
    let (owner, space) = (owner.as_ref(), space.as_ref());
    let profile_room = profile_room(&policy, owner, whole_budget, max_tokens);
    let remember = async {
        match (thread, scope) {
            (Some(thread), Some(scope)) => {
                let reader = Reader {
                    store,
                    recall,
                    caller,
                    thread,
                    scope,
                    owner,
                    space,
                    policy: &policy,
                    request: &request,
                    whole_budget,
                    max_tokens: max_tokens - profile_room,
                    deadline,
                };
                reader.read().await
            }
            (_, scope) => {
                let query = &request.query;
                let (recalled, known) = tokio::try_join!(
                    recall_beyond(recall, caller, scope, &policy, &request),
                    matching_memories(recall, caller, owner, space, &policy, &request, query)
                )?;
                Ok(recalled.with(known))
            }
        }
    };
    let facts = known_facts(
        store,
        caller,
        owner,
        space,
        request.memory_times,
        profile_room,
    );
    let (remembered, facts) = tokio::try_join!(remember, facts)?;
    let remembered = Remembered {
        facts,
        ..remembered
    };
    let locations = references(&prompt, &remembered).map(|file| &file.location);
    let files = KnownFiles::of(store, caller, locations).await?;
    let sending = Sending::prepare(
        store,
        caller,
        &policy,
        &request.formats,
        &files,
        references(&prompt, &remembered),
        deadline,
    )
    .await?;
    let assembly = Assembly {
        prompt,
        thread,
        remembered,
        files,
        sending,
        policy,
        budget: Budget {
            max_tokens,
            message_limit: usize::MAX,
            oversized_turn: request.oversized_turn,
            tokenizer: request.tokenizer,
        },
        max_tokens: whole_budget,
        profile_room,
        most_found,
        formats: request.formats,
    };
    let bytes = assembly.bytes();
    counting(bytes, request.tokenizer, move || assembly.answer(answer)).await?
}

/// What the conversation of a request may find; nothing without a conversation.
async fn resolve_request(
    store: &Store,
    caller: &Caller,
    request: &ContextRequest,
) -> Result<Resolved, ContextError> {
    let Some(conversation) = request.conversation.clone() else {
        return Ok(Resolved {
            thread: None,
            thread_ordinal: 0,
            policy: store.resolve_policy(&[(PolicyLevel::Request, &request.policy)]),
            scope: None,
            space: None,
            owner: None,
        });
    };
    let place = Place::Conversation(conversation);
    let searched = Searched::MessagesAndMemories;
    Ok(resolve(store, caller, &place, &request.policy, searched).await?)
}

/// The kinds of files that a policy describes in text instead of sending them.
fn described(policy: &ResolvedPolicy) -> impl Iterator<Item = FileType> {
    FileType::ALL.into_iter().filter(move |kind| {
        policy.file_delivery == FileDelivery::Text || !policy.file_types.contains(kind)
    })
}

/// The window that a default budget is a part of: the one that a policy sets, or else that
/// of the request's model (`named`), or else that of the working memory's model, or else
/// the default of the policy.
async fn model_window(
    store: &Store,
    caller: &Caller,
    thread: Option<ThreadId>,
    max_tokens: Option<i32>,
    named: Option<u32>,
    policy: &ResolvedPolicy,
) -> Result<u32, ContextError> {
    if max_tokens.is_some() || !budget::depends_on_model(policy) {
        return Ok(policy.context_window);
    }
    let (None, Some(thread)) = (named, thread) else {
        return Ok(named.unwrap_or(policy.context_window));
    };
    let memories = store.working_memories(caller);
    let (_, window) = memories.working_model(thread).await?;
    let window = window.and_then(|window| u32::try_from(window).ok());
    Ok(window.unwrap_or(policy.context_window))
}

/// Takes system prompt and input out of the request and counts them.
async fn take_prompt(
    request: &mut ContextRequest,
    policy: &ResolvedPolicy,
) -> Result<Prompt, ContextError> {
    let system_prompt = std::mem::take(&mut request.system_prompt);
    let input = std::mem::take(&mut request.input);
    let input_name = std::mem::take(&mut request.input_name);
    let tokenizer = request.tokenizer;
    let policy = policy.clone();
    let bytes = system_prompt.len() + size_of(&input);
    counting(bytes, tokenizer, move || {
        Prompt::new(system_prompt, input, input_name, &policy, tokenizer)
    })
    .await?
}

/// The files that a context may refer to, the most important first. Quotations refer to
/// none.
fn references<'a>(
    prompt: &'a Prompt,
    remembered: &'a Remembered,
) -> impl Iterator<Item = &'a FileRef> + use<'a> {
    let input = prompt.input.iter().flat_map(|block| &block.messages);
    let input = input.flat_map(|message| &message.parts);
    let recent = remembered.recent.all().rev();
    let recent = recent.flat_map(|message| &message.parts);
    let node = remembered.dialogue.messages.iter().rev();
    let node = node.flat_map(|message| &message.files);
    input.chain(recent).flat_map(Part::files).chain(node)
}

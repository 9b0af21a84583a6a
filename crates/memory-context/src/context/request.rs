//! What a context is asked to contain.

use std::time::Instant;

use memory_budget::{OversizedTurn, Tokenizer};
use memory_contract::{
    MessageName, limits,
    memory::MemoryTimes,
    message::{MessageFilter, Part},
    policy::MemoryPolicy,
    quotation::without_quotations,
    text::bare_text,
};
use memory_formats::Format;
use memory_recall::{Clock, Freshness, Method};

use crate::resolve::Conversation;

/// A request for a context. Every field is within its limits.
#[derive(Clone, Debug)]
pub struct ContextRequest {
    /// The conversation; `None` only in the mode without memory.
    pub conversation: Option<Conversation>,
    /// The message to read back from; `None`: the thread's head.
    pub head: Option<MessageName>,
    /// The system prompt; empty for none.
    pub system_prompt: String,
    /// The current input of the user; empty for none.
    pub input: Vec<Part>,
    /// The name of the user; empty for none.
    pub input_name: String,
    /// The query of the search; empty for the newest message of the user.
    pub query: String,
    /// When and where the query is asked.
    pub clock: Clock,
    /// The budget of the whole context in tokens of `tokenizer`; `None`: the policy's.
    pub max_tokens: Option<i32>,
    /// The tokens of the budget to keep free.
    pub reserved: u32,
    /// Counts the context.
    pub tokenizer: Tokenizer,
    /// Whether to say which matches of recall were left out.
    pub explain: bool,
    /// The window of the model that the request names, in tokens; `None`: it names none, or
    /// an unknown one.
    pub model_window: Option<u32>,
    /// The policy of the request.
    pub policy: MemoryPolicy,
    /// The node in node mode; else ignored.
    pub node_id: String,
    /// The node's message to read back from; empty for the newest.
    pub current_message_id: String,
    /// How a newest turn that is larger than the budget is handled.
    pub oversized_turn: OversizedTurn,
    /// Restricts which messages a search finds.
    pub filter: MessageFilter,
    /// The times as of which memories are read.
    pub memory_times: MemoryTimes,
    /// How messages are searched.
    pub method: Method,
    /// Which changes searches include.
    pub freshness: Freshness,
    /// Until when the index is waited for.
    pub wait_until: Instant,
    /// Whether a search finds messages of all branches.
    pub all_branches: bool,
    /// The forms to render, without repetition.
    pub formats: Vec<Format>,
}

/// The text of a message as a query, without what it quotes, shortened to the longest query.
pub fn query_of(parts: &[Part]) -> String {
    let mut query = without_quotations(&bare_text(parts)).into_owned();
    if let Some((end, _)) = query.char_indices().nth(limits::QUERY_CHARS) {
        query.truncate(end);
    }
    query
}

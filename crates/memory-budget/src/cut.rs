//! Cutting a conversation to a budget.

use memory_contract::Message;

use crate::{BudgetError, Tokenizer};

/// What becomes of a newest turn that alone is larger than the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OversizedTurn {
    /// Its texts are shortened, the longest first, until it fits.
    #[default]
    TruncateContent,
    /// It is left out: nothing is kept.
    Drop,
    /// The cut fails with what would be needed.
    Fail,
}

/// How much of a conversation may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The most tokens.
    pub max_tokens: i32,
    /// The most messages.
    pub message_limit: usize,
    /// What becomes of a newest turn that is larger.
    pub oversized_turn: OversizedTurn,
    /// Who counts the tokens.
    pub tokenizer: Tokenizer,
}

/// What is left of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// The messages kept, in chronological order.
    pub messages: Vec<Message>,
    /// Their tokens by the budget's tokenizer.
    pub total_tokens: i32,
    /// Whether older messages of the conversation were left out.
    pub truncated: bool,
    /// Whether texts of the newest turn were shortened.
    pub content_truncated: bool,
    /// Whether older messages than those given might change the answer.
    pub needs_older: bool,
}

/// Keeps the newest whole turns that fit into the budget. `messages` are
/// chronological; `reaches_root` tells that the first begins the conversation.
pub fn cut(
    _messages: Vec<Message>,
    _budget: &Budget,
    _reaches_root: bool,
) -> Result<Cut, BudgetError> {
    unimplemented!()
}

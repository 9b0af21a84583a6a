//! The limits of a cut.

use crate::Tokenizer;

/// How to treat a newest turn that is larger than the whole budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OversizedTurn {
    /// Keep the message that opens it and its newest steps: as many as the message limit
    /// allows and as fit with empty texts. Then shorten their texts, the longest first,
    /// until all fit. If even the opening message does not fit, keep nothing.
    ///
    /// A step is an assistant message with its tool calls and all their results.
    #[default]
    TruncateContent,
    /// Keep nothing.
    Drop,
    /// Fail with the budget that the turn needs.
    Fail,
}

/// The limits of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Most tokens of all messages together, counted by `tokenizer`.
    pub max_tokens: i32,
    /// Most messages.
    pub message_limit: usize,
    /// How to treat a newest turn that is larger than either limit.
    pub oversized_turn: OversizedTurn,
    /// The tokenizer of `max_tokens`.
    pub tokenizer: Tokenizer,
}

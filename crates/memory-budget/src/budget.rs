//! The limits of a cut.

use crate::Tokenizer;

/// How to treat a newest turn that is larger than the whole budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OversizedTurn {
    /// Keep the message that opens it, and as many of its newest steps as the message limit
    /// allows and as fit beside it with at least 64 tokens of each text. The texts of these
    /// steps are shortened, the longest first, until all fit; the opening message stays whole.
    /// If no step fits beside it, the texts of both it and the newest step are shortened.
    /// Files of both that do not fit are described in text. If the opening message does not
    /// fit with empty texts, keep nothing.
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

//! What can go wrong: only what a caller asked to be told about.

use thiserror::Error;

/// Why a conversation could not be cut.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BudgetError {
    /// The newest turn alone is larger than the budget, and
    /// [`OversizedTurn::Fail`](crate::OversizedTurn::Fail) was asked for.
    #[error(
        "the newest turn has {needed_tokens} tokens in {needed_messages} messages, \
         over the budget of {max_tokens} tokens in {message_limit} messages"
    )]
    TurnTooLarge {
        /// The tokens of the newest turn. A lower bound unless `whole`.
        needed_tokens: i32,
        /// The messages of the newest turn. A lower bound unless `whole`.
        needed_messages: usize,
        /// The tokens that were allowed.
        max_tokens: i32,
        /// The messages that were allowed.
        message_limit: usize,
        /// Whether the beginning of the turn was among the messages given.
        /// Where it was not, the needs are known only in part: cut again with
        /// older messages to learn them.
        whole: bool,
    },
}

impl BudgetError {
    /// Whether the same call may succeed later: never, the crate is pure.
    pub fn retryable(&self) -> bool {
        match self {
            Self::TurnTooLarge { .. } => false,
        }
    }
}

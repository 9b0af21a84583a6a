//! The error of a cut.

use thiserror::Error;

/// A conversation that cannot be cut.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BudgetError {
    /// The newest turn is larger than the budget, under
    /// [`OversizedTurn::Fail`](crate::OversizedTurn::Fail).
    #[error(
        "the newest turn has {needed_tokens} tokens in {needed_messages} messages, \
         over the budget of {max_tokens} tokens in {message_limit} messages"
    )]
    TurnTooLarge {
        /// Tokens of the newest turn; a lower bound unless `whole`.
        needed_tokens: i32,
        /// Messages of the newest turn; a lower bound unless `whole`.
        needed_messages: usize,
        /// The most tokens of the cut.
        max_tokens: i32,
        /// The most messages of the cut.
        message_limit: usize,
        /// Whether the messages included the beginning of the turn. If not, cut again with
        /// older messages to learn its full size.
        whole: bool,
    },
}

impl BudgetError {
    /// The same error about a budget of which something else takes `taken` tokens.
    #[must_use]
    pub fn beside(self, taken: i32) -> Self {
        let Self::TurnTooLarge {
            needed_tokens,
            needed_messages,
            max_tokens,
            message_limit,
            whole,
        } = self;
        Self::TurnTooLarge {
            needed_tokens: needed_tokens.saturating_add(taken),
            needed_messages,
            max_tokens: max_tokens.saturating_add(taken),
            message_limit,
            whole,
        }
    }
}

//! Numbers of items and their tokens.

use memory_contract::message::Message;

/// How many items there are, and their tokens of `o200k_base`, which are the stored counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Items.
    pub count: i64,
    /// Their tokens together.
    pub tokens: i64,
}

impl Amount {
    /// One item.
    pub fn one(tokens: i32) -> Self {
        Self {
            count: 1,
            tokens: tokens.into(),
        }
    }

    /// Messages, by their stored counts.
    pub fn of(messages: &[Message]) -> Self {
        messages.iter().map(|one| Self::one(one.tokens)).sum()
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }

    /// What is left without `part`; never below zero.
    #[must_use]
    pub fn minus(self, part: Self) -> Self {
        Self {
            count: self.count.saturating_sub(part.count).max(0),
            tokens: self.tokens.saturating_sub(part.tokens).max(0),
        }
    }
}

impl std::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Self::plus)
    }
}

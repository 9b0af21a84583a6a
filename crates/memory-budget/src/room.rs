//! Sizes, and what is left of a limit.

use crate::Tokenizer;

/// A size, or a limit of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Tokens; of a limit, `i32::MAX` means unlimited.
    pub tokens: i32,
    /// Bytes; of a limit, `usize::MAX` means unlimited.
    pub bytes: usize,
}

impl Size {
    /// Only a number of bytes.
    pub fn of_bytes(bytes: usize) -> Self {
        Self { tokens: 0, bytes }
    }

    /// Only a number of tokens.
    pub fn of_tokens(tokens: i32) -> Self {
        Self { tokens, bytes: 0 }
    }

    /// The size of a text that was probably counted before; see [`Tokenizer::recount`].
    pub fn of(text: &str, tokenizer: Tokenizer) -> Self {
        Self {
            tokens: tokenizer.recount(text),
            bytes: text.len(),
        }
    }

    /// Whether this is within a limit.
    pub fn fits(self, limit: Self) -> bool {
        self.tokens <= limit.tokens && self.bytes <= limit.bytes
    }

    /// Both sizes together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// What is left without the other size. Tokens may become negative.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }

    /// Half of it, rounded down.
    #[must_use]
    pub fn half(self) -> Self {
        Self {
            tokens: self.tokens / 2,
            bytes: self.bytes / 2,
        }
    }
}

/// A limit that is used up item by item, the most important first.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    limit: Size,
    taken: Size,
}

impl Room {
    /// All of the limit.
    pub fn new(limit: Size) -> Self {
        Self {
            limit,
            taken: Size::default(),
        }
    }

    /// Takes an item of a size, 0 or more. Returns false, and takes nothing, if it does not
    /// fit; smaller items may still fit.
    pub fn take(&mut self, size: Size) -> bool {
        let taken = self.taken.plus(size);
        let fits = taken.fits(self.limit);
        if fits {
            self.taken = taken;
        }
        fits
    }

    /// The size of what was taken; never over the limit.
    pub fn taken(&self) -> Size {
        self.taken
    }

    /// What is left of the limit.
    pub fn left(&self) -> Size {
        self.limit.minus(self.taken)
    }
}

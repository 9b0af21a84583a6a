//! Answers that are not stored.

/// Why an answer is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unstored {
    /// It ended early, or reports an error.
    Unfinished,
    /// It has several alternatives, and the next request tells which one counts.
    Alternatives,
    /// It is larger than what is stored.
    TooLarge,
    /// It is not what the API answers.
    Unreadable,
}

//! Turns: the unit of truncation.

use std::ops::Range;

use memory_contract::Message;

/// A run of messages that is kept or dropped as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its messages, as indices.
    pub messages: Range<usize>,
    /// Whether its beginning is among the messages given.
    pub whole: bool,
}

/// Groups chronological messages into turns.
pub fn turns(_messages: &[Message], _reaches_root: bool) -> Vec<Turn> {
    unimplemented!()
}

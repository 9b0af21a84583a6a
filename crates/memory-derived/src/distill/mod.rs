//! Derived text: summaries and observations that cover ranges of messages.
//!
//! A range is the messages on the path to `(branch, to_depth)` that are deeper
//! than `after_depth`. A text holds on every path that contains its last message, so
//! branches share the texts of the messages that they share, and a branch keeps its
//! texts while the head is on another one.

mod commit;
mod jobs;
mod ledger;
mod range;
mod state;

use memory_contract::MessageId;
use memory_ledger::{DistillKind, Place};
use serde::Deserialize;
use time::OffsetDateTime;

pub use commit::{Commit, Committed, NewObservation, NewReflection, NewSummary};
pub use jobs::{DistillClaim, DistillJob, DistillStats};
pub use range::{MessageRange, RangeQuery};
pub use state::{DistillState, Generations, Raw};

/// Whether a text holds on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It replaces what it covers. Exactly one summary of a path holds.
    Holds,
    /// Another text has replaced it: a later summary based on it, or a reflection. What it
    /// covers stays covered.
    Replaced,
    /// It was made ahead of time, and is not in use yet.
    Ready,
    /// Another text, made for a path that reaches deeper, covers the same messages.
    Shadowed,
}

/// A text that covers messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Distillate {
    /// The memory that it belongs to.
    pub kind: DistillKind,
    /// The order of making, from 1 for each thread and kind.
    pub number: i64,
    /// Whether it holds on the path that was read.
    pub standing: Standing,
    /// The last message that it covers.
    pub end: Place,
    /// It covers messages deeper than this.
    pub after_depth: i32,
    /// The text; empty if a summary covers nothing or sets messages aside.
    pub text: String,
    /// Its size in tokens of `o200k_base`.
    pub tokens: i32,
    /// `extractive`, a model, `caller` or `worker`.
    pub made_by: String,
    /// Of a summary: the one that it follows.
    pub based_on: Option<i64>,
    /// Of a summary: its text does not continue that one's.
    pub own_text: bool,
    /// Of a summary: the messages were set aside (they left the working memory), and the
    /// text does not come from them.
    pub sets_aside: bool,
    /// Of an observation: whether it has replaced what it covers.
    pub active: bool,
    /// Of a reflection: the numbers of all that it condenses; empty for others.
    pub reflects: Vec<i64>,
    /// How many readable messages it covers.
    pub message_count: i64,
    /// Their tokens of `o200k_base`.
    pub message_tokens: i64,
    /// The oldest of them.
    pub first: Option<MessageId>,
    /// The newest of them.
    pub last: Option<MessageId>,
    /// When it was made.
    pub created: OffsetDateTime,
}

impl Distillate {
    /// Whether it condenses observations instead of messages.
    pub fn is_reflection(&self) -> bool {
        !self.reflects.is_empty()
    }
}

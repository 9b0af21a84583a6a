//! The rows of a thread that a ledger reads, and what it answers.

use memory_contract::MessageId;
use serde::Deserialize;

/// The memory that derived text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DistillKind {
    /// The summary of working memory.
    Summary,
    /// Observational memory: observations and reflections.
    Observation,
}

/// A place in the tree of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The branch; 0 before the first message.
    pub branch: i32,
    /// Messages from the root to this one, itself included.
    pub depth: i32,
}

/// The place at which a branch forks from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branching {
    /// The forked branch, from 1.
    pub branch: i32,
    /// The branch that it forks from; 0 for a branch that starts with a root.
    pub parent: i32,
    /// The depth of the message that it forks at; 0 for a root.
    pub fork_depth: i32,
}

/// A derived text, without the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The memory that it belongs to.
    pub kind: DistillKind,
    /// The order of making, from 1 for each thread and kind.
    pub number: i64,
    /// The last message that it covers.
    pub end: Place,
    /// It covers messages deeper than this.
    pub after_depth: i32,
    /// Whether the text is empty.
    pub empty: bool,
    /// Of a summary: the one that it follows.
    pub based_on: Option<i64>,
    /// Of a summary: the messages were set aside.
    pub sets_aside: bool,
    /// Of an observation: it is in use.
    pub active: bool,
    /// Of a reflection: the numbers of what it condenses; empty for others.
    pub reflects: Vec<i64>,
}

/// A message, without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerRow {
    /// Its position in the thread, from 1.
    pub seq: i64,
    /// Unique within the tenant.
    pub id: MessageId,
    /// Its branch and depth.
    pub place: Place,
    /// Its size in tokens; 0 if it was erased.
    pub tokens: i32,
    /// Whether it was erased.
    pub erased: bool,
}

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LedgerState {
    /// No text covers it: it is in the working memory in full.
    Raw,
    /// A summary covers it.
    Summarized,
    /// An observation covers it.
    Observed,
    /// Its content was erased.
    Erased,
    /// It was set aside: taken out of the working memory without being summarized.
    SetAside,
}

/// How many messages of a branch, from the root to its end, are in each state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerCount {
    /// The kind of derived text.
    pub kind: DistillKind,
    /// The branch, from 1.
    pub branch: i32,
    /// The newest message of the branch that can be read.
    pub head: Option<MessageId>,
    /// Whether the thread's head is on the branch.
    pub active: bool,
    /// Messages in all states.
    pub messages: i64,
    /// Messages in full.
    pub raw: i64,
    /// Messages that a summary covers.
    pub summarized: i64,
    /// Messages that an observation covers.
    pub observed: i64,
    /// Erased messages.
    pub erased: i64,
    /// Messages that were set aside.
    pub set_aside: i64,
}

/// A run of messages in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerRange {
    /// The state of all messages of the run.
    pub state: LedgerState,
    /// The text that covers them; 0 for none.
    pub number: i64,
    /// The oldest message of the run.
    pub first: MessageId,
    /// The newest message of the run.
    pub last: MessageId,
    /// The number of messages, from 1.
    pub messages: i64,
    /// Their tokens of `o200k_base`.
    pub tokens: i64,
}

/// An inconsistency.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerFault {
    /// The kind of derived text; `None` for a fault of the messages themselves.
    pub kind: Option<DistillKind>,
    /// The branch; 0 where none is known.
    pub branch: i32,
    /// The text concerned; 0 for none.
    pub number: i64,
    /// The seq of the first message concerned; 0 if no such message exists.
    pub first_seq: i64,
    /// The seq of the last message concerned.
    pub last_seq: i64,
    /// What is wrong, in words.
    pub why: String,
}

/// Values of the thread's row, to compare with its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerThread {
    /// The seq given out last; 0 before the first.
    pub last_seq: i64,
    /// Messages that can be read.
    pub message_count: i64,
    /// Its head, or the one asked for; branch and depth 0 in an empty thread.
    pub head: Place,
}

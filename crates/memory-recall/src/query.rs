//! Requests and answers of recall and search.

use std::time::Duration;

use memory_budget::{Amount, Tokenizer};
use memory_contract::{
    MessageId, MessageName, ThreadId, limits,
    memory::{Memory, MemoryFilter},
    message::{Message, MessageFilter},
    policy::{MemoryMode, ResolvedPolicy},
};
use memory_store::{MemoryOwners, Revision, Scope};
use memory_times::Clock;
use time::OffsetDateTime;

/// How messages are matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// By meaning and by word, in one ranking.
    #[default]
    Hybrid,
    /// By meaning alone.
    Dense,
    /// By word alone.
    Lexical,
}

/// Which changes a search includes in addition to the points of the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// The newest messages or memories of the scope that wait to be indexed.
    #[default]
    Newest,
    /// Changes up to a revision: the search waits until the index has them.
    AtLeast(Revision),
    /// No further changes.
    Eventual,
}

/// A query for messages. Callers validate the limits of
/// `memory_contract::limits` before.
#[derive(Clone, Debug)]
pub struct RecallQuery {
    /// The conversation whose recent window is returned; `None` without one.
    pub thread: Option<ThreadId>,
    /// The thread's place in the order of creation of all threads, which places the window among
    /// messages of other threads. Default: 0, before all others.
    pub thread_ordinal: i64,
    /// Which messages the search may find.
    pub scope: Scope,
    /// Read the thread as if this message were its head: later messages and those on
    /// other branches are inactive. `None` means the stored head. Only with a thread.
    pub head: Option<MessageName>,
    /// The text to search for. Blank: with a time in the filter, the newest messages of that time
    /// match; otherwise none.
    pub query: String,
    /// When and where the query is asked. Default: `None`; times that it names are not read.
    pub clock: Option<Clock>,
    /// Newest messages of the active branch to return; 0 for none.
    pub recent_window: usize,
    /// Best matches to return; 0 means no search.
    pub top_k: usize,
    /// Messages to return before each match.
    pub neighbors_before: usize,
    /// Messages to return after each match.
    pub neighbors_after: usize,
    /// Restricts the matches, not the window and the neighbors.
    pub filter: MessageFilter,
    /// Budget for all returned messages together, in tokens of `tokenizer`; `None`
    /// for no budget.
    pub max_tokens: Option<usize>,
    /// Counts the tokens of `max_tokens` and [`Recalled::total_tokens`].
    pub tokenizer: Tokenizer,
    /// Drops matches with a lower score. Range 0.0 to 1.0. A list by time has no scores.
    pub min_score: f32,
    /// How messages are matched.
    pub method: Method,
    /// Which changes the search includes.
    pub freshness: Freshness,
    /// Longest wait for a revision. After it the index is searched as it is, and
    /// Postgres by word for the rest.
    pub max_wait: Duration,
    /// Also returns matches on inactive branches.
    pub all_branches: bool,
    /// Entries of [`Recalled::omitted`], at most. Default: 0.
    pub omissions: usize,
}

impl RecallQuery {
    /// A query with the defaults of `memory_contract::limits`: no filter, no budget,
    /// the newest changes included, active branches only.
    pub fn new(thread: Option<ThreadId>, scope: Scope, query: impl Into<String>) -> Self {
        Self {
            thread,
            thread_ordinal: 0,
            scope,
            head: None,
            query: query.into(),
            clock: None,
            recent_window: limits::RECENT_WINDOW as usize,
            top_k: limits::TOP_K as usize,
            neighbors_before: limits::NEIGHBORS_BEFORE as usize,
            neighbors_after: limits::NEIGHBORS_AFTER as usize,
            filter: MessageFilter::default(),
            max_tokens: None,
            tokenizer: Tokenizer::O200kBase,
            min_score: 0.0,
            method: Method::Hybrid,
            freshness: Freshness::Newest,
            max_wait: limits::DEFAULT_WAIT,
            all_branches: false,
            omissions: 0,
        }
    }

    /// A query with the numbers of a policy: the modes `none` and `node` search nothing, `window`
    /// has no matches. Otherwise as [`RecallQuery::new`].
    pub fn under(
        policy: &ResolvedPolicy,
        thread: Option<ThreadId>,
        scope: Scope,
        query: impl Into<String>,
    ) -> Self {
        let (recent_window, top_k) = match policy.mode {
            // A node's memory is not the conversation's.
            MemoryMode::None | MemoryMode::Node => (0, 0),
            MemoryMode::Window => {
                let unbounded = limits::WINDOW_MAX.unsigned_abs();
                (policy.window().unwrap_or(unbounded), 0)
            }
            MemoryMode::Hybrid | MemoryMode::Working | MemoryMode::Observational => {
                (policy.recent_window, policy.top_k)
            }
        };
        Self {
            recent_window: recent_window as usize,
            top_k: top_k as usize,
            neighbors_before: policy.neighbors_before as usize,
            neighbors_after: policy.neighbors_after as usize,
            min_score: policy.min_score.in_recall(),
            ..Self::new(thread, scope, query)
        }
    }

    /// The thread whose stored head is replaced, and the message that replaces it.
    pub(crate) fn head(&self) -> Option<(ThreadId, &MessageName)> {
        self.thread.zip(self.head.as_ref())
    }

    /// Whether the query has no text, and asks for what was said at a time.
    pub(crate) fn lists(&self) -> bool {
        let has_time = self.filter.start.is_some() || self.filter.end.is_some();
        self.top_k > 0 && self.query.trim().is_empty() && has_time
    }

    /// Whether the query has a text to match.
    pub fn searches(&self) -> bool {
        self.top_k > 0 && !self.query.trim().is_empty()
    }
}

/// A search among the long-term memories of one user. Callers validate the limits of
/// `memory_contract::limits` before.
#[derive(Clone, Debug)]
pub struct MemoryQuery {
    /// The owners whose memories may be found.
    pub owners: MemoryOwners,
    /// The text to search for; blank finds nothing.
    pub query: String,
    /// Most memories to return.
    pub limit: usize,
    /// Restricts the memories.
    pub filter: MemoryFilter,
    /// How memories are matched.
    pub method: Method,
    /// Drops memories with a lower score. Range 0.0 to 1.0.
    pub min_score: f32,
    /// Which changes the search includes.
    pub freshness: Freshness,
    /// Longest wait for a revision.
    pub max_wait: Duration,
}

/// A memory that matches a query.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundMemory {
    /// The memory, as stored in Postgres.
    pub memory: Memory,
    /// How relevant it is: an estimated probability, 0.0 to 1.0.
    pub score: f32,
    /// Cosine similarity of memory and query; `None` if the dense search did not find it.
    pub dense_score: Option<f32>,
    /// BM25 score; `None` if the lexical search did not find it.
    pub lexical_score: Option<f32>,
}

/// The answer to a [`MemoryQuery`].
#[derive(Clone, Debug, Default)]
pub struct FoundMemories {
    /// Best match first.
    pub memories: Vec<FoundMemory>,
    /// How they were matched; `None`: nothing was searched.
    pub method: Option<Method>,
    /// Memories of the owners that wait to be indexed, as far as they were counted. Once they are
    /// indexed, others may match.
    pub pending: u64,
    /// Why the answer may lack matches; empty for a complete answer.
    pub degradations: Vec<Degradation>,
}

/// The answer to a [`RecallQuery`].
#[derive(Clone, Debug, Default)]
pub struct Recalled {
    /// Window, matches and neighbors, ordered by creation of their threads, then by
    /// seq.
    pub messages: Vec<RecalledMessage>,
    /// Size of all messages together, in tokens of the query's tokenizer.
    pub total_tokens: usize,
    /// How the matches were found; `None`: nothing was searched.
    pub method: Option<Method>,
    /// The past times that the query names, in its order.
    pub named_times: Vec<NamedTime>,
    /// Messages of the scope that wait to be indexed, as far as they were counted; 0 unless the
    /// query asks for the newest changes. Once they are indexed, others may match.
    pub pending: u64,
    /// Why the answer may lack matches; empty for a complete answer.
    pub degradations: Vec<Degradation>,
    /// Candidates that were left out, at most [`RecallQuery::omissions`], the best of them.
    pub omitted: Vec<Omission>,
    /// Messages that were found and exceed the budget or the size of an answer; at most one entry
    /// for each reason.
    pub cuts: Vec<RecallCut>,
}

/// A time that a query names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTime {
    /// The words of the query.
    pub text: String,
    /// The first moment.
    pub start: OffsetDateTime,
    /// The moment after the last one.
    pub end: OffsetDateTime,
    /// Whether a date, a month or a year names it, and not a distance from the query's time.
    pub is_of_calendar: bool,
}

/// Messages that were found and did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecallCut {
    /// The first reason for which they would have been returned.
    pub reason: Reason,
    /// Their number, at least one, and their size.
    pub omitted: Amount,
}

/// The answer to a search for matches alone.
#[derive(Clone, Debug, Default)]
pub struct FoundMessages {
    /// Best match first.
    pub matches: Vec<RecalledMessage>,
    /// How they were found; `None`: nothing was searched.
    pub method: Option<Method>,
    /// The past times that the query names, in its order.
    pub named_times: Vec<NamedTime>,
    /// Why the answer may lack matches; empty for a complete answer.
    pub degradations: Vec<Degradation>,
    /// The matches that exceed the size of an answer.
    pub cuts: Vec<RecallCut>,
}

/// A returned message and the reasons for it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecalledMessage {
    /// The message, exactly as it was stored.
    pub message: Message,
    /// Every reason that applies, at least one.
    pub reasons: Vec<Reason>,
    /// Rank among the matches, from 1; 0 if the message is not a match.
    pub rank: u32,
    /// How relevant it is: an estimated probability, 0.0 to 1.0; 0 if it is not a match.
    pub score: f32,
    /// Cosine similarity of message and query; `None` if the dense search did not find
    /// it.
    pub dense_score: Option<f32>,
    /// BM25 score; `None` if the lexical search did not find it.
    pub lexical_score: Option<f32>,
    /// The passage of a long message that is closest in meaning to the query; `None` if that is its
    /// beginning, or unknown.
    pub passage: Option<String>,
    /// The matches that this message is a neighbor of.
    pub neighbor_of: Vec<MessageId>,
}

/// Why a message was returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It is in the recent window.
    Recent,
    /// It matches the query.
    Match,
    /// It is a neighbor of a match.
    Neighbor,
}

/// A candidate that was left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Omission {
    /// The candidate.
    pub message: MessageId,
    /// Why it was left out.
    pub reason: OmissionReason,
    /// Its score. Range 0.0 to 1.0; 0 for a candidate that is not a match.
    pub score: f32,
}

/// Why a candidate was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OmissionReason {
    /// It exceeds the token or byte budget.
    Budget,
    /// A message with the same role, name and content is returned, or the caller has its
    /// content in another form.
    Duplicate,
    /// Its score is below `min_score`.
    Threshold,
    /// `top_k` better matches were found.
    Rank,
    /// It is on an inactive branch.
    Branch,
}

/// The documents that a search found.
#[derive(Clone, Debug, Default)]
pub struct FoundDocuments {
    /// The documents in order.
    pub found: memory_store::FoundDocuments,
    /// How they were matched; `None`: without a query.
    pub method: Option<Method>,
    /// Why the answer may lack matches; empty for a complete answer.
    pub degradations: Vec<Degradation>,
}

/// One reason why an answer may lack matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Degradation {
    /// The kind of degradation.
    pub reason: DegradationReason,
    /// Explains to the caller what is missing and what replaced it.
    pub message: String,
}

/// A kind of degradation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DegradationReason {
    /// The index failed; matches come from Postgres, by keyword only.
    IndexUnavailable,
    /// The query could not be embedded; matches are by keyword only.
    EmbedderUnavailable,
    /// The index did not reach the revision within the wait, or more changes wait than a
    /// search includes; Postgres was searched by word as well.
    IndexLagging,
    /// A change up to the revision was given up as a dead letter.
    NotIndexed,
    /// The index is being rebuilt; Postgres was searched by word as well.
    IndexRebuilding,
    /// A list by time ended at the most messages that it reads.
    ListCut,
}

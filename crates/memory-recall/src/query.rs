//! What is asked, and what is answered.

use std::time::Duration;

use memory_budget::Tokenizer;
use memory_contract::{
    AppId, Memory, MemoryFilter, MemoryOwner, Message, MessageFilter, MessageId, ThreadId, UserId,
    limits,
};

/// Whose memory is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A conversation at hand.
    Thread(ThreadId),
    /// A user of an app, without a conversation at hand. The user may be empty
    /// only under [`Scope::App`].
    User {
        /// The app.
        app: AppId,
        /// The user.
        user: UserId,
    },
}

/// Whose messages a search may find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The thread's.
    Thread,
    /// Those of all threads of the user in the app. For a thread without a user
    /// that is the thread alone.
    User,
    /// Those of all threads of the app.
    App,
}

/// What recall draws from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    None,
    /// The recent window; the index is never touched.
    Window,
    /// The recent window and the best matches.
    #[default]
    Hybrid,
}

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

/// A question to the memory. Every limit has been checked.
#[derive(Clone, Debug)]
pub struct RecallQuery {
    /// Whose memory is asked.
    pub target: Target,
    /// Whose messages the search may find.
    pub scope: Scope,
    /// What stands for the head of the conversation at hand: what was said after
    /// it, or on another branch, is not on the active one.
    pub head: Option<MessageId>,
    /// What to look for; empty: only the recent window.
    pub query: String,
    /// What recall draws from.
    pub mode: Mode,
    /// Newest messages of the active branch to return.
    pub recent_window: usize,
    /// Best matches to return.
    pub top_k: usize,
    /// Messages to return before each match.
    pub neighbors_before: usize,
    /// Messages to return after each match.
    pub neighbors_after: usize,
    /// Keeps some of the matches.
    pub filter: MessageFilter,
    /// The budget for everything returned, in tokens; `None` for no budget.
    pub max_tokens: Option<usize>,
    /// What counts the tokens.
    pub tokenizer: Tokenizer,
    /// Drops matches whose score is lower: 0.0 to 1.0.
    pub min_score: f32,
    /// How messages are matched.
    pub method: Method,
    /// The revision token that the search has to see; empty: none.
    pub at_least_as_fresh: String,
    /// How long to wait for it.
    pub max_wait: Duration,
    /// Also finds messages on branches other than the active one.
    pub all_branches: bool,
    /// Fills [`Recalled::omitted`].
    pub explain: bool,
}

impl RecallQuery {
    /// A question with the defaults of the contract.
    pub fn new(target: Target, scope: Scope, query: impl Into<String>) -> Self {
        Self {
            target,
            scope,
            head: None,
            query: query.into(),
            mode: Mode::Hybrid,
            recent_window: limits::RECENT_WINDOW as usize,
            top_k: limits::TOP_K as usize,
            neighbors_before: limits::NEIGHBORS_BEFORE as usize,
            neighbors_after: limits::NEIGHBORS_AFTER as usize,
            filter: MessageFilter::default(),
            max_tokens: None,
            tokenizer: Tokenizer::O200kBase,
            min_score: 0.0,
            method: Method::Hybrid,
            at_least_as_fresh: String::new(),
            max_wait: Duration::from_secs(2),
            all_branches: false,
            explain: false,
        }
    }
}

/// A search among the long-term memories of one user. Every limit has been checked.
#[derive(Clone, Debug)]
pub struct MemoryQuery {
    /// Whose memories may be found.
    pub owner: MemoryOwner,
    /// What to look for.
    pub query: String,
    /// The most memories to return.
    pub limit: usize,
    /// Keeps some of them.
    pub filter: MemoryFilter,
    /// How they are matched.
    pub method: Method,
    /// Drops memories whose score is lower: 0.0 to 1.0.
    pub min_score: f32,
    /// The revision token that the search has to see; empty: none.
    pub at_least_as_fresh: String,
    /// How long to wait for it.
    pub max_wait: Duration,
}

/// A memory that matches.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundMemory {
    /// The memory.
    pub memory: Memory,
    /// The match's strength, 0.0 to 1.0.
    pub score: f32,
    /// The cosine similarity of memory and query, if the search by meaning found
    /// it.
    pub dense_score: Option<f32>,
    /// The BM25 score, if the search by word found it.
    pub lexical_score: Option<f32>,
}

/// What a search among memories found.
#[derive(Clone, Debug, Default)]
pub struct FoundMemories {
    /// The best first.
    pub memories: Vec<FoundMemory>,
    /// In which ways the answer is less than was asked for.
    pub degradations: Vec<Degradation>,
}

/// A search for the best matches alone. Every limit has been checked.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    /// Whose memory is asked.
    pub target: Target,
    /// Whose messages the search may find.
    pub scope: Scope,
    /// What to look for.
    pub query: String,
    /// The most matches to return.
    pub limit: usize,
    /// Keeps some of the matches.
    pub filter: MessageFilter,
    /// How messages are matched.
    pub method: Method,
    /// Drops matches whose score is lower: 0.0 to 1.0.
    pub min_score: f32,
    /// The revision token that the search has to see; empty: none.
    pub at_least_as_fresh: String,
    /// How long to wait for it.
    pub max_wait: Duration,
    /// Also finds messages on branches other than the active one.
    pub all_branches: bool,
}

/// What was recalled.
#[derive(Clone, Debug, Default)]
pub struct Recalled {
    /// In the order in which they were said: by the creation of their threads,
    /// then by seq.
    pub messages: Vec<RecalledMessage>,
    /// The size of all messages together, in tokens of the query's tokenizer.
    pub total_tokens: usize,
    /// In which ways the answer is less than was asked for.
    pub degradations: Vec<Degradation>,
    /// Candidates left out, where the query asked for an explanation.
    pub omitted: Vec<Omission>,
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The best matches, the best first.
    pub matches: Vec<RecalledMessage>,
    /// In which ways the answer is less than was asked for.
    pub degradations: Vec<Degradation>,
}

/// A message and why it is there.
#[derive(Clone, Debug, PartialEq)]
pub struct RecalledMessage {
    /// The message, exactly as it was stored.
    pub message: Message,
    /// All the reasons for which it is there.
    pub reasons: Vec<Reason>,
    /// Its place among the matches, from 1; 0: it is not a match.
    pub rank: u32,
    /// The match's strength, 0.0 to 1.0.
    pub score: f32,
    /// The cosine similarity of message and query, if the search by meaning
    /// found it.
    pub dense_score: Option<f32>,
    /// The BM25 score, if the search by word found it.
    pub lexical_score: Option<f32>,
    /// The matches beside which it stands.
    pub neighbor_of: Vec<MessageId>,
}

/// Why a message was returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It is in the recent window.
    Recent,
    /// It matches the query.
    Match,
    /// It stands beside a match.
    Neighbor,
}

/// A candidate that was left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Omission {
    /// The candidate.
    pub message: MessageId,
    /// Why it was left out.
    pub reason: OmissionReason,
    /// Its score; 0 where it is not a match.
    pub score: f32,
}

/// Why a candidate was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OmissionReason {
    /// It did not fit into the budget.
    Budget,
    /// A message with the same speaker and content is returned already.
    Duplicate,
    /// Its score is below the least asked for.
    Threshold,
    /// Enough better matches were found.
    Rank,
    /// It is on a branch that is not active.
    Branch,
}

/// One way in which an answer is less than was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Degradation {
    /// Its kind.
    pub reason: DegradationReason,
    /// What is missing and what was done instead, in words for the caller.
    pub message: String,
}

/// A kind of degradation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DegradationReason {
    /// The index did not answer; matches come from the store, by word alone.
    IndexUnavailable,
    /// The query could not be embedded; matches are by word alone.
    EmbedderUnavailable,
    /// The index did not reach the revision in time; the newest messages were
    /// matched by word in the store.
    IndexLagging,
    /// A message of the thread could not be indexed.
    NotIndexed,
    /// The index was lost and is being rebuilt.
    IndexRebuilding,
}

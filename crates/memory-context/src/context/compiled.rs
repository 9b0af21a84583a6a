//! A compiled context.

use memory_budget::Tokenizer;
use memory_contract::policy::ResolvedPolicy;
use memory_formats::Rendered;
use memory_recall::{Degradation, Method, NamedTime};

use super::block::{Block, Omission};
use super::cut::BlockCut;

/// A compiled context, also rendered into the requested chat formats.
#[derive(Clone, Debug)]
pub struct Context {
    /// The blocks, in the order in which a model is given them.
    pub blocks: Vec<Block>,
    /// The tokens of all blocks, within the budget.
    pub total_tokens: i32,
    /// The budget.
    pub max_tokens: i32,
    /// The tokenizer that counted them.
    pub tokenizer: Tokenizer,
    /// The policy that applied.
    pub policy: ResolvedPolicy,
    /// What was left out, at most [`limits::OMITTED`](memory_contract::limits::OMITTED) entries.
    pub omitted: Vec<Omission>,
    /// How messages and memories were matched; `None`: nothing was searched.
    pub method: Option<Method>,
    /// The past times that the query names.
    pub named_times: Vec<NamedTime>,
    /// Messages and memories in the scope of the search that wait to be indexed, as far as they
    /// were counted.
    pub pending: u64,
    /// How much was left out, one entry for each kind of block that lacks something.
    pub cuts: Vec<BlockCut>,
    /// The parts of the context that were degraded, each reason once.
    pub degradations: Vec<Degradation>,
    /// The context in each format that was asked for, in the order of the request.
    pub rendered: Vec<Rendered>,
    /// The SHA-256 of the blocks' hashes in hexadecimal: equal contexts have equal hashes.
    pub hash: String,
}

//! Searches of the index, and the candidates that they find.

use std::collections::HashSet;
use std::sync::Arc;

use memory_contract::{ThreadId, message::Role};
use memory_text::{Form, LexicalVector};
use uuid::Uuid;

use crate::filter::Selection;

/// A search for candidates.
#[derive(Clone, Debug)]
pub struct Search {
    /// The points that may be found.
    pub selection: Selection,
    /// The query's dense vector; `None` for no dense search.
    pub dense: Option<Vec<f32>>,
    /// The query's words, weighed by [`WordCounts::weigh`]; `None` for no lexical search.
    pub lexical: Option<LexicalVector>,
    /// Most candidates of each of the two searches.
    pub limit: usize,
}

/// The result of a search. Each list is ordered best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// Dense candidates; the score is the cosine similarity.
    pub dense: Vec<Candidate>,
    /// Lexical candidates; the score is the dot product with the query, above 0.
    pub lexical: Vec<Candidate>,
    /// The ids of lexical candidates that have no vector yet. A hybrid ranking weighs them
    /// by their words alone.
    pub unembedded: HashSet<Uuid>,
}

/// A found message or memory with the fields that the ranking needs. For a memory only
/// `id` and `score` have a meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The id of the message or the memory.
    pub id: Uuid,
    /// The thread that it belongs to.
    pub thread: ThreadId,
    /// Its place in the thread, from 1.
    pub seq: i64,
    /// The branch of the thread, from 1.
    pub branch: i32,
    /// Messages on the path from the root to it, itself included.
    pub depth: i32,
    /// The speaker's role.
    pub role: Role,
    /// The speaker's name; may be empty.
    pub name: Arc<str>,
    /// Whether it ends with a question mark.
    pub question: bool,
    /// Whether its text is short (under 60 characters).
    pub short: bool,
    /// Its creation time, in microseconds since 1970.
    pub said: i64,
    /// The words and traits of its text; `None` if its point was written before there were
    /// any.
    pub form: Option<Form>,
    /// The passage that was found; `None` for the text as a whole, of which a vector has the
    /// beginning.
    pub passage: Option<Passage>,
    /// Score within its list.
    pub score: f32,
}

/// A passage of a long message after its first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its number, from 2.
    pub number: u16,
    /// The passages of the message that are indexed, its first one included.
    pub of: u16,
}

//! The index: points go in, candidates come out. Two backends, one trait.

mod edge;
mod filter;
mod payload;
mod qdrant;
mod schema;
mod unavailable;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use memory_contract::{
    AppId, MemoryId, MemoryOrigin, MemoryOwner, MemoryType, MessageId, Role, TenantId, ThreadId,
    UserId,
};
use serde_json::{Map, Value};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::config::{BackendChoice, IndexConfig};
use crate::error::RecallError;

pub use edge::EdgeIndex;
#[cfg(feature = "test-server")]
pub(crate) use edge::path;
pub use filter::Selection;
pub use qdrant::QdrantIndex;
pub use schema::IndexSchema;
pub use unavailable::UnavailableIndex;

/// A vector index with points of all tenants. Every method may be called at any
/// time and from any task.
#[async_trait]
pub trait Index: Send + Sync + 'static {
    /// Which backend it is.
    fn backend(&self) -> Backend;

    /// What the index was made for.
    fn schema(&self) -> &IndexSchema;

    /// Makes the collection, its payload indexes and the alias where they are
    /// missing, and tells whether the points have to be brought again because
    /// the collection is new or was lost. Idempotent.
    ///
    /// # Errors
    /// [`RecallError::IndexUnavailable`], [`RecallError::IndexTimeout`],
    /// [`RecallError::IndexRefused`].
    async fn prepare(&self) -> Result<Prepared, RecallError>;

    /// Carries out changes, in order. When it returns, they are durable and
    /// every later search sees them. After an error some of them may have been
    /// carried out: each is idempotent.
    ///
    /// # Errors
    /// As [`Index::prepare`], and [`RecallError::Dimensions`].
    async fn apply(&self, changes: Vec<Change>) -> Result<(), RecallError>;

    /// Finds candidates by meaning, by word, or both, in one request.
    ///
    /// # Errors
    /// As [`Index::apply`].
    async fn search(&self, search: Search) -> Result<Candidates, RecallError>;

    /// The speakers' names among the selected points, the most frequent first,
    /// at most `limit`.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn names(&self, selection: &Selection, limit: usize) -> Result<Vec<String>, RecallError>;

    /// Marks the index as one that is being rebuilt, or as whole again. Until
    /// the first mark [`Index::prepare`] calls it new. The mark outlives this
    /// process.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn mark_rebuilding(&self, rebuilding: bool) -> Result<(), RecallError>;

    /// What the index can do at the moment, and how many points the tenant has.
    /// It never fails: an index that does not answer is
    /// [`IndexState::Unavailable`].
    async fn status(&self, tenant: &TenantId) -> IndexStatus;

    /// What the index could do when it was last asked, without asking it.
    fn last_state(&self) -> IndexState;

    /// What keeps the index from answering and will not mend by itself, in
    /// words, with what to do; `None` where nothing does.
    fn flaw(&self) -> Option<&str> {
        None
    }

    /// Writes out what is left to write, and stops. Later calls fail.
    async fn stop(&self);
}

/// Opens the index that the configuration names. It does not talk to it yet:
/// [`Index::prepare`] does.
///
/// # Errors
/// [`RecallError::Config`] where the configuration lacks what the backend needs,
/// [`RecallError::IndexDirectory`] where the embedded engine's directory cannot
/// be made or is in use.
pub fn open_index(
    config: &IndexConfig,
    schema: IndexSchema,
) -> Result<Arc<dyn Index>, RecallError> {
    let edge = match config.backend {
        BackendChoice::Auto => config.url.is_none(),
        BackendChoice::Edge => true,
        BackendChoice::Qdrant => false,
    };
    if edge {
        Ok(Arc::new(EdgeIndex::open(config, schema)?))
    } else {
        Ok(Arc::new(QdrantIndex::connect(config, schema)?))
    }
}

/// Which index it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// The embedded engine.
    Edge,
    /// A Qdrant cluster.
    Qdrant,
}

impl Backend {
    /// `qdrant-edge` or `qdrant`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Edge => "qdrant-edge",
            Self::Qdrant => "qdrant",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What [`Index::prepare`] met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// The collection is there and whole.
    Whole,
    /// The collection is there, and its rebuilding has not ended.
    Rebuilding,
    /// The collection is new, or was lost: every message has to be queued.
    New,
}

/// One message in the index.
#[derive(Clone, Debug)]
pub struct Point {
    /// The message, which is the point's id too.
    pub message: MessageId,
    /// Whose it is.
    pub tenant: TenantId,
    /// The app of its thread.
    pub app: AppId,
    /// The user of its thread; may be empty.
    pub user: UserId,
    /// Its thread.
    pub thread: ThreadId,
    /// Its place in the thread.
    pub seq: i64,
    /// Its branch.
    pub branch: i32,
    /// Messages from the root to it.
    pub depth: i32,
    /// Whether it asks.
    pub question: bool,
    /// Whether it says little.
    pub short: bool,
    /// Who speaks.
    pub role: Role,
    /// The speaker's name; may be empty.
    pub name: String,
    /// When it was said.
    pub said: OffsetDateTime,
    /// The caller's own data; strings, whole numbers and booleans can be
    /// filtered by.
    pub metadata: Map<String, Value>,
    /// What it means; `None` in an index without a model.
    pub dense: Option<Vec<f32>>,
    /// Its words.
    pub lexical: LexicalVector,
}

/// One memory in the index.
#[derive(Clone, Debug)]
pub struct MemoryPoint {
    /// The memory, which is the point's id too.
    pub memory: MemoryId,
    /// Whose tenant's it is.
    pub tenant: TenantId,
    /// Whose it is.
    pub owner: MemoryOwner,
    /// What kind of thing it is.
    pub kind: MemoryType,
    /// What it is about.
    pub topics: Vec<String>,
    /// Whom and what it names.
    pub entities: Vec<String>,
    /// Where it comes from.
    pub origin: MemoryOrigin,
    /// The thread that it came from.
    pub thread: Option<ThreadId>,
    /// Whether nothing has taken its place.
    pub holds: bool,
    /// When it was stored.
    pub created: OffsetDateTime,
    /// What it means; `None` in an index without a model.
    pub dense: Option<Vec<f32>>,
    /// Its words.
    pub lexical: LexicalVector,
}

/// What a point stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A message.
    Message(MessageId),
    /// A memory.
    Memory(MemoryId),
}

/// A change of the index.
#[derive(Clone, Debug)]
pub enum Change {
    /// Adds a message, or overwrites it.
    Upsert(Box<Point>),
    /// Adds a memory, or overwrites it.
    UpsertMemory(Box<MemoryPoint>),
    /// Forgets a message or a memory.
    Delete {
        /// Whose it is.
        tenant: TenantId,
        /// What is to be forgotten.
        subject: Subject,
    },
    /// Forgets the messages of a thread up to a seq, itself included.
    Purge {
        /// Whose it is.
        tenant: TenantId,
        /// The thread.
        thread: ThreadId,
        /// The last seq to forget.
        up_to_seq: i64,
    },
}

/// A search for candidates.
#[derive(Clone, Debug)]
pub struct Search {
    /// Which points may be found.
    pub selection: Selection,
    /// The query's meaning; `None`: no search by meaning.
    pub dense: Option<Vec<f32>>,
    /// The query's words; `None`: no search by word.
    pub lexical: Option<LexicalVector>,
    /// Candidates of each kind.
    pub limit: usize,
}

/// What a search found, best first in each list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// By meaning, with the cosine similarity.
    pub dense: Vec<Candidate>,
    /// By word, with the BM25 score.
    pub lexical: Vec<Candidate>,
}

/// A message or a memory that a search found, with what the ranking needs to know
/// of it. A selection has points of one kind; of a memory only the id counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The id of the message or the memory.
    pub id: Uuid,
    /// Its thread.
    pub thread: ThreadId,
    /// Its place in the thread.
    pub seq: i64,
    /// Its branch.
    pub branch: i32,
    /// Messages from the root to it.
    pub depth: i32,
    /// The speaker's name; may be empty.
    pub name: Arc<str>,
    /// Whether it asks.
    pub question: bool,
    /// Whether it says little.
    pub short: bool,
    /// How well it fits.
    pub score: f32,
}

/// The words of a text as a sparse vector: hashes of the words, ascending, and a
/// weight for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LexicalVector {
    /// Hashes of the words.
    pub indices: Vec<u32>,
    /// Their weights.
    pub values: Vec<f32>,
}

impl LexicalVector {
    /// The words of a query in which nobody's name is known.
    pub fn of_query(query: &str) -> Self {
        crate::text::lexical_query(query, &[])
    }
}

/// What the index can do at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// It answers.
    Ready,
    /// It was lost and is being rebuilt; it answers with what it has.
    Rebuilding,
    /// It does not answer.
    Unavailable,
}

/// How the index is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStatus {
    /// What it can do.
    pub state: IndexState,
    /// The versioned collection behind the alias.
    pub collection: String,
    /// The tenant's points; 0 where the index does not answer.
    pub points: u64,
}

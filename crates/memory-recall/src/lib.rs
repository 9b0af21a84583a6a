#![doc = include_str!("../README.md")]

mod background;
mod collections;
mod config;
mod embed;
mod error;
mod index;
mod indexer;
mod merge;
mod priority;
mod query;
mod rank;
mod recall;
#[cfg(feature = "test-server")]
pub mod testing;
mod text;

pub use background::{Background, Room};
pub use collections::Collections;
pub use config::{
    BackendChoice, EmbedderConfig, EmbedderKind, IndexConfig, IndexerConfig, ModelPrecision,
    RankingMethod, SearchConfig, VectorPrecision, default_model_dir, default_runtime_library,
};
pub use embed::{Embedder, EmbeddingModel, Urgency};
pub use error::RecallError;
pub use index::{
    Backend, Candidate, Candidates, Change, EdgeIndex, Index, IndexSchema, IndexState, IndexStatus,
    LexicalVector, MemoryPoint, PairedIndex, Point, Prepared, QdrantIndex, Search, Selection,
    ServingPlace, Subject, UnavailableIndex, WordCounts, open_index, open_indexes,
};
pub use indexer::{Indexer, IndexerHandle, IndexerStatus, LastError};
pub use query::{
    Degradation, DegradationReason, Found, FoundDocuments, FoundMemories, FoundMemory, Freshness,
    MemoryQuery, Method, Omission, OmissionReason, Reason, RecallCut, RecallQuery, Recalled,
    RecalledMessage,
};
pub use rank::{Corpus, FEATURES, MATCHES, Unit, Weights};
pub use recall::{
    Ahead, Answer, CompareQuery, ComparedIndex, ComparedQuery, Comparison, Ranking, Recall,
};
pub use text::Form;

/// Describes this crate's metrics to the global recorder.
pub fn describe_metrics() {
    embed::describe_metrics();
    index::describe_metrics();
    indexer::describe_metrics();
    recall::describe_metrics();
}

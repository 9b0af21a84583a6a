#![doc = include_str!("../README.md")]

mod backend;
mod background;
mod candidate;
mod candidate_cache;
mod collections;
mod config;
mod edge;
mod error;
mod filter;
mod index;
mod indexer;
mod indexes;
mod open;
mod packed;
mod payload;
mod point;
mod qdrant;
mod schema;
mod unavailable;
mod vocabulary;
mod word_counts;

pub use backend::Backend;
pub use background::{Background, Slot};
pub use candidate::{Candidate, Candidates, Passage, Search};
pub use collections::Collections;
pub use config::{BackendChoice, IndexConfig, IndexerConfig, VectorPrecision};
pub use edge::EdgeIndex;
pub use error::IndexError;
pub use filter::Selection;
pub use index::{Index, IndexState, IndexStatus, Prepared};
pub use indexer::{Indexer, IndexerHandle, IndexerStatus, LastError};
pub use indexes::{Indexes, ServingPlace};
pub use open::{open_index, open_indexes};
pub use payload::EncodedPoint;
pub use point::{Change, MOST_PASSAGES, MemoryPoint, Point, Subject, most_passages};
pub use qdrant::QdrantIndex;
pub use schema::IndexSchema;
pub use unavailable::UnavailableIndex;
pub use word_counts::WordCounts;

/// Describes this crate's metrics to the global recorder.
pub fn describe_metrics() {
    edge::describe_metrics();
    indexer::describe_metrics();
}

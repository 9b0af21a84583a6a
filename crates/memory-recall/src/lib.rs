#![doc = include_str!("../README.md")]

mod config;
mod error;
mod merge;
mod query;
mod rank;
mod recall;

pub use config::{RankingMethod, SearchConfig};
pub use error::RecallError;
pub use memory_times::{Clock, UnknownZone};
pub use query::{
    Degradation, DegradationReason, FoundDocuments, FoundMemories, FoundMemory, FoundMessages,
    Freshness, MemoryQuery, Method, NamedTime, Omission, OmissionReason, Reason, RecallCut,
    RecallQuery, Recalled, RecalledMessage,
};
pub use rank::{Corpus, FEATURES, MATCHES, Unit, Weights};
pub use recall::{Prefetch, Ranking, Recall, clock};

/// Describes this crate's metrics to the global recorder.
pub fn describe_metrics() {
    recall::describe_metrics();
}

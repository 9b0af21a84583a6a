//! Answers queries.

mod assemble;
mod documents;
mod embeddings;
mod freshness;
mod index_query;
mod memories;
mod messages;
mod names;
mod pending;
mod search;
mod searcher;
mod select;
mod service;
mod stages;
mod waiting;
mod word_weights;

pub use embeddings::Prefetch;
pub use messages::Ranking;
pub use service::Recall;

pub(crate) fn describe_metrics() {
    search::describe_metrics();
    stages::describe_metrics();
}

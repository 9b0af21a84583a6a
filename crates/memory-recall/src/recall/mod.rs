//! Answers queries.

mod assemble;
mod documents;
mod embeddings;
mod freshness;
mod index_query;
mod memories;
mod messages;
mod named_times;
mod names;
mod pending;
mod said_then;
mod search;
mod searcher;
mod select;
mod service;
mod stages;
mod waiting;
mod word_weights;

pub use embeddings::Prefetch;
pub use messages::Ranking;
pub use named_times::clock;
pub use service::Recall;

pub(crate) fn describe_metrics() {
    search::describe_metrics();
    stages::describe_metrics();
}

//! How long the stages of a search of messages take.

use std::time::Instant;

/// A stage of a search of messages.
#[derive(Clone, Copy)]
pub(super) enum Stage {
    /// Embedding the query, searching the index, and reading what it does not have yet.
    Search,
    /// Ranking what was found.
    Rank,
    /// Reading the best matches and their neighbors.
    Read,
}

pub(super) fn describe_metrics() {
    metrics::describe_histogram!(
        "recollect_recall_stage_seconds",
        metrics::Unit::Seconds,
        "Duration of a stage of a search of messages: search (embedding the query, searching the index), rank, or read (the best matches and their neighbors)."
    );
}

impl Stage {
    /// Records that the stage ends now.
    pub(super) fn ended(self, started: Instant) {
        let stage = match self {
            Self::Search => "search",
            Self::Rank => "rank",
            Self::Read => "read",
        };
        metrics::histogram!("recollect_recall_stage_seconds", "stage" => stage)
            .record(started.elapsed().as_secs_f64());
    }
}

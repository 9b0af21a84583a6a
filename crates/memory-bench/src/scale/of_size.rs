//! The figures of one size.

use serde::{Deserialize, Serialize};

use super::measure;

#[derive(Serialize, Deserialize)]
pub(super) struct OfSize {
    pub(super) messages: usize,
    /// The largest size's median to the smallest one's is what scaling is judged by.
    pub(super) calls: measure::CallFigures,
    /// Messages that the size before did not have, less those of an interrupted run; 0 if all
    /// were there.
    pub(super) added_messages: usize,
    pub(super) durable_messages_per_s: f64,
    pub(super) searchable_messages_per_s: f64,
    /// Start on existing data, until the service is ready.
    pub(super) start_s: f64,
    /// From then until a recall uses the index.
    pub(super) first_recall_s: f64,
    /// Resident memory of the service after the measurement, without Postgres and Qdrant.
    pub(super) rss_mb: Option<f64>,
    /// Memory of all processes of Postgres, shared pages counted once.
    #[serde(default)]
    pub(super) postgres_mb: Option<f64>,
    /// Resident memory of a Qdrant on this machine.
    #[serde(default)]
    pub(super) qdrant_rss_mb: Option<f64>,
    /// The data directory: the database, and the index if it is embedded.
    pub(super) disk_mb: f64,
    pub(super) index_disk_mb: f64,
}

impl OfSize {
    /// The figures that matter most, in one line.
    pub(super) fn line(&self) -> String {
        let calls = measure::KINDS.into_iter().enumerate();
        let p50 = calls.map(|(place, name)| {
            let p50 = self.calls.figures(place).p50_ms;
            format!("{name} {p50} ms")
        });
        format!(
            "{} messages, {} of them a second until searchable: p50 of {}",
            self.messages,
            self.searchable_messages_per_s,
            p50.collect::<Vec<_>>().join(", ")
        )
    }
}

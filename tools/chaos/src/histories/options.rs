//! What the scenario is asked to do.

use std::path::PathBuf;
use std::time::Duration;

use super::Plant;

/// What to do.
#[derive(Clone, Debug)]
pub struct Histories {
    /// Determines the schedule and the requests.
    pub seed: u64,
    /// Number of faults.
    pub count: usize,
    /// No further fault and no further round after this time.
    pub time: Duration,
    /// Number of servers.
    pub servers: usize,
    /// Number of clients.
    pub clients: usize,
    /// Number of operations, over which the faults are spread evenly.
    pub operations: usize,
    /// A fault that is planted in a copy of each round's history, to show that it is found.
    pub plant: Option<Plant>,
    /// Where the history of a round with an anomaly is written. None: nowhere.
    pub keep: Option<PathBuf>,
}

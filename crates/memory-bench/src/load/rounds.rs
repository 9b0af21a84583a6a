//! How blocks are measured.

use std::time::Duration;

/// How often and how long blocks are measured.
pub struct Rounds {
    /// Rounds.
    pub count: usize,
    /// The length of a block.
    pub block: Duration,
}

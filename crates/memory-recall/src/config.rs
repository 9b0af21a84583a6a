//! Configuration of searches, with defaults.

use serde::{Deserialize, Serialize};

/// How a query is answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchConfig {
    /// Candidates of each of the two searches. Default: 200.
    pub candidates: usize,
    /// How the candidates of both searches are ranked. Default: `fitted`.
    pub ranking: RankingMethod,
}

/// How the candidates of both searches are ranked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankingMethod {
    /// By features whose weights are fitted to long conversations between people, or by the
    /// weighted sum where many of the candidates are long texts, such as outputs of tools.
    #[default]
    Fitted,
    /// By a weighted sum of both scores.
    Sum,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            candidates: 200,
            ranking: RankingMethod::default(),
        }
    }
}

//! Reports the state of the models to health and metrics.

use crate::Provider;
use crate::model::Health;

/// The tasks that a model is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Summaries and facts.
    Generation,
    /// Observations and reflections.
    Observation,
}

impl Purpose {
    /// The name, lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Generation => "generation",
            Self::Observation => "observation",
        }
    }
}

/// The provider, model and health for one purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelReport {
    /// The tasks that it is used for.
    pub purpose: Purpose,
    /// The provider; [`Provider::None`] is the extractive distiller.
    pub provider: Provider,
    /// The model's name; empty for the extractive distiller.
    pub model: String,
    /// Its health in this process.
    pub health: Health,
}

/// Counts of rejected model output since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RejectedCounts {
    /// Facts without evidence: [`Dropped::without_evidence`](crate::Dropped::without_evidence).
    pub dropped_facts: u64,
    /// Tasks that failed because two answers in a row did not have the requested form.
    pub malformed_answers: u64,
}

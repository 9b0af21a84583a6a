//! Plans of agents, and the logs of their attempts and events.

mod attempts;
mod events;
mod plan;

pub use attempts::{AttemptQuery, LoggedAttempt, Progress};
pub use plan::PlanStepChange;

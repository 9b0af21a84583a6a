//! Plans, and the log of what was tried.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use time::OffsetDateTime;

/// How far a step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStepStatus {
    /// It has not begun.
    #[default]
    Pending,
    /// It is being done.
    InProgress,
    /// It is done.
    Done,
    /// It was tried and did not succeed.
    Failed,
    /// It will not be done.
    Skipped,
}

impl PlanStepStatus {
    /// The stored name, lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// Whether nothing is left to do.
    pub fn is_over(self) -> bool {
        match self {
            Self::Done | Self::Skipped => true,
            Self::Pending | Self::InProgress | Self::Failed => false,
        }
    }
}

/// A step of a plan, stored as the JSON that serde gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// Its name within the plan.
    #[serde(rename = "step_id")]
    pub id: String,
    /// What is to be done.
    pub title: String,
    /// How far it is.
    pub status: PlanStepStatus,
    /// What came of it; may be empty.
    pub result: String,
}

/// A plan to store. Every limit has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPlan {
    /// What is to be reached.
    pub goal: String,
    /// The phase that the agent is in; may be empty.
    pub current_phase: String,
    /// How often the agent has gone round.
    pub iteration_count: i32,
    /// The steps, in order.
    pub steps: Vec<PlanStep>,
    /// The caller's own data.
    pub data: Map<String, Value>,
}

/// A stored plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What it says.
    pub plan: NewPlan,
    /// Names this state of it.
    pub etag: String,
    /// When the thread got a plan.
    pub created: OffsetDateTime,
    /// When it last changed.
    pub updated: OffsetDateTime,
}

/// An attempt to log. Every limit has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIteration {
    /// What was attempted; empty for the thread's work as a whole.
    pub task: String,
    /// What was done.
    pub action: String,
    /// What came of it; may be empty.
    pub result: String,
    /// What went wrong; empty for nothing.
    pub error: String,
    /// Why; may be empty.
    pub diagnosis: String,
    /// What is to be done about it; may be empty.
    pub fix: String,
}

/// A logged attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Its place in the thread's log, from 1.
    pub number: i64,
    /// Which attempt at its task it was, from 1.
    pub attempt: i32,
    /// What was logged.
    pub iteration: NewIteration,
    /// When it was logged.
    pub created: OffsetDateTime,
}

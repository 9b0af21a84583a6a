//! Domain types of an agent's plan and its log of attempts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use time::OffsetDateTime;

/// How far the work on a step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStepStatus {
    /// Not started.
    #[default]
    Pending,
    /// Started and not completed.
    InProgress,
    /// Completed.
    Done,
    /// Attempted without success.
    Failed,
    /// Abandoned.
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

    /// Whether no work is left on the step.
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
    /// The id, unique within the plan.
    #[serde(rename = "step_id")]
    pub id: String,
    /// The task of the step.
    pub title: String,
    /// How far the work is.
    pub status: PlanStepStatus,
    /// The outcome; may be empty.
    pub result: String,
}

/// A plan to store. Every value is within its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPlan {
    /// The goal of the plan.
    pub goal: String,
    /// The phase that the agent is in; may be empty.
    pub current_phase: String,
    /// Iterations that the agent has completed.
    pub iteration_count: i32,
    /// The steps, in order.
    pub steps: Vec<PlanStep>,
    /// The caller's own data, returned unchanged.
    pub data: Map<String, Value>,
}

/// A stored plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The steps and the other content.
    pub plan: NewPlan,
    /// The version; each change replaces it.
    pub etag: String,
    /// Time at which the thread first had a plan.
    pub created: OffsetDateTime,
    /// Time of the last change.
    pub updated: OffsetDateTime,
}

/// An attempt to log. Every value is within its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIteration {
    /// The task; empty for the thread's work as a whole.
    pub task: String,
    /// The action that was taken.
    pub action: String,
    /// The outcome; may be empty.
    pub result: String,
    /// The error; empty if the attempt succeeded.
    pub error: String,
    /// The cause of the error; may be empty.
    pub diagnosis: String,
    /// The proposed fix; may be empty.
    pub fix: String,
}

/// A logged attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// The position in the thread's log, from 1.
    pub number: i64,
    /// The number of the attempt at its task, from 1.
    pub attempt: i32,
    /// The logged attempt.
    pub iteration: NewIteration,
    /// Time at which it was logged.
    pub created: OffsetDateTime,
}

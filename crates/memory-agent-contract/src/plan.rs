//! Domain types of an agent's plan and its log of attempts.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use memory_contract::{ThreadId, json::JsonObject};

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
    pub data: JsonObject,
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
pub struct NewAttempt {
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
pub struct Attempt {
    /// The position in the thread's log, from 1.
    pub number: i64,
    /// The number of the attempt at its task, from 1.
    pub task_number: i32,
    /// The logged attempt.
    pub entry: NewAttempt,
    /// Time at which it was logged.
    pub created: OffsetDateTime,
}

/// An event of an agent to log. Every value is within its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAgentEvent {
    /// The kind of event, in the caller's words.
    pub kind: String,
    /// The data as JSON text; may be empty.
    pub json: String,
    /// Time at which it happened; `None` for now.
    pub created: Option<OffsetDateTime>,
    /// The name of the message that it belongs to; `None` for the thread's head, empty for
    /// no message.
    pub message: Option<String>,
}

/// A logged event of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEvent {
    /// The position in the thread's log, from 1.
    pub number: i64,
    /// The kind of event, in the caller's words.
    pub kind: String,
    /// The data as JSON text; may be empty.
    pub json: String,
    /// Time at which it happened.
    pub created: OffsetDateTime,
    /// The name of the message that it belongs to; may be empty.
    pub message: String,
}

impl AgentEvent {
    /// Estimates the bytes of the event in an answer.
    pub fn bytes(&self) -> usize {
        self.kind.len() + self.json.len() + self.message.len() + 64
    }
}

/// Where events were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedEvents {
    /// The number of the first event.
    pub first: i64,
    /// The number of events.
    pub count: i32,
    /// Whether the request id was known, so that nothing was added.
    pub replayed: bool,
}

/// The events of a thread to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventQuery {
    /// The thread whose events are listed.
    pub thread: ThreadId,
    /// The types to list; empty: all.
    pub types: Vec<String>,
    /// Only events at or after this time.
    pub start: Option<OffsetDateTime>,
    /// Only events before this time.
    pub end: Option<OffsetDateTime>,
    /// The names of the messages that the events belong to; empty: all.
    pub messages: Vec<String>,
    /// Whether the list starts with the newest event.
    pub newest_first: bool,
    /// The `next` of the page before; `None` for the first page.
    pub after: Option<i64>,
    /// The most events to return, at least 1.
    pub limit: u32,
    /// About the most bytes to return; the first event is returned anyway.
    pub max_bytes: u32,
}

impl EventQuery {
    /// The first events of a thread, the oldest first.
    pub fn of(thread: ThreadId, limit: u32, max_bytes: usize) -> Self {
        Self {
            thread,
            types: Vec::new(),
            start: None,
            end: None,
            messages: Vec::new(),
            newest_first: false,
            after: None,
            limit,
            max_bytes: u32::try_from(max_bytes).unwrap_or(u32::MAX),
        }
    }
}

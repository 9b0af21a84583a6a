//! A briefing as it is written.

/// What a sub-agent is given to work on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Briefing {
    /// The text: the task, then sections of quotations.
    pub text: String,
    /// The size of the text, within the budget.
    pub total_tokens: i32,
    /// The number of the attempt that comes next, from 1.
    pub attempt: i32,
    /// What was left out or shortened, one entry for each part that lacks something, in
    /// the order of the parts.
    pub cuts: Vec<BriefingCut>,
}

/// A part of a briefing below the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BriefingPart {
    /// The goal and the steps of the plan.
    Plan,
    /// Failed attempts.
    Failures,
    /// Summaries and observations.
    Derived,
    /// Messages.
    Conversation,
}

/// What one part of a briefing lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BriefingCut {
    /// The part, which may be missing from the briefing.
    pub part: BriefingPart,
    /// The number of items that were left out, and of steps without their results. 0: texts
    /// of messages were only shortened.
    pub omitted: i64,
}

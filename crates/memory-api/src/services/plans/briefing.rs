//! Briefings: what a sub-agent has to know, within a budget. Pure: the same
//! material gives the same text.

use memory_budget::{Budget, OversizedTurn, Tokenizer, cut, turns};
use memory_contract::{Iteration, Message, NewIteration, NewPlan, PlanStep};
use serde::Serialize;

use super::sheet::{Line, Section, Sheet};
use crate::error::ApiError;
use crate::services::distilled::Record;
use crate::services::quote;

/// How often a turn that is too large is cut to find out how much of it fits:
/// to a thousandth of the budget.
const CUTS: u32 = 10;

/// All that a briefing is made of.
pub(super) struct Material {
    /// What is to be done, in the caller's own words.
    pub(super) task: String,
    pub(super) plan: Option<NewPlan>,
    /// What has failed, the newest first.
    pub(super) failures: Vec<Iteration>,
    /// The attempt that comes next.
    pub(super) attempt: i32,
    /// What stands for older turns: the summary, or the observations in the order
    /// of what they stand for.
    pub(super) records: Vec<Record>,
    /// The newest turns, in the order in which they were said.
    pub(super) conversation: Vec<Message>,
    /// Whether this is not all there is.
    pub(super) truncated: bool,
    pub(super) tokenizer: Tokenizer,
    pub(super) max_tokens: i32,
}

/// A briefing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Briefing {
    pub(super) text: String,
    pub(super) total_tokens: i32,
    /// Whether something was left out or shortened.
    pub(super) truncated: bool,
}

#[derive(Serialize)]
struct Goal<'a> {
    goal: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    phase: &'a str,
    iterations: i32,
}

#[derive(Serialize)]
struct Step<'a> {
    step: &'a str,
    title: &'a str,
    status: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    result: &'a str,
}

#[derive(Serialize)]
struct Failure<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    task: &'a str,
    attempt: i32,
    action: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    result: &'a str,
    error: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    diagnosis: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    fix: &'a str,
}

impl Material {
    /// Writes the briefing: the task, and as much of the rest as fits, the most
    /// important first.
    ///
    /// # Errors
    /// A task that alone is over the budget.
    pub(super) fn compose(self) -> Result<Briefing, ApiError> {
        let Self {
            task,
            plan,
            failures,
            attempt,
            records,
            conversation,
            truncated,
            tokenizer,
            max_tokens,
        } = self;
        let mut sheet = Sheet::new(task, attempt, tokenizer, max_tokens)?;
        let mut whole = !truncated;
        if let Some(plan) = &plan {
            whole &= write_plan(&mut sheet, plan);
        }
        whole &= write_failures(&mut sheet, &failures);
        whole &= write_records(&mut sheet, &records, &conversation);
        let first = records.len();
        whole &= write_conversation(&mut sheet, &conversation, first, tokenizer);
        let (text, total_tokens, taken_back) = sheet.finish();
        Ok(Briefing {
            text,
            total_tokens,
            truncated: !whole || taken_back,
        })
    }
}

/// The goal; the steps without their results, those first that are not over; then
/// the results. Whether all of it fits.
fn write_plan(sheet: &mut Sheet, plan: &NewPlan) -> bool {
    let goal = quote::line(&Goal {
        goal: &plan.goal,
        phase: &plan.current_phase,
        iterations: plan.iteration_count,
    });
    if !sheet.write(Section::Plan, vec![(0, goal)]) {
        return false;
    }
    let mut whole = true;
    let steps = || plan.steps.iter().enumerate();
    let open = steps().filter(|(_, step)| !step.status.is_over());
    // Of those that are over, the last ones tell most.
    let over = steps().rev().filter(|(_, step)| step.status.is_over());
    let by_priority: Vec<(usize, &PlanStep)> = open.chain(over).collect();
    for (index, step) in &by_priority {
        let line = (index + 1, quoted_step(step, ""));
        whole &= sheet.write(Section::Plan, vec![line]);
    }
    for (index, step) in by_priority {
        let place = index + 1;
        if !step.result.is_empty() && sheet.has(Section::Plan, place) {
            let line = (place, quoted_step(step, &step.result));
            whole &= sheet.write(Section::Plan, vec![line]);
        }
    }
    whole
}

fn quoted_step(step: &PlanStep, result: &str) -> String {
    quote::line(&Step {
        step: &step.id,
        title: &step.title,
        status: step.status.as_str(),
        result,
    })
}

/// The newest failures, those that do not fit passed over; whether all of them
/// fit. They stand in the order of time.
fn write_failures(sheet: &mut Sheet, newest_first: &[Iteration]) -> bool {
    let mut whole = true;
    for (age, failure) in newest_first.iter().enumerate() {
        let NewIteration {
            task,
            action,
            result,
            error,
            diagnosis,
            fix,
        } = &failure.iteration;
        let line = quote::line(&Failure {
            task,
            attempt: failure.attempt,
            action,
            result,
            error,
            diagnosis,
            fix,
        });
        let place = newest_first.len() - age;
        whole &= sheet.write(Section::Failures, vec![(place, line)]);
    }
    whole
}

/// What stands for older turns, the newest as far back as it fits; whether all of
/// it does. Where it does not fit beside the turns, half of what is left is for
/// the turns.
fn write_records(sheet: &mut Sheet, records: &[Record], messages: &[Message]) -> bool {
    if records.is_empty() {
        return true;
    }
    let line = |place: usize| (place, records[place].line.clone());
    let all: Vec<Line> = (0..records.len()).map(line).collect();
    let together = [all.clone(), quoted(messages, records.len())].concat();
    let (room, needed) = (sheet.room(), sheet.needed(Section::Conversation, &together));
    let mut left = room;
    if needed.tokens > room.tokens || needed.bytes > room.bytes {
        left.tokens /= 2;
        left.bytes /= 2;
    }
    for line in all.into_iter().rev() {
        let needed = sheet.needed(Section::Conversation, std::slice::from_ref(&line));
        if needed.tokens > left.tokens || needed.bytes > left.bytes {
            return false;
        }
        left.tokens -= needed.tokens;
        left.bytes -= needed.bytes;
        if !sheet.write(Section::Conversation, vec![line]) {
            return false;
        }
    }
    true
}

/// The newest turns as far back as they fit; whether all of them do. Of a newest
/// turn that alone is too large, what a history would keep of it. The first
/// message has the place `first`.
fn write_conversation(
    sheet: &mut Sheet,
    messages: &[Message],
    first: usize,
    tokenizer: Tokenizer,
) -> bool {
    for turn in turns(messages, true).into_iter().rev() {
        let newest = turn.messages.end == messages.len();
        let start = first + turn.messages.start;
        let messages = &messages[turn.messages];
        if sheet.write(Section::Conversation, quoted(messages, start)) {
            continue;
        }
        if newest {
            let lines = shortened(sheet, messages, start, tokenizer);
            if !lines.is_empty() {
                sheet.write(Section::Conversation, lines);
            }
        }
        return false;
    }
    true
}

/// As much of a turn as fits: nothing, or the message that opens it and its newest
/// steps, with shorter texts. Quoted, a text takes more than it did, by how much
/// is known only when it is quoted; so what fits is searched for by halves.
fn shortened(sheet: &Sheet, turn: &[Message], start: usize, tokenizer: Tokenizer) -> Vec<Line> {
    let room = sheet.room();
    let (mut fits, mut too_many) = (0, room.tokens);
    let mut best = Vec::new();
    for _ in 0..CUTS {
        let budget = Budget {
            max_tokens: fits + (too_many - fits) / 2,
            message_limit: usize::MAX,
            oversized_turn: OversizedTurn::TruncateContent,
            tokenizer,
        };
        // It fails under OversizedTurn::Fail alone.
        let Ok(kept) = cut(turn.to_vec(), &budget, true) else {
            break;
        };
        let lines = quoted(&kept.messages, start);
        let needed = sheet.needed(Section::Conversation, &lines);
        if needed.tokens <= room.tokens && needed.bytes <= room.bytes {
            fits = budget.max_tokens;
            best = lines;
        } else {
            too_many = budget.max_tokens;
        }
    }
    best
}

/// Messages as lines; the first one has the place `first`.
fn quoted(messages: &[Message], first: usize) -> Vec<Line> {
    let line = |message: &Message| quote::message(message, message.role.as_str());
    (first..).zip(messages.iter().map(line)).collect()
}

#[cfg(test)]
mod tests;

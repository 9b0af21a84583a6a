//! Writes a briefing. Pure: the same material gives the same text.
//!
//! Sections are filled in the order of importance: the plan, failed attempts, derived
//! text, the newest turns.

use memory_budget::{Budget, OversizedTurn, Size, Tokenizer, cut, turns};
use memory_contract::{Iteration, Message, NewIteration, NewPlan, json_line, limits};
use serde::Serialize;

use super::Briefing;
use crate::derived::DerivedText;
use crate::error::ContextError;
use crate::fit::{Finished, Layout, Line, Sheet};
use crate::plan::write_plan;
use crate::quote::{self, Frame};

/// Steps of the search for how much of an oversized turn fits: to a thousandth of the
/// budget.
const SEARCH_STEPS: u32 = 10;

/// The content of a briefing.
pub(super) struct Content {
    /// The task, in the caller's own words.
    pub(super) task: String,
    pub(super) plan: Option<NewPlan>,
    /// Failed attempts, the newest first.
    pub(super) failures: Vec<Iteration>,
    /// The number of the attempt that comes next.
    pub(super) attempt: i32,
    /// Derived text of older turns: the summary, or the observations, the oldest first.
    pub(super) records: Vec<DerivedText>,
    /// The newest turns, the oldest first.
    pub(super) conversation: Vec<Message>,
    /// Whether some of the material was left out already.
    pub(super) truncated: bool,
    pub(super) tokenizer: Tokenizer,
    pub(super) max_tokens: i32,
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

impl Content {
    /// Writes the task, and as much of the rest as fits.
    ///
    /// # Errors
    /// The task alone is over the budget.
    pub(super) fn compose(self) -> Result<Briefing, ContextError> {
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
        let limit = Size {
            tokens: max_tokens,
            bytes: limits::ANSWER_BYTES,
        };
        let mut sheet = Sheet::new(Page { task, attempt }, tokenizer, limit);
        let needed_tokens = sheet.size().tokens;
        if needed_tokens > max_tokens {
            return Err(ContextError::TaskTooLarge {
                needed_tokens,
                max_tokens,
            });
        }
        let mut whole = !truncated;
        if let Some(plan) = &plan {
            whole &= write_plan(plan, |place, line| {
                sheet.write(Section::Plan, vec![(place, line)])
            });
        }
        whole &= write_failures(&mut sheet, &failures);
        whole &= write_records(&mut sheet, &records, &conversation);
        let first = records.len();
        whole &= write_conversation(&mut sheet, &conversation, first, tokenizer);
        let Finished {
            text,
            tokens,
            places: _,
            shortened,
        } = sheet.finish();
        debug_assert!(tokens <= max_tokens, "over the budget");
        Ok(Briefing {
            text,
            total_tokens: tokens,
            attempt,
            truncated: !whole || shortened,
        })
    }
}

/// The sections of quotations, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Plan,
    Failures,
    Conversation,
}

/// The text around the quotations.
#[derive(Clone, Debug)]
struct Page {
    task: String,
    attempt: i32,
}

impl Layout for Page {
    type Section = Section;

    fn title(&self) -> String {
        format!("## Task\n\n{}\n", self.task)
    }

    fn opening(&self, section: Section, first: bool) -> String {
        let frame = match first {
            true => format!("\n{}\n", Frame::BRIEFING.text()),
            false => String::new(),
        };
        let heading = match section {
            Section::Plan => "Plan\n\n".to_owned(),
            Section::Failures => {
                let attempt = self.attempt;
                format!("Failed attempts\n\nThe next attempt is number {attempt}.\n\n")
            }
            Section::Conversation => "Conversation\n\n".to_owned(),
        };
        format!("{frame}\n## {heading}")
    }
}

/// Writes failed attempts, the newest first, and skips those that do not fit. They
/// stand in the order of time. Returns whether all of them fit.
fn write_failures(sheet: &mut Sheet<Page>, newest_first: &[Iteration]) -> bool {
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
        let line = json_line(&Failure {
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

/// Writes derived text, the newest first, up to the first that does not fit. Where it
/// does not fit together with the turns, half of the room is reserved for the turns.
/// Returns whether all of it fits.
fn write_records(sheet: &mut Sheet<Page>, records: &[DerivedText], messages: &[Message]) -> bool {
    if records.is_empty() {
        return true;
    }
    let line = |place: usize| (place, records[place].line.clone());
    let all: Vec<Line> = (0..records.len()).map(line).collect();
    let together = [all.clone(), quoted(messages, records.len())].concat();
    let mut left = sheet.room();
    if !sheet.needed(Section::Conversation, &together).fits(left) {
        left = left.half();
    }
    for line in all.into_iter().rev() {
        let needed = sheet.needed(Section::Conversation, std::slice::from_ref(&line));
        if !needed.fits(left) || !sheet.write(Section::Conversation, vec![line]) {
            return false;
        }
        left = left.minus(needed);
    }
    true
}

/// Writes the newest turns, up to the first that does not fit. A newest turn that alone
/// is too large is shortened. The first message has the place `first`. Returns whether
/// all of them fit.
fn write_conversation(
    sheet: &mut Sheet<Page>,
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
/// steps, with shorter texts. The size of a text in a quotation is only known when it
/// is quoted, so a binary search finds the budget that fits.
fn shortened(
    sheet: &Sheet<Page>,
    turn: &[Message],
    start: usize,
    tokenizer: Tokenizer,
) -> Vec<Line> {
    let room = sheet.room();
    let (mut fits, mut too_many) = (0, room.tokens);
    let mut best = Vec::new();
    for _ in 0..SEARCH_STEPS {
        let budget = Budget {
            max_tokens: fits + (too_many - fits) / 2,
            message_limit: usize::MAX,
            oversized_turn: OversizedTurn::TruncateContent,
            tokenizer,
        };
        // Only OversizedTurn::Fail fails.
        let Ok(kept) = cut(turn.to_vec(), &budget, true) else {
            break;
        };
        let lines = quoted(&kept.messages, start);
        if sheet.needed(Section::Conversation, &lines).fits(room) {
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

//! Writes a briefing. Pure: the same material gives the same text.
//!
//! Sections are filled in the order of importance: the plan, failed attempts, derived
//! text, the newest turns.

use std::collections::BTreeMap;

use memory_agent_contract::plan::{Attempt, NewAttempt, NewPlan};
use memory_budget::{Budget, OversizedTurn, Size, Tokenizer, cut, turns};
use memory_contract::{json::json_line, limits, message::Message};
use serde::Serialize;

use super::written::{Briefing, BriefingCut, BriefingPart};
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
    pub(super) failures: Vec<Attempt>,
    /// The number of the attempt that comes next.
    pub(super) attempt: i32,
    /// Derived text of older turns: the summary, or the observations, the oldest first.
    pub(super) records: Vec<DerivedText>,
    /// The newest turns, the oldest first.
    pub(super) conversation: Vec<Message>,
    /// Older failed attempts that were not read.
    pub(super) older_failures: usize,
    /// Messages that were left out already.
    pub(super) older_messages: i64,
    /// Whether texts of messages were shortened already.
    pub(super) content_truncated: bool,
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
            older_failures,
            older_messages,
            content_truncated,
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
        // The whole lines of the plan: the goal and its steps with their results.
        let mut of_plan = BTreeMap::new();
        if let Some(plan) = &plan {
            write_plan(plan, |place, line| {
                of_plan.insert(place, line.clone());
                sheet.write(Section::Plan, vec![(place, line)])
            });
        }
        write_failures(&mut sheet, &failures);
        write_records(&mut sheet, &records, &conversation);
        let first = records.len();
        let shortened = write_conversation(&mut sheet, &conversation, first, tokenizer);
        let Finished {
            text,
            tokens,
            lines,
            shortened: _,
        } = sheet.finish();
        debug_assert!(tokens <= max_tokens, "over the budget");
        let written =
            |start: (Section, usize), end: (Section, usize)| lines.range(start..end).count();
        let (start, middle) = ((Section::Conversation, 0), (Section::Conversation, first));
        let end = (Section::Conversation, usize::MAX);
        let whole = of_plan
            .into_iter()
            .filter(|(place, line)| lines.get(&(Section::Plan, *place)) == Some(line));
        let of_plan = plan.map_or(0, |plan| 1 + plan.steps.len()) - whole.count();
        let of_failures = failures.len() - written((Section::Failures, 0), start);
        let of_records = records.len() - written(start, middle);
        let of_messages = conversation.len() - written(middle, end);
        let cuts = [
            (BriefingPart::Plan, count(of_plan), false),
            (
                BriefingPart::Failures,
                count(of_failures + older_failures),
                false,
            ),
            (BriefingPart::Derived, count(of_records), false),
            (
                BriefingPart::Conversation,
                count(of_messages) + older_messages,
                shortened || content_truncated,
            ),
        ];
        let cuts = cuts
            .into_iter()
            .filter(|(_, omitted, shortened)| *omitted > 0 || *shortened);
        Ok(Briefing {
            text,
            total_tokens: tokens,
            attempt,
            cuts: cuts
                .map(|(part, omitted, _)| BriefingCut { part, omitted })
                .collect(),
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

fn count(items: usize) -> i64 {
    i64::try_from(items).unwrap_or(i64::MAX)
}

/// Writes failed attempts, the newest first, and skips those that do not fit. They
/// stand in the order of time.
fn write_failures(sheet: &mut Sheet<Page>, newest_first: &[Attempt]) {
    for (age, failure) in newest_first.iter().enumerate() {
        let NewAttempt {
            task,
            action,
            result,
            error,
            diagnosis,
            fix,
        } = &failure.entry;
        let line = json_line(&Failure {
            task,
            attempt: failure.task_number,
            action,
            result,
            error,
            diagnosis,
            fix,
        });
        let place = newest_first.len() - age;
        sheet.write(Section::Failures, vec![(place, line)]);
    }
}

/// Writes derived text, the newest first, up to the first that does not fit. Where it
/// does not fit together with the turns, half of the room is reserved for the turns.
fn write_records(sheet: &mut Sheet<Page>, records: &[DerivedText], messages: &[Message]) {
    if records.is_empty() {
        return;
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
            return;
        }
        left = left.minus(needed);
    }
}

/// Writes the newest turns, up to the first that does not fit. A newest turn that alone
/// is too large is shortened. The first message has the place `first`. Returns whether
/// it has shortened one.
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
        let lines = match newest {
            true => shortened(sheet, messages, start, tokenizer),
            false => Vec::new(),
        };
        return !lines.is_empty() && sheet.write(Section::Conversation, lines);
    }
    false
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

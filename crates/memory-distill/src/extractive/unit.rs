//! What is chosen from: sentences and lines, each with where it stands.

use std::collections::HashSet;

use memory_budget::Tokenizer;
use memory_contract::{Part, Role};
use time::Date;

use super::{cues, sentence::sentences, tool, words};
use crate::Source;
use crate::source::file_kind;

/// One sentence or line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    /// What it says, on one line, without the speaker.
    pub(super) text: String,
    /// Who says it; empty for a line that tells that itself.
    pub(super) speaker: String,
    /// The day it was said, where that is known.
    pub(super) day: Option<Date>,
    /// The message or line that it is from: those of one place share a line.
    pub(super) place: usize,
    /// How much its words speak for it.
    pub(super) weight: f32,
    /// Whether it was kept once before.
    pub(super) kept: bool,
}

/// What to make of tools' work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// What people said counts most.
    Conversation,
    /// What was done counts most.
    Work,
}

/// The units of messages, in order. `first_place` is the place of the first
/// message.
pub(super) fn of_messages(sources: &[Source], first_place: usize, view: View) -> Vec<Unit> {
    let mut tools = tool::Tools::of(sources);
    let mut units = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    for (index, source) in sources.iter().enumerate() {
        let message = &source.message;
        let unit = |text: String, speaker: &str, weight: f32| Unit {
            text,
            speaker: words::clip(&words::one_line(speaker), 64),
            day: Some(message.created.date()),
            place: first_place + index,
            weight,
            kept: false,
        };
        let start = units.len();
        for (nth, part) in message.parts.iter().enumerate() {
            match part {
                Part::Text(text) => {
                    for sentence in sentences(text) {
                        let mut weight = cues::weight(&sentence.text);
                        if sentence.is_code {
                            weight -= 0.3;
                        }
                        if view == View::Work && message.role == Role::User {
                            // What the agent is there for, and how it was corrected.
                            weight += 0.6;
                        }
                        if message.role == Role::System {
                            weight -= 0.3;
                        }
                        units.push(unit(sentence.text, source.speaker(), weight));
                    }
                }
                Part::Json(value) => {
                    let told = super::digest::of_value(value);
                    let weight = cues::weight(&told) - 0.1;
                    units.push(unit(told, source.speaker(), weight));
                }
                Part::File(file) => {
                    let said: Vec<&str> = [file.name.as_str(), file.caption.as_str()]
                        .into_iter()
                        .filter(|said| !said.is_empty())
                        .collect();
                    if !said.is_empty() {
                        let text = format!("[{}: {}]", file_kind(file.kind), said.join(", "));
                        let text = words::clip(&words::one_line(&text), 200);
                        let weight = cues::weight(&text) + 0.1;
                        units.push(unit(text, source.speaker(), weight));
                    }
                }
                Part::ToolCall(_) | Part::ToolResult(_) => {
                    if let Some(line) = tools.take(index, nth) {
                        let base = match view {
                            View::Conversation => -0.1,
                            View::Work => 0.4,
                        };
                        units.push(unit(line.text, "", base + line.weight));
                    }
                }
            }
        }
        units.retain(|unit| !unit.text.is_empty());
        // What was said word for word before says nothing new.
        let fresh = units.split_off(start.min(units.len()));
        units.extend(
            fresh
                .into_iter()
                .filter(|unit| seen.insert(format!("{}\u{0}{}", unit.speaker, unit.text))),
        );
    }
    open_question(&mut units, first_place + sources.len());
    units
}

/// The units of a text that was distilled before: its lines, under the days that
/// stand over them.
pub(super) fn of_lines(text: &str) -> Vec<Unit> {
    let mut day = None;
    let mut units = Vec::new();
    for (place, line) in text.lines().enumerate() {
        let line = words::one_line(line);
        if let Some(date) = heading(&line) {
            day = Some(date);
            continue;
        }
        if line.is_empty() {
            continue;
        }
        let line = words::clip(&line, 1_000);
        let weight = cues::weight(&line);
        units.push(Unit {
            text: line,
            speaker: String::new(),
            day,
            place,
            weight,
            kept: true,
        });
    }
    units
}

/// A question at the very end that nobody has answered yet is worth keeping.
fn open_question(units: &mut [Unit], end: usize) {
    let last = units.iter_mut().rev();
    for unit in last.take_while(|unit| unit.place + 1 >= end) {
        if cues::is_question(&unit.text) {
            unit.weight += 0.9;
        }
    }
}

/// The units as text, in the order in which they stand. Days are headings, and
/// what is from one message is on one line.
pub(super) fn render<'a>(units: impl IntoIterator<Item = &'a Unit>) -> String {
    let mut text = String::new();
    let mut day = None;
    let mut place = None;
    for unit in units {
        if unit.day.is_some() && unit.day != day {
            day = unit.day;
            place = None;
            new_line(&mut text);
            text.push_str(&heading_of(unit.day));
        }
        if place == Some((unit.place, unit.kept)) && !unit.speaker.is_empty() {
            text.push(' ');
        } else {
            new_line(&mut text);
            text.push_str(&opening(unit));
        }
        place = Some((unit.place, unit.kept));
        text.push_str(&unit.text);
    }
    text
}

/// One unit as a line, without its day.
pub(super) fn line(unit: &Unit) -> String {
    format!("{}{}", opening(unit), unit.text)
}

fn new_line(text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
}

/// What a line of the unit begins with.
fn opening(unit: &Unit) -> String {
    if unit.speaker.is_empty() {
        String::new()
    } else {
        format!("{}: ", unit.speaker)
    }
}

fn heading_of(day: Option<Date>) -> String {
    day.map_or_else(String::new, |day| format!("[{day}]"))
}

/// The day of a heading such as `[2023-05-08]`.
fn heading(line: &str) -> Option<Date> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let format = time::macros::format_description!("[year]-[month]-[day]");
    Date::parse(inner, format).ok()
}

/// What units cost, counted as if each stood alone: never less than the text.
pub(super) struct Costs {
    tokenizer: Tokenizer,
    days: HashSet<Date>,
    places: HashSet<(usize, bool)>,
}

impl Costs {
    pub(super) fn new(tokenizer: Tokenizer) -> Self {
        Self {
            tokenizer,
            days: HashSet::new(),
            places: HashSet::new(),
        }
    }

    /// Tokens of the unit's own text, a separator included.
    pub(super) fn own(tokenizer: Tokenizer, unit: &Unit) -> i32 {
        tokenizer.count(&unit.text).saturating_add(1)
    }

    /// Tokens that the line and the heading of the unit cost beside its own,
    /// unless something chosen before has paid for them.
    pub(super) fn around(&self, unit: &Unit) -> i32 {
        let mut tokens = 0;
        if unit.day.is_some_and(|day| !self.days.contains(&day)) {
            tokens += self.tokenizer.count(&heading_of(unit.day)) + 1;
        }
        if !self.places.contains(&(unit.place, unit.kept)) {
            tokens += self.tokenizer.count(&opening(unit)) + 1;
        }
        tokens
    }

    pub(super) fn pay(&mut self, unit: &Unit) {
        self.days.extend(unit.day);
        self.places.insert((unit.place, unit.kept));
    }
}

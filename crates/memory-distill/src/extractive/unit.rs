//! The units of selection: sentences and lines with their positions.

use std::collections::HashSet;

use memory_budget::Tokenizer;
use memory_contract::{Content, Role, text};
use time::Date;

use super::{cues, sentence::sentences, tool, words};
use crate::SourceMessage;

/// One sentence or line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    /// The text on one line, without the speaker.
    pub(super) text: String,
    /// The speaker; empty for a line that names it.
    pub(super) speaker: String,
    /// The day it was said, if known.
    pub(super) day: Option<Date>,
    /// The index of its message or line; units with the same index share a line.
    pub(super) place: usize,
    /// The weight of its words.
    pub(super) weight: f32,
    /// Whether it is from the previous text.
    pub(super) kept: bool,
}

/// The weighting of tool calls against messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Messages of people count most.
    Conversation,
    /// Actions count most.
    Work,
}

/// The units of messages, in order. `first_place` is the index of the first message.
pub(super) fn of_messages(sources: &[SourceMessage], first_place: usize, view: View) -> Vec<Unit> {
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
            match &part.content {
                Content::Text(text) => {
                    for sentence in sentences(text) {
                        let mut weight = cues::weight(&sentence.text);
                        if sentence.is_code {
                            weight -= 0.3;
                        }
                        if view == View::Work && message.role == Role::User {
                            // The agent's task, and corrections of it.
                            weight += 0.6;
                        }
                        if message.role == Role::System {
                            weight -= 0.3;
                        }
                        units.push(unit(sentence.text, source.speaker(), weight));
                    }
                }
                Content::Json(text) => {
                    let digest = super::digest::of_text(text);
                    let weight = cues::weight(&digest) - 0.1;
                    units.push(unit(digest, source.speaker(), weight));
                }
                Content::File(file) => {
                    if !file.name.is_empty() || !file.caption.is_empty() {
                        let text = words::clip(&words::one_line(&text::of_file(file)), 200);
                        let weight = cues::weight(&text) + 0.1;
                        units.push(unit(text, source.speaker(), weight));
                    }
                }
                Content::Reasoning(_) | Content::Opaque(_) => {}
                Content::ToolCall(_) | Content::ToolResult(_) => {
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
        // Exact repetitions add nothing.
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

/// The units of a previously distilled text: its lines, with the days of their headings.
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

/// Keeps an unanswered question at the end.
fn open_question(units: &mut [Unit], end: usize) {
    let last = units.iter_mut().rev();
    for unit in last.take_while(|unit| unit.place + 1 >= end) {
        if cues::is_question(&unit.text) {
            unit.weight += 0.9;
        }
    }
}

/// Renders units in order. Days become headings, and units of one message share a line.
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

/// Renders one unit as a line, without its day.
pub(super) fn line(unit: &Unit) -> String {
    format!("{}{}", opening(unit), unit.text)
}

fn new_line(text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
}

/// The prefix of the unit's line.
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

/// Tokens of units, counted separately; the sum is never less than that of the text.
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

    /// Tokens of the unit's line prefix and heading, unless a chosen unit already includes
    /// them.
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

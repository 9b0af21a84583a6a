//! The units of selection: sentences and lines with their positions.

use std::collections::HashSet;

use memory_budget::Tokenizer;
use memory_contract::{
    message::{Content, Role},
    text,
};
use time::Date;

use super::{cues, sentence, tool, words};
use crate::SourceMessage;

/// Most characters of a unit of a previous text.
const LINE_CHARS: usize = 1_000;

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
    /// What its features are.
    pub(super) kind: Kind,
    /// What is known of it besides its text: log-odds of a sentence, the weight of a digest.
    pub(super) weight: f32,
    /// The probability that it is asked for, 0 to 1; set by `worth::assess`.
    pub(super) worth: f32,
    /// Whether it is from the previous text.
    pub(super) kept: bool,
}

/// The features that tell a unit's worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A sentence.
    Said,
    /// A tool call with its result, in short.
    Digest,
}

/// Log-odds of a line of code or data.
const CODE: f32 = -0.6;
/// Log-odds of a system message.
const SYSTEM: f32 = -0.6;
/// Log-odds of what the user of an agent says: its task, and corrections.
const TASK: f32 = 1.2;
/// Log-odds of an unanswered question at the end.
const OPEN_QUESTION: f32 = 2.5;

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
        let unit = |text: String, kind: Kind, weight: f32| Unit {
            text,
            speaker: match kind {
                Kind::Said => words::clip(&words::one_line(source.speaker()), 64),
                Kind::Digest => String::new(),
            },
            day: Some(message.created.date()),
            place: first_place + index,
            kind,
            weight,
            worth: 0.0,
            kept: false,
        };
        let of_role = match message.role {
            Role::System => SYSTEM,
            Role::User if view == View::Work => TASK,
            Role::User | Role::Assistant | Role::Tool => 0.0,
        };
        let start = units.len();
        for (nth, part) in message.parts.iter().enumerate() {
            match &part.content {
                Content::Text(text) => {
                    for sentence in sentence::sentences(text) {
                        let code = if sentence.is_code { CODE } else { 0.0 };
                        units.push(unit(sentence.text, Kind::Said, of_role + code));
                    }
                }
                Content::Json(text) => {
                    let digest = super::digest::of_text(text);
                    units.push(unit(digest, Kind::Said, of_role + CODE));
                }
                Content::File(file) => {
                    if !file.name.is_empty() || !file.caption.is_empty() {
                        let text = words::clip(&words::one_line(&text::of_file(file)), 200);
                        units.push(unit(text, Kind::Said, of_role));
                    }
                }
                Content::Reasoning(_) | Content::Opaque(_) => {}
                Content::ToolCall(_) | Content::ToolResult(_) => {
                    if let Some(line) = tools.take(index, nth) {
                        let base = match view {
                            View::Conversation => -0.1,
                            View::Work => 0.4,
                        };
                        units.push(unit(line.text, Kind::Digest, base + line.weight));
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

/// The units of a previously distilled text: the sentences of its lines, with their speakers
/// and the days of their headings.
pub(super) fn of_lines(text: &str) -> Vec<Unit> {
    let mut day = None;
    let mut units = Vec::new();
    for (place, line) in text.lines().enumerate() {
        let line = words::one_line(line);
        if let Some(date) = heading(&line, day) {
            day = Some(date);
            continue;
        }
        if line.is_empty() {
            continue;
        }
        let mut push = |text: &str, speaker: &str, kind: Kind, weight: f32| {
            units.push(Unit {
                text: words::clip(text, LINE_CHARS),
                speaker: speaker.to_owned(),
                day,
                place,
                kind,
                weight,
                worth: 0.0,
                kept: true,
            });
        };
        if let Some((speaker, said)) = with_speaker(&line) {
            for sentence in sentence::split(said) {
                push(&sentence, speaker, Kind::Said, 0.0);
            }
        } else if let Some(weight) = tool::weight_of_line(&line) {
            push(&line, "", Kind::Digest, 0.4 + weight);
        } else {
            push(&line, "", Kind::Said, 0.0);
        }
    }
    units
}

/// Splits a line that begins with its speaker. A speaker is a few words without the
/// punctuation of sentences and data.
fn with_speaker(line: &str) -> Option<(&str, &str)> {
    let (speaker, said) = line.split_once(": ")?;
    let is_name = !speaker.is_empty()
        && speaker.chars().count() <= 64
        && !speaker.contains(['.', '!', '?', '。', '(', '[', '{', '=', '"', '→', '|']);
    is_name.then_some((speaker, said))
}

/// Keeps an unanswered question at the end.
fn open_question(units: &mut [Unit], end: usize) {
    let last = units.iter_mut().rev();
    for unit in last.take_while(|unit| unit.place + 1 >= end) {
        if cues::is_question(&unit.text) {
            unit.weight += OPEN_QUESTION;
        }
    }
}

/// Renders units in order. Days become headings, and what a speaker says without
/// interruption shares a line.
pub(super) fn render<'a>(units: impl IntoIterator<Item = &'a Unit>) -> String {
    let mut text = String::new();
    let mut before: Option<&Unit> = None;
    let mut day = None;
    for unit in units {
        if unit.day.is_some() && unit.day != day {
            new_line(&mut text);
            text.push_str(&heading_of(unit.day, day));
            day = unit.day;
            before = None;
        }
        let goes_on =
            before.is_some_and(|before| !unit.speaker.is_empty() && before.speaker == unit.speaker);
        if goes_on {
            text.push(' ');
        } else {
            new_line(&mut text);
            text.push_str(&opening(unit));
        }
        before = Some(unit);
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

/// The heading of a day, `[2023-05-08]`; `[05-08]` after a day of the same year.
fn heading_of(day: Option<Date>, before: Option<Date>) -> String {
    let Some(day) = day else {
        return String::new();
    };
    match before {
        Some(before) if before.year() == day.year() => {
            format!("[{:02}-{:02}]", u8::from(day.month()), day.day())
        }
        _ => format!("[{day}]"),
    }
}

/// The day of a heading. One without a year has the year of the heading before it.
fn heading(line: &str, before: Option<Date>) -> Option<Date> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let format = time::macros::format_description!("[year]-[month]-[day]");
    Date::parse(inner, format).ok().or_else(|| {
        let year = before?.year();
        Date::parse(&format!("{year:04}-{inner}"), format).ok()
    })
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
            tokens += self.tokenizer.count(&heading_of(unit.day, None)) + 1;
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

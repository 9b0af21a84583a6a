//! Writes the page of a profile. Pure: the same facts give the same text.

use memory_budget::{Size, Tokenizer};
use memory_contract::{MemoryId, limits};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;

use super::facts::{Fact, Facts};
use crate::fit::{Finished, Layout, Sheet};

/// The most bytes of a page: an answer has its lines twice, the second time with ids.
const PAGE_BYTES: usize = limits::ANSWER_BYTES / 4;

/// A page about a user.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its lines, in their order.
    pub entries: Vec<ProfileEntry>,
    /// The page; empty without entries.
    pub text: String,
    /// The size of the text.
    pub tokens: i32,
    /// The tokenizer that counted it.
    pub tokenizer: Tokenizer,
    /// The SHA-256 of the text in hexadecimal.
    pub hash: String,
    /// The memories that hold and that no entry has.
    pub omitted: i64,
}

/// A line of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileEntry {
    /// The remembered text, on one line.
    pub text: String,
    /// The topic that it stands under, on one line; empty for none.
    pub topic: String,
    /// The memories that say this, the oldest first.
    pub memories: Vec<MemoryId>,
    /// Whether one of them is pinned.
    pub pinned: bool,
    /// Time of the event, if known.
    pub event: Option<OffsetDateTime>,
    /// Time from which it holds, as far as known.
    pub valid_from: OffsetDateTime,
}

/// The headings of a page: a section for each topic, in order.
struct Headings(Vec<String>);

impl Layout for Headings {
    type Section = usize;

    fn title(&self) -> String {
        String::new()
    }

    fn opening(&self, section: usize, first: bool) -> String {
        let space = if first { "" } else { "\n" };
        match self.0[section].as_str() {
            "" => space.to_owned(),
            topic => format!("{space}{}:\n", on_one_line(topic)),
        }
    }

    fn finish(&self, text: &mut String) {
        text.pop();
    }
}

impl Profile {
    /// Chooses the most important facts that fit. One that does not is left out as a whole.
    pub(super) fn of(facts: &Facts, max_tokens: i32, tokenizer: Tokenizer) -> Self {
        let mut topics: Vec<String> = Vec::new();
        let mut sections = Vec::with_capacity(facts.in_order().len());
        for fact in facts.in_order() {
            if topics.last() != Some(&fact.topic) {
                topics.push(fact.topic.clone());
            }
            sections.push(topics.len() - 1);
        }
        let limit = Size {
            tokens: max_tokens,
            bytes: PAGE_BYTES,
        };
        let mut sheet = Sheet::new(Headings(topics), tokenizer, limit);
        for (place, fact) in facts.by_importance() {
            sheet.write(sections[place], vec![(place, line(fact))]);
        }
        let Finished {
            text,
            tokens,
            lines,
            shortened: _,
        } = sheet.finish();
        let chosen = lines.keys().map(|(_, place)| &facts.in_order()[*place]);
        let entries: Vec<ProfileEntry> = chosen.map(entry).collect();
        let shown: usize = entries.iter().map(|entry| entry.memories.len()).sum();
        debug_assert!(tokens <= max_tokens, "over the budget");
        Self {
            entries,
            hash: hex::encode(Sha256::digest(&text)),
            text,
            tokens,
            tokenizer,
            omitted: facts.total() - i64::try_from(shown).unwrap_or(i64::MAX),
        }
    }
}

/// An event has its day, because its text may say "yesterday".
fn line(fact: &Fact) -> String {
    let text = on_one_line(&fact.text);
    match fact.event {
        Some(event) => format!("- {text} ({})", event.date()),
        None => format!("- {text}"),
    }
}

fn entry(fact: &Fact) -> ProfileEntry {
    ProfileEntry {
        text: on_one_line(&fact.text),
        topic: on_one_line(&fact.topic),
        memories: fact.memories.iter().map(|(id, _)| *id).collect(),
        pinned: fact.pinned,
        event: fact.event,
        valid_from: fact.valid_from,
    }
}

/// Stored text cannot begin a line of its own.
fn on_one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;

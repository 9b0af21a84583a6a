//! Conversations of the LoCoMo format as messages, with facts to look for.

use std::collections::BTreeMap;
use std::path::Path;

use memory_contract::message::{Message, NewMessage, Part, Role};
use memory_datasets as locomo;
use memory_distill::SourceMessage;
use time::OffsetDateTime;
use unicode_segmentation::UnicodeSegmentation;

use crate::words::{content, flat};

pub struct Conversation {
    /// The name of its file.
    pub name: String,
    pub sources: Vec<SourceMessage>,
    pub facts: Vec<Fact>,
}

/// A question, its answer, and a turn that contains it.
pub struct Fact {
    pub question: String,
    answer: String,
    turn: String,
    /// The index of the turn among the sources.
    pub source: usize,
}

impl Conversation {
    /// How many of the facts are left in a text.
    pub fn surviving(&self, text: &str) -> usize {
        let text = flat(text);
        self.facts
            .iter()
            .filter(|fact| fact.survives(&text))
            .count()
    }
}

/// The sentences of a text.
pub fn sentences(text: &str) -> Vec<&str> {
    text.lines()
        .flat_map(|line| line.unicode_sentences())
        .map(str::trim)
        .filter(|sentence| sentence.chars().any(char::is_alphanumeric))
        .collect()
}

impl Fact {
    /// The sentences of the turn.
    pub fn sentences(&self) -> Vec<&str> {
        sentences(&self.turn)
    }

    /// Whether the fact is left in a text with single blanks.
    pub fn survives(&self, text: &str) -> bool {
        let mut quoted = self.sentences();
        quoted.retain(|sentence| text.contains(&flat(sentence)));
        let turn = content(&self.turn);
        let quoted = content(&quoted.join(" "));
        let answer: Vec<String> = content(&self.answer)
            .into_iter()
            .filter(|word| turn.contains(word))
            .collect();
        let (wanted, found, share) = if answer.is_empty() {
            let found = turn.intersection(&quoted).count();
            (turn.len(), found, 0.5)
        } else {
            let found = answer.iter().filter(|word| quoted.contains(*word)).count();
            (answer.len(), found, 0.8)
        };
        found > 0 && found as f64 >= share * wanted as f64
    }
}

/// Reads the conversations of a directory.
pub fn read_all(dir: &Path) -> Vec<Conversation> {
    let conversations = locomo::read_all(dir).expect("the directory has conversations");
    conversations.into_iter().map(from_locomo).collect()
}

fn from_locomo(conversation: locomo::Conversation) -> Conversation {
    let mut sources = Vec::new();
    let mut turns: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for input in conversation.sessions.into_values().flatten() {
        let read = NewMessage::try_from(input).expect("the turn is within its limits");
        if let Some(id) = locomo::evidence_id(read.metadata.as_str()) {
            let text = memory_contract::text::bare_text(&read.parts);
            turns.insert(id, (sources.len(), text));
        }
        let said = read.created.unwrap_or(OffsetDateTime::UNIX_EPOCH);
        sources.push(message(read.role, &read.name, read.parts, said));
    }
    let mut facts = Vec::new();
    for question in conversation.questions {
        // Adversarial questions have no answer.
        if question.category.starts_with('5') {
            continue;
        }
        let answering = question.evidence.iter().filter_map(|id| turns.get(id));
        facts.extend(answering.map(|(source, turn)| Fact {
            question: question.text.clone(),
            answer: question.answer.clone(),
            turn: turn.clone(),
            source: *source,
        }));
    }
    Conversation {
        name: conversation.name,
        sources,
        facts,
    }
}

pub fn message(role: Role, name: &str, parts: Vec<Part>, said: OffsetDateTime) -> SourceMessage {
    SourceMessage::new(Message {
        name: name.to_owned(),
        tokens: 1,
        created: said,
        ..Message::new(role, parts)
    })
}

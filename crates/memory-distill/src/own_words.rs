//! Tells what users say from what is only said again of memory.
//!
//! What was recalled into a prompt comes back: in answers, and in messages that quote it. A model
//! that extracts facts may take them from there, under any message as evidence. So a fact that
//! memory has already needs a user who says it in own words.

use std::collections::{HashMap, HashSet};

use memory_contract::{MessageId, message::Role};

use crate::extractive::content;
use crate::fact::denies;
use crate::{Fact, SourceMessage};

/// What users say in messages, without what they quote from memory.
#[derive(Clone, Debug, Default)]
pub struct OwnWords(HashMap<MessageId, HashSet<String>>);

impl OwnWords {
    /// Of the messages, those of users that are not injected count.
    pub fn of(sources: &[SourceMessage]) -> Self {
        let said = sources
            .iter()
            .filter(|source| !source.injected && source.message.role == Role::User);
        let words = |source: &SourceMessage| {
            let text = format!("{} {}", source.speaker(), source.words());
            (source.message.id, content(&text).into_iter().collect())
        };
        Self(said.map(words).collect())
    }

    /// Those of a fact's evidence that say it: they have at least half of its content words.
    pub fn saying(&self, fact: &Fact) -> Vec<MessageId> {
        let words: HashSet<String> = content(&fact.text).into_iter().collect();
        let says = |id: &&MessageId| {
            self.0.get(*id).is_some_and(|said| {
                let common = words.iter().filter(|word| said.contains(*word)).count();
                2 * common >= words.len()
            })
        };
        fact.evidence.iter().filter(says).copied().collect()
    }
}

/// Whether a text has no content word that known texts do not have: of known texts that deny
/// something where it does, and of the others where it does not. A text without content words
/// restates nothing.
pub fn restates<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> bool {
    let mut words: HashSet<String> = content(text).into_iter().collect();
    if words.is_empty() {
        return false;
    }
    let is_denial = denies(text);
    for known in known.into_iter().filter(|known| denies(known) == is_denial) {
        for word in content(known) {
            words.remove(&word);
        }
    }
    words.is_empty()
}

#[cfg(test)]
mod tests {
    use memory_contract::{
        json::JsonObject,
        message::{Message, Part},
    };

    use super::*;
    use crate::FactKind;

    fn said(role: Role, text: &str) -> SourceMessage {
        SourceMessage::new(Message {
            tokens: 1,
            ..Message::new(role, vec![Part::text(text)])
        })
    }

    #[test]
    fn a_fact_is_said_by_users_in_own_words() {
        let sources = [
            said(Role::User, "I am allergic to hazelnuts."),
            said(Role::User, "What shall I cook on Friday?"),
            said(Role::Assistant, "You are allergic to hazelnuts."),
            SourceMessage {
                injected: true,
                ..said(Role::User, "Ada is allergic to hazelnuts.")
            },
        ];
        let fact = Fact {
            text: "Ada is allergic to hazelnuts.".to_owned(),
            kind: FactKind::Semantic,
            event_date: None,
            topics: Vec::new(),
            entities: Vec::new(),
            own_kind: String::new(),
            attributes: JsonObject::default(),
            evidence: sources.iter().map(|source| source.message.id).collect(),
            supersedes: Vec::new(),
            built_on: Vec::new(),
        };
        let own = OwnWords::of(&sources);
        assert_eq!(own.saying(&fact), [sources[0].message.id]);
    }

    #[test]
    fn what_has_no_new_word_is_restated() {
        let known = [
            "Ada is allergic to hazelnuts.",
            "Ada lives in Oslo with Tom.",
            "Ada never drinks coffee.",
        ];
        for (text, expected) in [
            ("Ada is allergic to hazelnuts", true),
            ("Allergic to hazelnuts, Ada is living in Oslo", true),
            ("Ada lives in Bergen", false),
            ("Ada is not allergic to hazelnuts", false),
            ("Ada drinks coffee", false),
            ("Ada doesn't drink coffee", true),
            ("", false),
        ] {
            assert_eq!(restates(text, known), expected, "{text}");
        }
    }
}

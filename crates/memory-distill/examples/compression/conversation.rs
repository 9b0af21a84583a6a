//! Conversations of the LoCoMo format, as messages with facts to look for.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use memory_contract::{FileLocation, FileRef, FileType, Message, MessageId, Part, Role, ThreadId};
use memory_distill::SourceMessage;
use serde_json::{Map, Value};
use time::{OffsetDateTime, PrimitiveDateTime, macros::format_description};
use unicode_segmentation::UnicodeSegmentation;

use crate::words::{content, flat};

pub struct Conversation {
    pub sources: Vec<SourceMessage>,
    pub facts: Vec<Fact>,
}

/// An answer and a turn that holds it.
pub struct Fact {
    answer: String,
    turn: String,
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

impl Fact {
    fn survives(&self, text: &str) -> bool {
        let quoted: Vec<&str> = self
            .turn
            .lines()
            .flat_map(|line| line.unicode_sentences())
            .map(str::trim)
            .filter(|sentence| sentence.chars().any(char::is_alphanumeric))
            .filter(|sentence| text.contains(&flat(sentence)))
            .collect();
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

pub fn read_all(dir: &Path) -> Vec<Conversation> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .expect("the directory can be read")
        .map(|entry| entry.expect("the directory can be read").path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    files.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Conversation {
    let text = fs::read_to_string(path).expect("the file can be read");
    let file: Map<String, Value> = serde_json::from_str(&text).expect("it is JSON");
    let first = file
        .get("speaker_a")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let sessions: BTreeMap<u32, (&String, &Vec<Value>)> = file
        .iter()
        .filter_map(|(key, value)| {
            let number = key.strip_prefix("session_")?.parse().ok()?;
            Some((number, (key, value.as_array()?)))
        })
        .collect();
    let mut sources = Vec::new();
    let mut turns: BTreeMap<&str, String> = BTreeMap::new();
    for (key, session) in sessions.values() {
        let start = file
            .get(&format!("{key}_date_time"))
            .and_then(Value::as_str);
        let start = start
            .and_then(time_of)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH);
        for turn in *session {
            let field = |name: &str| turn.get(name).and_then(Value::as_str).unwrap_or_default();
            let role = if field("speaker") == first {
                Role::User
            } else {
                Role::Assistant
            };
            let mut parts = vec![Part::Text(field("text").to_owned())];
            if !field("blip_caption").is_empty() {
                parts.push(Part::File(FileRef {
                    kind: FileType::Image,
                    location: FileLocation::Url("about:blank".to_owned()),
                    name: String::new(),
                    mime_type: String::new(),
                    size_bytes: 0,
                    caption: field("blip_caption").to_owned(),
                }));
            }
            turns.insert(
                turn.get("dia_id")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
                memory_contract::text_of_parts(&parts),
            );
            sources.push(message(role, field("speaker"), parts, start));
        }
    }
    let mut facts = Vec::new();
    for asked in file
        .get("qa")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        if asked.get("category").and_then(Value::as_u64) == Some(5) {
            continue;
        }
        let answer = match asked.get("answer") {
            Some(Value::String(answer)) => answer.clone(),
            Some(other) => other.to_string(),
            None => continue,
        };
        let listed = asked.get("evidence").and_then(Value::as_array);
        for id in listed.into_iter().flatten().filter_map(Value::as_str) {
            for id in id.split([';', ',', ' ']) {
                if let Some(turn) = turns.get(id.trim()) {
                    facts.push(Fact {
                        answer: answer.clone(),
                        turn: turn.clone(),
                    });
                }
            }
        }
    }
    Conversation { sources, facts }
}

pub fn message(role: Role, name: &str, parts: Vec<Part>, said: OffsetDateTime) -> SourceMessage {
    SourceMessage::new(Message {
        id: MessageId::new(),
        thread: ThreadId::new(),
        parent: None,
        seq: 1,
        branch: 1,
        depth: 1,
        role,
        name: name.to_owned(),
        parts,
        metadata: Map::new(),
        tokens: 1,
        created: said,
    })
}

fn time_of(text: &str) -> Option<OffsetDateTime> {
    let format = format_description!(
        "[hour repr:12 padding:none]:[minute] [period case:lower] on [day padding:none] [month repr:long], [year]"
    );
    Some(
        PrimitiveDateTime::parse(text.trim(), format)
            .ok()?
            .assume_utc(),
    )
}

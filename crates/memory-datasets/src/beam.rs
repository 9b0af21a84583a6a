//! BEAM: a user and an assistant, with long answers. `N.chat.json` has batches of turns,
//! which are lists of messages; `N.questions.json` has the questions by ability.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use memory_contract::proto::Role;
use serde::Deserialize;

use super::shape::{Conversation, Failure, Question, message};

const CHAT: &str = ".chat.json";
const QUESTIONS: &str = ".questions.json";

#[derive(Deserialize)]
struct Batch {
    batch_number: u32,
    turns: Vec<Vec<Said>>,
}

#[derive(Deserialize)]
struct Said {
    role: String,
    id: u64,
    content: String,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
    #[serde(default)]
    answer: serde_json::Value,
    /// Ids of messages, in lists and objects of any depth.
    #[serde(default)]
    source_chat_ids: serde_json::Value,
}

/// Whether a file has the questions of a chat.
pub fn has_questions(path: &Path) -> bool {
    path.to_string_lossy().ends_with(QUESTIONS)
}

/// Whether a file is a chat of this format.
pub fn is_beam(file: &serde_json::Value) -> bool {
    file.get(0)
        .is_some_and(|batch| batch.get("turns").is_some())
}

/// Reads a chat, and the questions beside its file.
pub fn read(name: &str, file: serde_json::Value, path: &Path) -> Result<Conversation, Failure> {
    let path = path.to_string_lossy();
    let questions = match path.strip_suffix(CHAT) {
        Some(path) => fs::read_to_string(format!("{path}{QUESTIONS}"))?,
        None => "{}".to_owned(),
    };
    let name = name.strip_suffix(".chat").unwrap_or(name);
    parse(name, file, &questions)
}

fn parse(name: &str, file: serde_json::Value, questions: &str) -> Result<Conversation, Failure> {
    let batches: Vec<Batch> = serde_json::from_value(file)?;
    let mut known = BTreeSet::new();
    let mut sessions = BTreeMap::new();
    for batch in batches {
        let said = batch.turns.into_iter().flatten();
        let messages: Vec<_> = said
            .map(|said| {
                let role = match said.role.as_str() {
                    "user" => Role::User,
                    _ => Role::Assistant,
                };
                let id = said.id.to_string();
                let message = message(role, &said.content, &id);
                known.insert(id);
                message
            })
            .collect();
        sessions.insert(batch.batch_number, messages);
    }
    let asked: BTreeMap<String, Vec<Asked>> = serde_json::from_str(questions)?;
    let mut without_evidence = 0;
    let mut questions = Vec::new();
    for (ability, asked) in asked {
        for asked in asked {
            let mut evidence = BTreeSet::new();
            collect_ids(&asked.source_chat_ids, &mut evidence);
            evidence.retain(|id| known.contains(id));
            if evidence.is_empty() {
                without_evidence += 1;
                continue;
            }
            questions.push(Question {
                text: asked.question,
                answer: asked.answer.as_str().unwrap_or_default().to_owned(),
                evidence,
                category: ability.replace('_', " "),
                user: name.to_owned(),
                before: None,
            });
        }
    }
    Ok(Conversation {
        name: name.to_owned(),
        language: "en".to_owned(),
        sessions,
        questions,
        without_evidence,
    })
}

fn collect_ids(listed: &serde_json::Value, ids: &mut BTreeSet<String>) {
    match listed {
        serde_json::Value::Number(id) => {
            ids.insert(id.to_string());
        }
        serde_json::Value::Array(listed) => listed.iter().for_each(|one| collect_ids(one, ids)),
        serde_json::Value::Object(listed) => listed.values().for_each(|one| collect_ids(one, ids)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::evidence_id;

    #[test]
    fn evidence_is_found_at_any_depth_and_batches_are_sessions() {
        let chat = serde_json::json!([
            {"batch_number": 1, "turns": [[
                {"role": "user", "id": 0, "content": "I begin on Monday."},
                {"role": "assistant", "id": 1, "content": "Good."}]]},
            {"batch_number": 2, "turns": [[{"role": "user", "id": 2, "content": "On Tuesday."}]]}
        ]);
        assert!(is_beam(&chat));
        let questions = serde_json::json!({
            "abstention": [{"question": "Why?"}],
            "knowledge_update": [{"question": "When do I begin?", "answer": "On Tuesday",
                "source_chat_ids": {"original_info": [0], "updated_info": [[2, 99]]}}]
        });
        let read = parse("7", chat, &questions.to_string()).unwrap();
        assert_eq!((read.message_count(), read.without_evidence), (3, 1));
        let asked = &read.questions[0];
        assert_eq!(asked.category, "knowledge update");
        assert!(asked.evidence.iter().eq(["0", "2"]));
        let second = &read.sessions[&2][0];
        assert_eq!(evidence_id(&second.metadata).as_deref(), Some("2"));
    }
}

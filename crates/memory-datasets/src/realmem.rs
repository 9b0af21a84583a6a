//! RealMem: about two hundred sessions of a user with an assistant. A turn with `is_query`
//! asks; the turn after it names the sessions that answer. Only sessions before the
//! question's own count, and later ones are not stored when it is asked.

use std::collections::{BTreeMap, BTreeSet};

use memory_contract::proto::Role;
use prost_types::Timestamp;
use serde::Deserialize;
use time::{Date, macros::format_description};

use super::shape::{Conversation, Failure, Question, message};

#[derive(Deserialize)]
struct File {
    dialogues: Vec<Dialogue>,
}

#[derive(Deserialize)]
struct Dialogue {
    session_uuid: String,
    /// A day such as `2025-12-15 (Monday)`.
    #[serde(default)]
    current_time: String,
    dialogue_turns: Vec<Turn>,
}

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    content: String,
    #[serde(default)]
    is_query: bool,
    #[serde(default)]
    category_name: Option<String>,
    #[serde(default)]
    memory_session_uuids: Vec<String>,
}

/// Whether a file has this format.
pub fn is_realmem(file: &serde_json::Value) -> bool {
    file.get("dialogues").is_some()
}

/// Reads the sessions of one user. The ids of evidence are those of sessions.
pub fn parse(name: &str, file: serde_json::Value) -> Result<Conversation, Failure> {
    let File { dialogues } = serde_json::from_value(file)?;
    let mut stored = BTreeSet::new();
    let mut sessions = BTreeMap::new();
    let mut questions = Vec::new();
    let mut without_evidence = 0;
    for (dialogue, number) in dialogues.into_iter().zip(1..) {
        let Dialogue {
            session_uuid,
            current_time,
            dialogue_turns,
        } = dialogue;
        for (turn, answer) in dialogue_turns.iter().zip(dialogue_turns.iter().skip(1)) {
            if !turn.is_query {
                continue;
            }
            let evidence: BTreeSet<String> = answer
                .memory_session_uuids
                .iter()
                .filter(|id| stored.contains(*id))
                .cloned()
                .collect();
            if evidence.is_empty() {
                without_evidence += 1;
                continue;
            }
            questions.push(Question {
                text: turn.content.clone(),
                answer: answer.content.clone(),
                evidence,
                category: turn.category_name.clone().unwrap_or_default(),
                user: name.to_owned(),
                before: Some(number),
            });
        }
        let day = start_of_day(&current_time);
        let turns = dialogue_turns.into_iter().zip(0..).map(|(turn, place)| {
            let role = match turn.speaker.as_str() {
                "User" => Role::User,
                _ => Role::Assistant,
            };
            let mut message = message(role, &turn.content, &session_uuid);
            message.create_time = day.map(|day| Timestamp {
                seconds: day + place,
                nanos: 0,
            });
            message
        });
        sessions.insert(number, turns.collect());
        stored.insert(session_uuid);
    }
    Ok(Conversation {
        name: name.to_owned(),
        language: "en".to_owned(),
        sessions,
        questions,
        without_evidence,
    })
}

fn start_of_day(text: &str) -> Option<i64> {
    let day = text.split_whitespace().next()?;
    let day = Date::parse(day, format_description!("[year]-[month]-[day]")).ok()?;
    Some(day.midnight().assume_utc().unix_timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_asked_before_its_session_and_names_earlier_ones() {
        let turn = |speaker: &str, content: &str| serde_json::json!({"speaker": speaker, "content": content});
        let mut asks = turn("User", "What did I plan?");
        asks["is_query"] = true.into();
        let mut answers = turn("Assistant", "A trip.");
        answers["memory_session_uuids"] = serde_json::json!(["a", "b", "c"]);
        let file = serde_json::json!({"dialogues": [
            {"session_uuid": "a", "current_time": "2025-12-15 (Monday)",
                "dialogue_turns": [turn("User", "I plan a trip.")]},
            {"session_uuid": "b", "dialogue_turns": [asks, answers]}
        ]});
        assert!(is_realmem(&file));
        let read = parse("Ada", file).unwrap();
        let asked = &read.questions[0];
        assert_eq!(asked.before, Some(2));
        assert!(asked.evidence.iter().eq(["a"]));
        let first = &read.sessions[&1][0];
        // 15 December 2025
        assert_eq!(first.create_time.as_ref().unwrap().seconds, 1_765_756_800);
        assert_eq!(read.message_count(), 3);
    }
}

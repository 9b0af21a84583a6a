//! The LoCoMo and REALTALK formats: `session_N` lists of turns with their
//! `session_N_date_time`, and questions with the turns that answer them. The turns of
//! REALTALK have times of their own.

use std::collections::{BTreeMap, BTreeSet};

use memory_contract::proto::{self, part};
use prost_types::Timestamp;
use serde::Deserialize;
use time::{PrimitiveDateTime, macros::format_description};

use super::shape::{Conversation, Failure, Question, metadata_of};

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    dia_id: String,
    #[serde(default, alias = "clean_text")]
    text: String,
    /// Only in REALTALK.
    date_time: Option<String>,
    #[serde(default)]
    blip_caption: String,
    #[serde(default)]
    img_url: Vec<String>,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
    /// Text, a number, or nothing.
    #[serde(default)]
    answer: serde_json::Value,
    #[serde(default)]
    evidence: Vec<String>,
    category: u32,
}

/// Whether a file has this format.
pub fn is_dialogue(file: &serde_json::Value) -> bool {
    file.as_object().is_some_and(|file| {
        file.keys().any(|key| {
            let number = key.strip_prefix("session_");
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        })
    })
}

/// Reads a conversation.
pub fn parse(name: &str, file: &serde_json::Value) -> Result<Conversation, Failure> {
    let file = file.as_object().ok_or("is no JSON object")?;
    let first_speaker = file
        .get("speaker_a")
        .or_else(|| file.get("name")?.get("speaker_1"))
        .and_then(|name| name.as_str())
        .unwrap_or_default();
    let mut sessions = BTreeMap::new();
    let mut known = BTreeSet::new();
    for (key, value) in file {
        let Some(number) = key.strip_prefix("session_").and_then(|n| n.parse().ok()) else {
            continue;
        };
        let turns: Vec<Turn> =
            serde_json::from_value(value.clone()).map_err(|error| format!("{key}: {error}"))?;
        let date_time = format!("{key}_date_time");
        let start = match file.get(&date_time).and_then(|time| time.as_str()) {
            Some(text) => Some(seconds_of(text).map_err(|error| format!("{date_time}: {error}"))?),
            None => None,
        };
        known.extend(turns.iter().map(|turn| turn.dia_id.clone()));
        let mut messages = Vec::with_capacity(turns.len());
        for (turn, place) in turns.into_iter().zip(0..) {
            let said = match &turn.date_time {
                Some(text) => {
                    Some(seconds_of(text).map_err(|error| format!("{}: {error}", turn.dia_id))?)
                }
                None => start.map(|start| start + place),
            };
            messages.push(input(turn, first_speaker, said));
        }
        if !messages.is_empty() {
            sessions.insert(number, messages);
        }
    }
    let asked: Vec<Asked> = match file.get("qa") {
        Some(questions) => serde_json::from_value(questions.clone())?,
        None => Vec::new(),
    };
    let total = asked.len();
    let questions: Vec<Question> = asked
        .into_iter()
        .filter_map(|asked| {
            let evidence: BTreeSet<String> = asked
                .evidence
                .iter()
                .flat_map(|listed| dia_ids(listed))
                .filter(|id| known.contains(id))
                .collect();
            (!evidence.is_empty()).then_some(Question {
                text: asked.question,
                answer: match asked.answer {
                    serde_json::Value::String(text) => text,
                    serde_json::Value::Null => String::new(),
                    other => other.to_string(),
                },
                evidence,
                category: category_name(asked.category),
                user: name.to_owned(),
                before: None,
            })
        })
        .collect();
    Ok(Conversation {
        name: name.to_owned(),
        language: "en".to_owned(),
        without_evidence: total - questions.len(),
        sessions,
        questions,
    })
}

fn input(turn: Turn, first_speaker: &str, seconds: Option<i64>) -> proto::MessageInput {
    let role = if turn.speaker == first_speaker {
        proto::Role::User
    } else {
        proto::Role::Assistant
    };
    let mut contents = Vec::new();
    if !turn.text.is_empty() || turn.blip_caption.is_empty() {
        contents.push(part::Content::Text(turn.text));
    }
    if !turn.blip_caption.is_empty() {
        let url = turn.img_url.into_iter().next();
        contents.push(part::Content::File(proto::FileRef {
            r#type: proto::FileType::Image.into(),
            location: Some(proto::file_ref::Location::Url(
                url.unwrap_or_else(|| "about:blank".to_owned()),
            )),
            caption: turn.blip_caption,
            ..Default::default()
        }));
    }
    proto::MessageInput {
        role: role.into(),
        name: turn.speaker,
        parts: contents.into_iter().map(proto::Part::from).collect(),
        metadata: metadata_of(&turn.dia_id),
        create_time: seconds.map(|seconds| Timestamp { seconds, nanos: 0 }),
        ..Default::default()
    }
}

fn category_name(category: u32) -> String {
    let name = match category {
        1 => "multi-hop",
        2 => "temporal",
        3 => "open domain",
        4 => "single-hop",
        5 => "adversarial",
        _ => "",
    };
    format!("{category} {name}").trim_end().to_owned()
}

/// Seconds since 1970 of a time such as `1:56 pm on 8 May, 2023` or `29.12.2023, 22:42:04`.
fn seconds_of(text: &str) -> Result<i64, String> {
    let locomo = format_description!(
        "[hour repr:12 padding:none]:[minute] [period case:lower] on [day padding:none] [month repr:long], [year]"
    );
    let realtalk = format_description!("[day].[month].[year], [hour]:[minute]:[second]");
    PrimitiveDateTime::parse(text.trim(), locomo)
        .or_else(|_| PrimitiveDateTime::parse(text.trim(), realtalk))
        .map(|time| time.assume_utc().unix_timestamp())
        .map_err(|_| {
            format!(
                "\"{text}\" is not a time such as \"1:56 pm on 8 May, 2023\" or \"29.12.2023, 22:42:04\""
            )
        })
}

/// The ids in an evidence entry. Some entries have several ids or irregular forms:
/// `D8:6; D9:17`, `D30:05`, `D:11:26`.
fn dia_ids(listed: &str) -> Vec<String> {
    listed
        .split(|separator: char| separator == ';' || separator == ',' || separator.is_whitespace())
        .filter_map(|id| {
            let (session, turn) = id
                .strip_prefix('D')?
                .trim_start_matches(':')
                .split_once(':')?;
            let session: u32 = session.parse().ok()?;
            let turn: u32 = turn.parse().ok()?;
            Some(format!("D{session}:{turn}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::evidence_id;

    #[test]
    fn evidence_is_read_however_it_is_written() {
        assert_eq!(dia_ids("D1:3"), ["D1:3"]);
        assert_eq!(dia_ids("D8:6; D9:17"), ["D8:6", "D9:17"]);
        assert_eq!(dia_ids("D30:05"), ["D30:5"]);
        assert_eq!(dia_ids("D:11:26"), ["D11:26"]);
        assert!(dia_ids("D").is_empty());
    }

    fn document() -> serde_json::Value {
        serde_json::json!({
            "speaker_a": "Ada", "speaker_b": "Ben",
            "session_2": [{"dia_id": "D2:1", "speaker": "Ben", "text": "Look!",
                "blip_caption": "a red kite", "img_url": ["https://example.org/kite.jpg"]}],
            "session_2_date_time": "12:05 am on 29 February, 2024",
            "session_1": [{"dia_id": "D1:1", "speaker": "Ada", "text": "Hello"},
                {"dia_id": "D1:2", "speaker": "Ben", "text": "Hi", "blip_caption": "a hand"}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "events_session_1": {"Ada": []},
            "qa": [{"question": "What did Ben show?", "answer": 3, "evidence": ["D2:1"], "category": 4}]
        })
    }

    #[test]
    fn sessions_keep_their_speakers_images_and_times() {
        let conversation = parse("26", &document()).unwrap();
        assert_eq!(conversation.message_count(), 3);
        assert_eq!(conversation.questions[0].text, "What did Ben show?");
        let image = |message: &proto::MessageInput| match &message.parts[1].content {
            Some(part::Content::File(file)) => (file.caption.clone(), file.location.clone()),
            other => panic!("{other:?}"),
        };
        let url = |url: &str| Some(proto::file_ref::Location::Url(url.to_owned()));
        let second = &conversation.sessions[&1][1];
        assert_eq!(
            (second.role(), second.name.as_str()),
            (proto::Role::Assistant, "Ben")
        );
        // 8 May 2023, 13:56:01 UTC: turns follow by a second.
        assert_eq!(second.create_time.as_ref().unwrap().seconds, 1_683_554_161);
        assert_eq!(image(second), ("a hand".to_owned(), url("about:blank")));
        assert_eq!(evidence_id(&second.metadata).as_deref(), Some("D1:2"));
        let shown = &conversation.sessions[&2][0];
        // 29 February 2024, 00:05:00 UTC
        assert_eq!(shown.create_time.as_ref().unwrap().seconds, 1_709_165_100);
        let kite = url("https://example.org/kite.jpg");
        assert_eq!(image(shown), ("a red kite".to_owned(), kite));
    }

    #[test]
    fn turns_of_realtalk_keep_their_own_times() {
        let document = serde_json::json!({
            "name": {"speaker_1": "Ada", "speaker_2": "ben"},
            "session_1": [
                {"dia_id": "D1:1", "speaker": "Ada", "clean_text": "Hello",
                    "date_time": "29.12.2023, 22:42:04", "img_file": [], "img_url": []},
                {"dia_id": "D1:2", "speaker": "ben", "clean_text": "", "img_file": ["a.jpg"],
                    "date_time": "30.12.2023, 00:32:20", "blip_caption": "a hand"}],
            "events_session_1": {"Ada": []},
            "session_1_date_time": "29.12.2023, 22:42:04",
            "qa": [{"question": "Who?", "answer": "Ben", "evidence": ["D1:2"], "category": 1}]
        });
        let conversation = parse("1", &document).unwrap();
        let turns = &conversation.sessions[&1];
        assert_eq!(
            (turns[0].role(), turns[1].role()),
            (proto::Role::User, proto::Role::Assistant)
        );
        let said = |turn: &proto::MessageInput| turn.create_time.as_ref().unwrap().seconds;
        assert_eq!(
            (said(&turns[0]), said(&turns[1])),
            (1_703_889_724, 1_703_896_340)
        );
        assert_eq!(turns[1].parts.len(), 1);
        assert_eq!(conversation.questions.len(), 1);
    }

    #[test]
    fn errors_name_the_session() {
        let refused = |document: &serde_json::Value| {
            let error = parse("26", document).err().unwrap();
            error.to_string()
        };
        let mut document = document();
        document["session_2_date_time"] = "at noon".into();
        assert!(refused(&document).starts_with("session_2_date_time"));
        document["session_1"][0] = serde_json::json!({"speaker": "Ada"});
        document["session_2_date_time"] = serde_json::Value::Null;
        assert!(refused(&document).starts_with("session_1"));
    }

    #[test]
    fn session_times_are_read_as_utc() {
        assert_eq!(seconds_of("1:56 pm on 8 May, 2023"), Ok(1_683_554_160));
        assert_eq!(
            seconds_of("12:09 am on 13 September, 2023"),
            Ok(1_694_563_740)
        );
        assert_eq!(seconds_of("29.12.2023, 22:42:04"), Ok(1_703_889_724));
        assert!(seconds_of("some day").is_err());
    }
}

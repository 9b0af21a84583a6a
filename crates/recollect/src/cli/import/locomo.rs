//! LoCoMo's long conversations: `session_1`, `session_2`, … with the time of
//! each, and questions with their evidence.

use memory_contract::proto::{
    FileRef, FileType, MessageInput, Part, Role, file_ref::Location, part::Content,
};
use prost_types::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use time::PrimitiveDateTime;
use time::macros::format_description;

use super::values::struct_from;
use super::{Defaults, Record};

/// A conversation of two people over several sessions.
#[derive(Debug)]
pub struct Conversation {
    speaker_a: String,
    sessions: Vec<Session>,
    /// The questions, with what answers them.
    pub questions: Vec<Question>,
}

/// A question about a conversation.
#[derive(Debug, Clone, Deserialize)]
pub struct Question {
    /// The question.
    pub question: String,
    /// The `dia_id`s of the turns that answer it.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// The kind: 1 several turns together, 2 about time, 3 with knowledge of
    /// the world, 4 one turn, 5 not answered by the conversation.
    #[serde(default)]
    pub category: i64,
    /// The answer, as text or as a number.
    #[serde(default)]
    pub answer: Value,
}

#[derive(Debug)]
struct Session {
    number: usize,
    begins: Option<i64>,
    turns: Vec<Turn>,
}

#[derive(Debug, Deserialize)]
struct Turn {
    dia_id: String,
    speaker: String,
    text: String,
    #[serde(default)]
    blip_caption: Option<String>,
    #[serde(default)]
    img_url: Value,
}

impl Conversation {
    /// Whether a document looks like one.
    pub fn is(document: &Value) -> bool {
        document.get("session_1").is_some_and(Value::is_array)
    }

    /// Reads a document.
    ///
    /// # Errors
    /// What is wrong, and in which session.
    pub fn read(document: &Value) -> Result<Self, String> {
        let document = document
            .as_object()
            .ok_or("the document has to be an object")?;
        let mut sessions = document
            .iter()
            .filter_map(|(key, value)| {
                let number = key.strip_prefix("session_")?.parse().ok()?;
                value.as_array().map(|turns| (number, turns))
            })
            .map(|(number, turns)| session(number, turns, document))
            .collect::<Result<Vec<_>, _>>()?;
        if sessions.is_empty() {
            return Err("there is no `session_1`".to_owned());
        }
        sessions.sort_by_key(|session| session.number);
        let first_speaker = || {
            sessions
                .iter()
                .flat_map(|s| &s.turns)
                .map(|turn| turn.speaker.clone())
                .next()
        };
        let speaker_a = document
            .get("speaker_a")
            .and_then(Value::as_str)
            .map(str::to_owned)
            .or_else(first_speaker)
            .unwrap_or_default();
        let questions = match document.get("qa") {
            Some(questions) => {
                Deserialize::deserialize(questions).map_err(|e| format!("qa: {e}"))?
            }
            None => Vec::new(),
        };
        Ok(Self {
            speaker_a,
            sessions,
            questions,
        })
    }

    /// The number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Its messages, with their `dia_id`s: each session is a thread.
    pub fn records<'a>(
        &'a self,
        defaults: &'a Defaults,
        stem: &'a str,
    ) -> impl Iterator<Item = (String, Record)> + 'a {
        self.sessions.iter().flat_map(move |session| {
            let named = defaults.session(stem, Some(session.number));
            session.turns.iter().enumerate().map(move |(index, turn)| {
                let message = Box::new(self.message(session, index, turn));
                (
                    turn.dia_id.clone(),
                    Record::Message {
                        session: named.clone(),
                        message,
                        head: false,
                    },
                )
            })
        })
    }

    fn message(&self, session: &Session, index: usize, turn: &Turn) -> MessageInput {
        let mut parts = vec![Part {
            content: Some(Content::Text(turn.text.clone())),
        }];
        if let Some(caption) = &turn.blip_caption {
            let url = match &turn.img_url {
                Value::Array(urls) => urls.first().and_then(Value::as_str),
                url => url.as_str(),
            };
            parts.push(Part {
                content: Some(Content::File(FileRef {
                    r#type: FileType::Image.into(),
                    location: Some(Location::Url(url.unwrap_or("about:blank").to_owned())),
                    caption: caption.clone(),
                    ..Default::default()
                })),
            });
        }
        let role = if turn.speaker == self.speaker_a {
            Role::User
        } else {
            Role::Assistant
        };
        let metadata = Map::from_iter([("dia_id".to_owned(), json!(turn.dia_id))]);
        MessageInput {
            role: role.into(),
            name: turn.speaker.clone(),
            parts,
            metadata: Some(struct_from(&metadata)),
            // Only the session has a time; its turns follow by a second each.
            create_time: session.begins.map(|begins| Timestamp {
                seconds: begins + index as i64,
                nanos: 0,
            }),
            ..Default::default()
        }
    }
}

fn session(
    number: usize,
    turns: &[Value],
    document: &Map<String, Value>,
) -> Result<Session, String> {
    let begins = document
        .get(&format!("session_{number}_date_time"))
        .and_then(Value::as_str)
        .map(|text| seconds(text).map_err(|error| format!("session_{number}_date_time: {error}")))
        .transpose()?;
    let turns = turns
        .iter()
        .enumerate()
        .map(|(index, turn)| {
            Turn::deserialize(turn).map_err(|error| format!("session_{number}[{index}]: {error}"))
        })
        .collect::<Result<_, _>>()?;
    Ok(Session {
        number,
        begins,
        turns,
    })
}

/// `1:56 pm on 8 May, 2023`, taken as UTC, in seconds since 1970.
fn seconds(text: &str) -> Result<i64, String> {
    let format = format_description!(
        version = 2,
        "[hour repr:12 padding:none]:[minute] [period case:lower] on [day padding:none] [month repr:long], [year]"
    );
    PrimitiveDateTime::parse(text.trim(), format)
        .map(|time| time.assume_utc().unix_timestamp())
        .map_err(|_| format!("\"{text}\" is not a time such as \"1:56 pm on 8 May, 2023\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Value {
        json!({
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
    fn each_session_is_a_thread_and_turns_follow_by_a_second() {
        let conversation = Conversation::read(&document()).unwrap();
        assert_eq!(conversation.sessions(), 2);
        assert_eq!(conversation.questions[0].evidence, ["D2:1"]);
        let defaults = Defaults {
            app: "demo".to_owned(),
            user: None,
            session: None,
        };
        let records: Vec<_> = conversation.records(&defaults, "26").collect();
        let Record::Message {
            session, message, ..
        } = &records[1].1
        else {
            panic!()
        };
        assert_eq!(session.session_key, "session:26/1");
        assert_eq!(
            (session.app_id.as_str(), session.user_id.as_str()),
            ("demo", "26")
        );
        assert_eq!(
            (message.role(), message.name.as_str()),
            (Role::Assistant, "Ben")
        );
        // 8 May 2023, 13:56:01 UTC
        assert_eq!(
            message.create_time,
            Some(Timestamp {
                seconds: 1_683_554_161,
                nanos: 0
            })
        );
        let Some(Content::File(file)) = &message.parts[1].content else {
            panic!()
        };
        assert_eq!(file.location, Some(Location::Url("about:blank".to_owned())));

        let Record::Message {
            session, message, ..
        } = &records[2].1
        else {
            panic!()
        };
        assert_eq!(session.session_key, "session:26/2");
        // 29 February 2024, 00:05:00 UTC
        assert_eq!(message.create_time.as_ref().unwrap().seconds, 1_709_165_100);
        let Some(Content::File(file)) = &message.parts[1].content else {
            panic!()
        };
        assert_eq!(file.caption, "a red kite");
        assert_eq!(
            file.location,
            Some(Location::Url("https://example.org/kite.jpg".to_owned()))
        );
    }

    #[test]
    fn errors_name_the_session() {
        let mut document = document();
        document["session_2_date_time"] = json!("at noon");
        assert!(
            Conversation::read(&document)
                .unwrap_err()
                .starts_with("session_2_date_time")
        );
        document["session_1"][0] = json!({"speaker": "Ada"});
        document["session_2_date_time"] = Value::Null;
        assert!(
            Conversation::read(&document)
                .unwrap_err()
                .starts_with("session_1[0]")
        );
        assert!(Conversation::read(&json!({})).is_err());
    }

    #[test]
    fn the_shipped_conversation_is_sound() {
        let text = include_str!("../../../../../examples/conversation.json");
        let conversation = Conversation::read(&serde_json::from_str(text).unwrap()).unwrap();
        assert!(conversation.sessions() >= 6);
        assert!(
            conversation
                .sessions
                .iter()
                .all(|session| session.begins.is_some())
        );
        let ids: Vec<&str> = conversation
            .sessions
            .iter()
            .flat_map(|session| session.turns.iter().map(|turn| turn.dia_id.as_str()))
            .collect();
        assert!(ids.len() >= 80);
        assert!(conversation.questions.len() >= 10);
        for question in &conversation.questions {
            assert!(!question.evidence.is_empty(), "{}", question.question);
            for evidence in &question.evidence {
                assert!(
                    ids.contains(&evidence.as_str()),
                    "{}: {evidence}",
                    question.question
                );
            }
        }
    }
}

//! Reads JSON Lines: an export, or simple messages.

use memory_contract::proto::MessageInput;
use serde_json::Value;

use crate::defaults::Defaults;
use crate::export::{names_kind, record_from};
use crate::openai::Chat;
use crate::record::ImportRecord;

/// Reads the lines of one file, in order.
#[derive(Debug)]
pub(crate) struct Jsonl<'a> {
    defaults: &'a Defaults,
    stem: &'a str,
    again: bool,
    chat: Chat,
}

impl<'a> Jsonl<'a> {
    /// A reader of the file `stem`. `again` leaves out the ids of messages.
    pub(crate) fn new(defaults: &'a Defaults, stem: &'a str, again: bool) -> Self {
        Self {
            defaults,
            stem,
            again,
            chat: Chat::default(),
        }
    }

    /// Reads one line.
    ///
    /// # Errors
    /// The line has a problem, which the error names.
    pub(crate) fn line(&mut self, json: &Value) -> Result<ImportRecord, String> {
        match names_kind(json) {
            true => record_from(json).map(|kind| ImportRecord::Exported(Box::new(kind))),
            false => self.simple(json),
        }
    }

    fn simple(&mut self, json: &Value) -> Result<ImportRecord, String> {
        let message = simple_message(&mut self.chat, json, self.again)?;
        Ok(ImportRecord::Message {
            session: self.defaults.named(self.stem, None, json),
            message: Box::new(message),
        })
    }
}

/// Reads messages, one a line, in OpenAI's chat format.
///
/// # Errors
/// A line has a problem; the error names both.
pub fn messages_of_lines(text: &str) -> Result<Vec<MessageInput>, String> {
    let mut chat = Chat::default();
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            let json = serde_json::from_str(line).map_err(|error| error.to_string());
            json.and_then(|json| simple_message(&mut chat, &json, false))
                .map_err(|problem| format!("line {}: {problem}", index + 1))
        })
        .collect()
}

/// A message in OpenAI's chat format. `again` leaves out its ids.
fn simple_message(chat: &mut Chat, json: &Value, again: bool) -> Result<MessageInput, String> {
    let mut message = chat.message(json)?;
    // `user_id` is the user of the session.
    message.user_id = field(json, &["said_by"]).unwrap_or_default();
    if !again {
        message.message_id = field(json, &["message_id"]).unwrap_or_default();
        message.external_id = field(json, &["external_id"]).unwrap_or_default();
    }
    Ok(message)
}

/// The first of these fields that is a text.
fn field(json: &Value, names: &[&str]) -> Option<String> {
    let texts = names.iter().filter_map(|name| json.get(*name)?.as_str());
    texts.map(str::to_owned).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(reader: &mut Jsonl<'_>, json: &Value) -> ImportRecord {
        reader.line(json).unwrap()
    }

    fn defaults() -> Defaults {
        Defaults {
            app: "default".to_owned(),
            user: None,
            session: None,
        }
    }

    #[test]
    fn simple_lines_name_their_session_or_take_the_files() {
        let defaults = defaults();
        let mut reader = Jsonl::new(&defaults, "chat", false);
        let ImportRecord::Message {
            session, message, ..
        } = one(
            &mut reader,
            &json!({"role": "user", "name": "Ada", "text": "Hello"}),
        )
        else {
            panic!()
        };
        assert_eq!(
            (session.user_id.as_str(), session.session_key.as_str()),
            ("chat", "session:chat")
        );
        assert_eq!(message.name, "Ada");
        let ImportRecord::Message { session, .. } = one(
            &mut reader,
            &json!({"role": "ai", "content": "Hi", "session_key": "thread:1", "user_id": "u"}),
        ) else {
            panic!()
        };
        assert_eq!(
            (session.user_id.as_str(), session.session_key.as_str()),
            ("u", "thread:1")
        );
        for (key, user) in [("42", "chat"), ("global", ""), ("user:ada", "")] {
            let line = json!({"role": "user", "text": "Hello", "session_key": key});
            let ImportRecord::Message { session, .. } = one(&mut reader, &line) else {
                panic!()
            };
            assert_eq!(session.user_id, user, "{key}");
        }
        assert!(reader.line(&json!({"text": "nobody says this"})).is_err());
        assert!(reader.line(&json!("just a text")).is_err());
    }
}

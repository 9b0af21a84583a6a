//! Reads JSON Lines: an export, or simple messages.

use memory_contract::proto::SessionRef;
use serde_json::Value;

use super::export::Export;
use super::openai::Chat;
use super::{Defaults, ImportRecord};

/// Reads the lines of one file, in order.
#[derive(Debug)]
pub struct Jsonl<'a> {
    defaults: &'a Defaults,
    stem: &'a str,
    again: bool,
    chat: Chat,
    export: Export,
}

impl<'a> Jsonl<'a> {
    /// A reader of the file `stem`. `again` gives exported messages new ids.
    pub fn new(defaults: &'a Defaults, stem: &'a str, again: bool) -> Self {
        Self {
            defaults,
            stem,
            again,
            chat: Chat::default(),
            export: Export::new(again),
        }
    }

    /// Reads one line, and returns what it makes of it: mostly one record.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn line(&mut self, json: &Value) -> Result<Vec<ImportRecord>, String> {
        match Export::is(json) {
            true => self.export.line(json),
            false => self.simple(json).map(|record| vec![record]),
        }
    }

    /// Ends the reading.
    pub fn end(self) -> Vec<ImportRecord> {
        self.export.end()
    }

    fn simple(&mut self, json: &Value) -> Result<ImportRecord, String> {
        let mut message = self.chat.message(json)?;
        let field = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| json.get(*name).and_then(Value::as_str))
                .map(str::to_owned)
        };
        if !self.again {
            message.message_id = field(&["message_id"]).unwrap_or_default();
            message.external_id = field(&["external_id"]).unwrap_or_default();
        }
        let mut session = self.defaults.session(self.stem, None);
        let SessionRef {
            app_id,
            user_id,
            session_key,
            agent_session_key: _,
        } = &mut session;
        for (place, names) in [
            (app_id, &["app_id", "app"][..]),
            (user_id, &["user_id", "user"]),
            (
                session_key,
                &["session_key", "session_id", "conversation_id"],
            ),
        ] {
            if let Some(value) = field(names) {
                *place = value;
            }
        }
        Ok(ImportRecord::Message {
            session,
            message: Box::new(message),
            head: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(reader: &mut Jsonl<'_>, json: &Value) -> ImportRecord {
        let mut records = reader.line(json).unwrap();
        assert_eq!(records.len(), 1, "{records:?}");
        records.remove(0)
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
        assert!(reader.line(&json!({"text": "nobody says this"})).is_err());
        assert!(reader.line(&json!("just a text")).is_err());
    }
}

//! One JSON object a line: an export, or simple messages.

use std::collections::HashMap;

use memory_contract::proto::{
    Message, MessageInput, ResolveThreadRequest, SessionRef, Thread, message_input::Parent,
};
use prost_types::Duration;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::openai::Chat;
use super::{Defaults, Record};
use crate::cli::output::message_from_json;

/// Reads the lines of one file, in order.
#[derive(Debug)]
pub struct Jsonl<'a> {
    defaults: &'a Defaults,
    stem: &'a str,
    again: bool,
    chat: Chat,
    exported: Option<Exported>,
}

/// The thread whose messages follow in an export.
#[derive(Debug)]
struct Exported {
    session: SessionRef,
    /// The old id of the message that was the head.
    head: String,
    /// The new ids of the messages so far, by their old ones.
    ids: HashMap<String, String>,
    /// The newest message of each branch so far.
    tips: HashMap<i32, String>,
}

impl<'a> Jsonl<'a> {
    /// A reader of the file `stem`. `again` gives exported messages new ids.
    pub fn new(defaults: &'a Defaults, stem: &'a str, again: bool) -> Self {
        Self {
            defaults,
            stem,
            again,
            chat: Chat::default(),
            exported: None,
        }
    }

    /// Reads one line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn line(&mut self, json: &Value) -> Result<Record, String> {
        if let Some(thread) = json.get("thread").filter(|value| value.is_object()) {
            return Ok(self.thread(message_from_json("Thread", thread)?));
        }
        if let Some(message) = json.get("message").filter(|value| value.is_object()) {
            return self.exported(message_from_json("Message", message)?);
        }
        self.simple(json)
    }

    fn thread(&mut self, thread: Thread) -> Record {
        let session = SessionRef {
            app_id: thread.app_id,
            user_id: thread.user_id,
            session_key: thread.session_key,
            agent_session_key: String::new(),
        };
        self.exported = Some(Exported {
            session: session.clone(),
            head: thread.head_message_id,
            ids: HashMap::new(),
            tips: HashMap::new(),
        });
        let now = OffsetDateTime::now_utc().unix_timestamp();
        Record::Thread(Box::new(ResolveThreadRequest {
            session: Some(session),
            title: thread.title,
            metadata: thread.metadata,
            ttl: thread.expire_time.map(|time| Duration {
                seconds: (time.seconds - now).max(1),
                nanos: 0,
            }),
            policy: thread.policy,
            ephemeral: false,
        }))
    }

    fn exported(&mut self, message: Message) -> Result<Record, String> {
        let thread = self
            .exported
            .as_mut()
            .ok_or("a message without its thread before it")?;
        let id = match self.again {
            true => Uuid::now_v7().to_string(),
            false => message.message_id.clone(),
        };
        let parent = match thread.ids.get(&message.parent_message_id) {
            Some(parent) => Some(Parent::ParentMessageId(parent.clone())),
            // The first message of a thread needs no parent. What follows an
            // erased message follows what was said last on its branch.
            None if thread.ids.is_empty() => None,
            None if message.parent_message_id.is_empty() => Some(Parent::Root(true)),
            None => thread
                .tips
                .get(&message.branch)
                .cloned()
                .map(Parent::ParentMessageId),
        };
        let head = !thread.head.is_empty() && message.message_id == thread.head;
        thread.ids.insert(message.message_id, id.clone());
        thread.tips.insert(message.branch, id.clone());
        Ok(Record::Message {
            session: thread.session.clone(),
            message: Box::new(MessageInput {
                message_id: id,
                parent,
                role: message.role,
                name: message.name,
                parts: message.parts,
                metadata: message.metadata,
                create_time: message.create_time,
            }),
            head,
        })
    }

    fn simple(&mut self, json: &Value) -> Result<Record, String> {
        let mut message = self.chat.message(json)?;
        let field = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| json.get(*name).and_then(Value::as_str))
                .map(str::to_owned)
        };
        if !self.again {
            message.message_id = field(&["message_id"]).unwrap_or_default();
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
        Ok(Record::Message {
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
        let Record::Message {
            session, message, ..
        } = reader
            .line(&json!({"role": "user", "name": "Ada", "text": "Hello"}))
            .unwrap()
        else {
            panic!()
        };
        assert_eq!(
            (session.user_id.as_str(), session.session_key.as_str()),
            ("chat", "session:chat")
        );
        assert_eq!(message.name, "Ada");
        let Record::Message { session, .. } = reader
            .line(
                &json!({"role": "ai", "content": "Hi", "session_key": "thread:1", "user_id": "u"}),
            )
            .unwrap()
        else {
            panic!()
        };
        assert_eq!(
            (session.user_id.as_str(), session.session_key.as_str()),
            ("u", "thread:1")
        );
        assert!(reader.line(&json!({"text": "nobody says this"})).is_err());
        assert!(reader.line(&json!("just a text")).is_err());
    }

    #[test]
    fn an_export_keeps_its_tree_even_where_a_message_was_erased() {
        let defaults = defaults();
        for again in [false, true] {
            let mut reader = Jsonl::new(&defaults, "export", again);
            assert!(
                reader
                    .line(&json!({"message": {"messageId": "a"}}))
                    .is_err(),
                "no thread yet"
            );
            reader
                .line(&json!({"thread": {"appId": "x", "userId": "u", "sessionKey": "k"}}))
                .unwrap();
            let mut read = |id: &str, parent: &str, branch: i32| {
                let record = reader
                    .line(
                        &json!({"message": {"messageId": id, "parentMessageId": parent,
                        "branch": branch, "role": "ROLE_USER", "parts": [{"text": id}]}}),
                    )
                    .unwrap();
                let Record::Message { message, .. } = record else {
                    panic!()
                };
                (message.message_id.clone(), message.parent.clone())
            };
            let (a, none) = read("a", "", 1);
            assert_eq!((none, a == "a"), (None, !again));
            let (b, parent) = read("b", "a", 1);
            assert_eq!(parent, Some(Parent::ParentMessageId(a.clone())));
            assert_eq!(
                read("c", "a", 2).1,
                Some(Parent::ParentMessageId(a)),
                "another branch"
            );
            assert_eq!(read("e", "erased", 1).1, Some(Parent::ParentMessageId(b)));
            assert_eq!(
                read("f", "", 3).1,
                Some(Parent::Root(true)),
                "a second root"
            );
        }
    }
}

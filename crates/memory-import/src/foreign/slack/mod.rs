//! The export of a Slack workspace: `channels.json` and its like, `users.json`, and a folder
//! a channel with a list of messages a day, such as `general/2025-03-01.json`.
//!
//! A channel becomes a thread, and so does each of its threads, with the message that begins
//! it: the replies belong to that message, not to what the channel went on with.

mod markup;

use std::collections::{HashMap, HashSet};

use memory_contract::limits;
use memory_contract::proto::{MessageInput, Part, Role, SessionRef};
use prost_types::Timestamp;
use serde_json::{Value, json};

use super::parts::{NamedFile, list, string, text};
use super::reader::{Reader, identified, shortened};
use markup::plain;

/// Characters of a message that become the title of its thread.
const TITLE_CHARS: usize = 80;
/// Kinds of messages that people or apps wrote; the others are notices of Slack.
const WRITTEN: [&str; 9] = [
    "",
    "bot_message",
    "me_message",
    "thread_broadcast",
    "file_share",
    "file_comment",
    "assistant_app_thread",
    "document_mention",
    "reply_broadcast",
];

/// Whether a document is a message of a day. Those of other formats have a role.
pub(super) fn is_message(json: &Value) -> bool {
    json["type"] == "message" && json["ts"].is_string() && json.get("role").is_none()
}

/// What a workspace says of its channels and members.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// Names of members by their ids.
    members: HashMap<String, String>,
    /// Channels by their folders.
    channels: HashMap<String, Channel>,
    /// The session keys that were handed on.
    known: HashSet<String>,
}

#[derive(Debug, Clone)]
struct Channel {
    id: String,
    name: String,
    about: Value,
}

impl Workspace {
    /// Takes the members of `users.json`.
    pub(crate) fn add_members(&mut self, users: &Value) {
        for user in users.as_array().into_iter().flatten() {
            let profile = &user["profile"];
            let name = match string(profile, &["display_name", "real_name"]) {
                "" => string(user, &["real_name", "name"]),
                name => name,
            };
            let id = string(user, &["id"]).to_owned();
            self.members.insert(id, name.to_owned());
        }
    }

    /// Takes the channels of `channels.json`, `groups.json`, `mpims.json` or `dms.json`.
    pub(crate) fn add_channels(&mut self, channels: &Value) {
        for channel in channels.as_array().into_iter().flatten() {
            let id = string(channel, &["id"]);
            // Conversations of two have no name; their folder has the id.
            let folder = match string(channel, &["name"]) {
                "" => id,
                name => name,
            };
            let about = json!({
                "topic": string(&channel["topic"], &["value"]),
                "purpose": string(&channel["purpose"], &["value"]),
            });
            let known = Channel {
                id: id.to_owned(),
                name: folder.to_owned(),
                about,
            };
            self.channels.insert(folder.to_owned(), known);
        }
    }

    /// Hands on the messages of a day of the channel with this folder.
    pub(super) fn day(&mut self, reader: &mut Reader<'_>, folder: &str, json: &Value) {
        let single = std::slice::from_ref(json);
        let messages = json.as_array().map_or(single, Vec::as_slice);
        let channel = self.channels.get(folder).cloned();
        let channel = channel.unwrap_or_else(|| Channel {
            id: folder.to_owned(),
            name: folder.to_owned(),
            about: Value::Null,
        });
        // Each session's messages together, in the order in which sessions are spoken in.
        let mut sessions: Vec<(SessionRef, Vec<(String, MessageInput)>)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (index, message) in messages.iter().enumerate() {
            let place = format!("[{index}]");
            let session = session_of(reader, &channel, message);
            match self.message(reader, &session, message) {
                Ok(Some(said)) => {
                    let key = session.session_key.clone();
                    let at = *places.entry(key).or_insert_with(|| {
                        sessions.push((session, Vec::new()));
                        sessions.len() - 1
                    });
                    sessions[at].1.push((place, said));
                }
                Ok(None) => {}
                Err(problem) => reader.put(&place, Err(problem)),
            }
        }
        for (session, said) in sessions {
            self.announce(reader, &channel, &session, &said);
            for (place, message) in said {
                reader.message(&place, &session, message);
            }
        }
    }

    /// Hands on a session when it is first spoken in.
    fn announce(
        &mut self,
        reader: &mut Reader<'_>,
        channel: &Channel,
        session: &SessionRef,
        said: &[(String, MessageInput)],
    ) {
        if !self.known.insert(session.session_key.clone()) {
            return;
        }
        let name = format!("#{}", channel.name);
        let title = match session.session_key == channel.id {
            true => name,
            false => format!("{name}: {}", first_words(said)),
        };
        let mut metadata = json!({"channel": channel.name});
        for (field, value) in channel.about.as_object().into_iter().flatten() {
            if value != "" {
                metadata[field] = value.clone();
            }
        }
        let place = said.first().map_or("", |(place, _)| place.as_str());
        reader.thread(place, session, &title, metadata.to_string());
    }

    /// What a message says; `None` for notices of Slack and deleted messages.
    fn message(
        &self,
        reader: &mut Reader<'_>,
        session: &SessionRef,
        json: &Value,
    ) -> Result<Option<MessageInput>, String> {
        let ts = string(json, &["ts"]);
        let create_time = time(ts).ok_or("`ts` is missing or no time")?;
        let kind = string(json, &["subtype"]);
        if kind == "tombstone" {
            reader.leave_out("deleted messages", 1);
            return Ok(None);
        }
        if !WRITTEN.contains(&kind) {
            reader.leave_out("notices of Slack, such as joins", 1);
            return Ok(None);
        }
        let is_bot = kind == "bot_message" || json["bot_id"].is_string();
        let parts = self.parts(reader, json);
        if parts.is_empty() {
            reader.leave_out("messages without text", 1);
            return Ok(None);
        }
        let mut metadata = json!({});
        if let Some(edited) = json["edited"]["ts"].as_str() {
            metadata["edited_ts"] = edited.into();
        }
        let role = if is_bot { Role::Assistant } else { Role::User };
        Ok(Some(MessageInput {
            role: role.into(),
            name: shortened(&self.name(json), limits::NAME_CHARS),
            parts,
            metadata: match metadata.as_object().is_some_and(|fields| fields.is_empty()) {
                true => String::new(),
                false => metadata.to_string(),
            },
            create_time: Some(create_time),
            ..identified(session, Some(ts.to_owned()))
        }))
    }

    /// The name of the one who wrote a message, or the id if no name is known.
    fn name(&self, json: &Value) -> String {
        let user = string(json, &["user"]);
        let known = self.members.get(user).map(String::as_str);
        let profile = string(
            &json["user_profile"],
            &["display_name", "real_name", "name"],
        );
        let bot = match string(json, &["username"]) {
            "" => string(&json["bot_profile"], &["name"]),
            name => name,
        };
        let names = [bot, known.unwrap_or_default(), profile, user];
        let bot_id = string(json, &["bot_id"]);
        let named = names.into_iter().find(|name| !name.is_empty());
        named.unwrap_or(bot_id).to_owned()
    }

    fn parts(&self, reader: &mut Reader<'_>, json: &Value) -> Vec<Part> {
        let mut texts = vec![plain(string(json, &["text"]), &self.members)];
        let attachments = list(json, "attachments");
        if !texts[0].trim().is_empty() {
            reader.leave_out("attachments of apps beside a text", attachments.len());
        } else {
            texts.clear();
            // Apps write into attachments, which have a title and a text.
            for attachment in attachments {
                let field = |name| plain(string(attachment, &[name]), &self.members);
                let said = [field("pretext"), field("title"), field("text")];
                let before = texts.len();
                texts.extend(said.into_iter().filter(|text| !text.trim().is_empty()));
                if texts.len() == before {
                    texts.push(field("fallback"));
                }
            }
        }
        texts.retain(|text| !text.trim().is_empty());
        let mut parts = match texts.is_empty() {
            true => Vec::new(),
            false => vec![text(texts.join("\n"))],
        };
        for file in list(json, "files") {
            if matches!(string(file, &["mode"]), "tombstone" | "hidden_by_limit") {
                reader.leave_out("deleted files", 1);
                continue;
            }
            // Its URL has a token in it, which does not belong into a memory.
            let file = NamedFile {
                id: string(file, &["id"]).to_owned(),
                name: string(file, &["name", "title"]).to_owned(),
                mime_type: string(file, &["mimetype"]).to_owned(),
                size_bytes: file["size"].as_i64().unwrap_or_default(),
                width: file["original_w"].as_i64().unwrap_or_default(),
                height: file["original_h"].as_i64().unwrap_or_default(),
                ..Default::default()
            };
            parts.push(file.part(reader));
        }
        parts
    }
}

/// The session of a message: that of the channel, or that of the thread that it is in or
/// begins.
fn session_of(reader: &Reader<'_>, channel: &Channel, message: &Value) -> SessionRef {
    let session_key = match string(message, &["thread_ts"]) {
        "" => channel.id.clone(),
        thread => format!("{}/{thread}", channel.id),
    };
    SessionRef {
        app_id: reader.app(None),
        user_id: reader.user(None),
        session_key,
        agent_session_key: String::new(),
    }
}

fn first_words(said: &[(String, MessageInput)]) -> String {
    use memory_contract::proto::part::Content;
    let parts = said.iter().flat_map(|(_, message)| &message.parts);
    let mut texts = parts.filter_map(|part| match &part.content {
        Some(Content::Text(text)) => Some(text.lines().next().unwrap_or_default()),
        _ => None,
    });
    shortened(texts.next().unwrap_or_default(), TITLE_CHARS)
}

/// A time such as `1740819600.000200`: seconds since 1970 and the number of the message.
fn time(ts: &str) -> Option<Timestamp> {
    let (seconds, fraction) = ts.split_once('.').unwrap_or((ts, ""));
    let micros: i32 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    Some(Timestamp {
        seconds: seconds.parse().ok()?,
        nanos: micros * 1_000,
    })
}

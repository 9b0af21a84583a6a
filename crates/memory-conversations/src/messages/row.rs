//! A message in SQL: the types `recollect.message`, as it is read, and `recollect.new_message`,
//! as it is appended.

use std::collections::BTreeMap;

use memory_contract::{
    UserId,
    json::JsonObject,
    message::{Message, NewMessage, Parent, Part, Role},
};
use memory_database::{Composite, StoreError, rows::column, words};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use time::{OffsetDateTime, UtcOffset};
use tokio_postgres::{Row, types::Json};
use uuid::Uuid;

/// The parent of a root.
const ROOT: &str = "";

/// A message and its size.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedMessage {
    /// The message to store.
    pub message: NewMessage,
    /// Its size in `o200k_base` tokens, frame included; 0 or more.
    pub tokens: i32,
}

/// Reads the column `message`.
pub fn read_message(row: &Row) -> Result<Message, StoreError> {
    let row: Composite<'_> = column(row, "message")?;
    let role: &str = row.field("role")?;
    Ok(Message {
        id: row.field::<Uuid>("message_id")?.into(),
        external_id: row
            .field::<Option<String>>("external_id")?
            .unwrap_or_default(),
        thread: row.field::<Uuid>("thread_id")?.into(),
        parent: row.field::<Option<Uuid>>("parent_id")?.map(Into::into),
        seq: row.field("seq")?,
        branch: row.field("branch")?,
        depth: row.field("depth")?,
        role: Role::from_name(role).ok_or_else(|| StoreError::Corrupt {
            what: "message",
            why: "its role is not known".to_owned(),
        })?,
        name: row.field("name")?,
        said_by: UserId::new(row.field::<&str>("said_by")?),
        parts: row.field::<Json<Vec<Part>>>("parts")?.0,
        metadata: row.field::<Json<JsonObject>>("metadata")?.0,
        tokens: row.field("tokens")?,
        created: row.field("said_at")?,
    })
}

/// `recollect.new_message`, without the parts, and the words to find it with.
#[derive(Debug, Serialize)]
pub struct NewRow<'a> {
    message_id: Uuid,
    chosen: bool,
    external_id: Option<&'a str>,
    parent: Option<&'a str>,
    role: &'static str,
    name: &'a str,
    // Only where it is set: `recollect.append` looks for its name.
    #[serde(skip_serializing_if = "str::is_empty")]
    said_by: &'a str,
    metadata: &'a JsonObject,
    tokens: i32,
    said_at: Option<String>,
}

/// Messages to append, as three parameters of a query.
pub struct NewRows<'a> {
    /// Everything but parts and words.
    pub messages: Json<Vec<NewRow<'a>>>,
    /// The parts of each message.
    pub parts: Vec<Json<&'a [Part]>>,
    /// The words that each message is found by.
    pub words: Vec<String>,
}

impl<'a> NewRows<'a> {
    /// The rows of these messages.
    pub fn of(messages: &'a [CountedMessage]) -> Self {
        let each = || messages.iter().map(|counted| &counted.message);
        Self {
            messages: Json(messages.iter().map(NewRow::of).collect()),
            parts: each()
                .map(|message| Json(message.parts.as_slice()))
                .collect(),
            words: each()
                .map(|message| words::of_message(&message.name, &message.parts))
                .collect(),
        }
    }
}

impl<'a> NewRow<'a> {
    fn of(CountedMessage { message, tokens }: &'a CountedMessage) -> Self {
        let NewMessage {
            id,
            caller_chose_id,
            external_id,
            parent,
            role,
            name,
            said_by,
            // A parameter of its own.
            parts: _,
            metadata,
            created,
        } = message;
        Self {
            message_id: id.uuid(),
            chosen: *caller_chose_id,
            external_id: Some(external_id.as_str()).filter(|id| !id.is_empty()),
            parent: match parent {
                Parent::Previous => None,
                Parent::Root => Some(ROOT),
                Parent::Message(name) => Some(name.as_str()),
            },
            role: role.as_str(),
            name,
            said_by: said_by.as_str(),
            metadata,
            tokens: *tokens,
            said_at: created.map(timestamp),
        }
    }
}

/// A time as Postgres reads it, without fractions of microseconds.
fn timestamp(time: OffsetDateTime) -> String {
    let utc = time.to_offset(UtcOffset::UTC);
    let (year, month, day) = utc.to_calendar_date();
    let (hour, minute, second, micros) = utc.to_hms_micro();
    let month = u8::from(month);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// SHA-256 of all that the caller chose of the messages of a request. Ids that the server generated
/// are left out, because a retry gets other ones.
pub(crate) fn content_hash(messages: &[CountedMessage]) -> Vec<u8> {
    let mut hasher = Sha256::new();
    for CountedMessage { message, tokens: _ } in messages {
        let NewMessage {
            id,
            caller_chose_id,
            external_id,
            parent,
            role,
            name,
            said_by,
            parts,
            metadata,
            created,
        } = message;
        let parent = match parent {
            Parent::Previous => json!("previous"),
            Parent::Root => json!("root"),
            Parent::Message(name) => json!({ "message": name.as_str() }),
        };
        let content = json!([
            caller_chose_id.then_some(id),
            parent,
            role,
            name,
            parts,
            metadata_of(metadata),
            created.map(|time| time.unix_timestamp_nanos().to_string()),
            external_id,
            said_by,
        ]);
        hash_value(&mut hasher, &content);
    }
    hasher.finalize().to_vec()
}

/// The members of metadata as their JSON texts, which keep the digits of numbers.
fn metadata_of(metadata: &JsonObject) -> BTreeMap<String, String> {
    let members = metadata.members().into_iter();
    members
        .map(|(name, value)| (name, value.get().to_owned()))
        .collect()
}

/// Hashes JSON independently of the order of an object's keys, which protobuf does not
/// preserve.
fn hash_value(hasher: &mut Sha256, value: &Value) {
    match value {
        Value::Array(values) => {
            hasher.update(b"[");
            hasher.update((values.len() as u64).to_be_bytes());
            for value in values {
                hash_value(hasher, value);
            }
        }
        Value::Object(members) => {
            hasher.update(b"{");
            hasher.update((members.len() as u64).to_be_bytes());
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in members {
                hasher.update((key.len() as u64).to_be_bytes());
                hasher.update(key.as_bytes());
                hash_value(hasher, value);
            }
        }
        Value::String(text) => {
            hasher.update(b"s");
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        }
        Value::Number(number) => {
            let text = number.to_string();
            hasher.update(b"n");
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        }
        Value::Bool(value) => hasher.update(if *value { b"t" } else { b"f" }),
        Value::Null => hasher.update(b"0"),
    }
}

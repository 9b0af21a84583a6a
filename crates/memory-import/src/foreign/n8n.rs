//! Rows of n8n's chat memory in Postgres, the table `n8n_chat_histories`: `id`, `session_id`
//! and `message`, a message of LangChain. LangChain's own tables have the same columns.

use memory_contract::proto::SessionRef;
use serde_json::Value;

use super::fields::time_in;
use super::langchain::Messages;
use super::parts::string;
use super::reader::Reader;

/// Whether a document is a row.
pub(super) fn is_row(json: &Value) -> bool {
    let message = &json["message"];
    session_key(json).is_some()
        && (message.is_object() || message.is_string())
        && json.get("role").is_none()
}

/// Hands on the message of a row.
pub(super) fn read(messages: &mut Messages, reader: &mut Reader<'_>, at: &str, json: &Value) {
    if let Err(problem) = row(messages, reader, at, json) {
        reader.put(at, Err(problem));
    }
}

fn row(
    messages: &mut Messages,
    reader: &mut Reader<'_>,
    at: &str,
    json: &Value,
) -> Result<(), String> {
    if !json.is_object() {
        return Err("a row has to be an object".to_owned());
    }
    let session = SessionRef {
        app_id: reader.app(None),
        user_id: reader.user(None),
        session_key: session_key(json).ok_or("`session_id` is missing")?,
        agent_session_key: String::new(),
    };
    let written;
    let message = match &json["message"] {
        message @ Value::Object(_) => message,
        Value::String(text) => {
            written = serde_json::from_str(text)
                .map_err(|error| format!("`message` is not valid JSON: {error}"))?;
            &written
        }
        _ => return Err("`message` is missing".to_owned()),
    };
    let id = match &json["id"] {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    };
    let created = time_in(json, "created_at")?;
    if let Some(mut message) = messages.message(reader, &session, message, id)? {
        message.create_time = created.or(message.create_time);
        reader.message(at, &session, message);
    }
    Ok(())
}

fn session_key(json: &Value) -> Option<String> {
    match &json["session_id"] {
        Value::Number(id) => Some(id.to_string()),
        _ => Some(string(json, &["session_id"]).to_owned()).filter(|key| !key.is_empty()),
    }
}

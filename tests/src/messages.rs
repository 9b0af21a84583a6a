//! Helpers to make requests with messages, and to read answers.

use memory_contract::proto::{
    AppRef, FileRef, FileType, GetHistoryRequest, Message, MessageInput, Part, Precondition,
    RecallReason, RecallRequest, RecallScope, RecalledMessage, Role, SearchRequest, SessionRef,
    Target, ThreadRef, ToolCall, ToolResult, UserRef, file_ref, part, precondition::State,
    tool_result_part as output,
};
use prost_types::{Duration, FieldMask};
use serde_json::Value;

use crate::freshness::fresh_from;

pub fn seconds(seconds: i64) -> Duration {
    Duration { seconds, nanos: 0 }
}

pub fn mask(paths: &[&str]) -> FieldMask {
    FieldMask {
        paths: paths.iter().map(|&path| path.to_owned()).collect(),
    }
}

/// An app id that no other test has.
pub fn app() -> String {
    format!("app-{}", uuid::Uuid::new_v4())
}

pub fn session(app: &str, user: &str, key: &str) -> SessionRef {
    SessionRef {
        app_id: app.to_owned(),
        user_id: user.to_owned(),
        session_key: key.to_owned(),
        agent_session_key: String::new(),
    }
}

pub fn say(role: Role, text: &str) -> MessageInput {
    with_parts(role, vec![text_part(text)])
}

pub fn with_parts(role: Role, parts: Vec<Part>) -> MessageInput {
    MessageInput {
        role: role.into(),
        parts,
        ..Default::default()
    }
}

/// A message of one text that follows a message of one's choice.
pub fn reply(parent: &str, role: Role, text: &str) -> MessageInput {
    use memory_contract::proto::message_input::Parent;

    MessageInput {
        parent: Some(Parent::ParentMessageId(parent.to_owned())),
        ..say(role, text)
    }
}

/// A question of the user and an answer.
pub fn turn(question: &str, answer: &str) -> Vec<MessageInput> {
    vec![say(Role::User, question), say(Role::Assistant, answer)]
}

/// An assistant's message that calls a tool.
pub fn tool_call(id: &str, name: &str, arguments: serde_json::Value) -> MessageInput {
    with_parts(
        Role::Assistant,
        vec![Part {
            content: Some(part::Content::ToolCall(ToolCall {
                tool_call_id: id.to_owned(),
                name: name.to_owned(),
                arguments: arguments.to_string(),
                ..Default::default()
            })),
            ..Default::default()
        }],
    )
}

/// A tool's answer.
pub fn tool_result(id: &str, text: &str) -> MessageInput {
    with_parts(
        Role::Tool,
        vec![Part {
            content: Some(part::Content::ToolResult(ToolResult {
                tool_call_id: id.to_owned(),
                name: String::new(),
                content: vec![output::Content::Text(text.to_owned()).into()],
                is_error: false,
            })),
            ..Default::default()
        }],
    )
}

/// A reference to a picture on the net.
pub fn file(url: &str, caption: &str) -> Part {
    Part {
        content: Some(part::Content::File(FileRef {
            r#type: FileType::Image.into(),
            location: Some(file_ref::Location::Url(url.to_owned())),
            name: "picture.png".to_owned(),
            mime_type: "image/png".to_owned(),
            size_bytes: 1_234,
            caption: caption.to_owned(),
            ..Default::default()
        })),
        ..Default::default()
    }
}

/// A thread by its id.
pub fn by_id(thread_id: impl Into<String>) -> Option<ThreadRef> {
    Some(thread_id.into().into())
}

/// A thread by the names of its session.
pub fn by_session(session: SessionRef) -> Option<ThreadRef> {
    Some(session.into())
}

/// One user of an app.
pub fn of_user(app: &str, user: &str) -> Option<UserRef> {
    Some(UserRef {
        app_id: app.to_owned(),
        user_id: user.to_owned(),
    })
}

/// A thread, by its id, as the target of a request.
pub fn target_thread(thread_id: impl Into<String>) -> Option<Target> {
    by_id(thread_id).map(Target::from)
}

/// A thread, by the names of its session, as the target of a request.
pub fn target_session(session: SessionRef) -> Option<Target> {
    by_session(session).map(Target::from)
}

/// One user of an app as the target of a request.
pub fn target_user(app: &str, user: &str) -> Option<Target> {
    of_user(app, user).map(Target::from)
}

/// All users of an app as the target of a request.
pub fn target_app(app: impl Into<String>) -> Option<Target> {
    Some(AppRef { app_id: app.into() }.into())
}

/// The condition that an object has this etag; `*`: that it exists.
pub fn has_etag(etag: impl Into<String>) -> Option<Precondition> {
    Some(Precondition {
        state: Some(State::Etag(etag.into())),
    })
}

/// The condition that an object does not exist.
pub fn is_absent() -> Option<Precondition> {
    Some(Precondition {
        state: Some(State::Absent(())),
    })
}

/// Metadata or data as the wire has it: the JSON text of an object.
///
/// # Panics
/// If it is not an object.
pub fn metadata(value: Value) -> String {
    assert!(value.is_object(), "not an object: {value}");
    value.to_string()
}

/// Metadata or data of an answer, read as JSON. Empty text is null: nothing is set.
///
/// # Panics
/// If it is neither empty nor the JSON text of an object.
#[track_caller]
pub fn parsed(text: &str) -> Value {
    if text.is_empty() {
        return Value::Null;
    }
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => value,
        other => panic!("not an object: {other:?}: {text}"),
    }
}

/// A history of a whole thread, as far as one answer can hold it.
pub fn history_request(thread_id: &str) -> GetHistoryRequest {
    GetHistoryRequest {
        thread: by_id(thread_id),
        max_tokens: Some(1_000_000),
        max_messages: Some(500),
        ..Default::default()
    }
}

/// A recall in a thread that sees everything up to a revision, and says what it left out.
pub fn recall_request(thread_id: &str, query: &str, revision: &str) -> RecallRequest {
    RecallRequest {
        target: target_thread(thread_id),
        query: query.to_owned(),
        freshness: fresh_from(revision),
        explain: true,
        ..Default::default()
    }
}

/// A search in one thread that sees everything up to a revision.
pub fn search_request(thread_id: &str, query: &str, revision: &str) -> SearchRequest {
    SearchRequest {
        target: target_thread(thread_id),
        // With another target a scope is refused.
        scope: match thread_id {
            "" => RecallScope::Unspecified.into(),
            _ => RecallScope::Thread.into(),
        },
        query: query.to_owned(),
        freshness: fresh_from(revision),
        ..Default::default()
    }
}

/// The texts of a message, joined.
pub fn text_of(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match &part.content {
        Some(part::Content::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The texts of messages, or of what holds them.
pub fn texts<'a>(messages: impl IntoIterator<Item = &'a (impl AsMessage + 'a)>) -> Vec<String> {
    messages
        .into_iter()
        .map(|message| text_of(message.as_message()))
        .collect()
}

/// The ids of messages, or of what holds them.
pub fn ids<'a>(messages: impl IntoIterator<Item = &'a (impl AsMessage + 'a)>) -> Vec<String> {
    messages
        .into_iter()
        .map(|message| message.as_message().message_id.clone())
        .collect()
}

/// Whether a message was returned for a reason.
pub fn has_reason(message: &RecalledMessage, reason: RecallReason) -> bool {
    message.reasons.contains(&i32::from(reason))
}

/// A message, or an answer that contains one.
pub trait AsMessage {
    fn as_message(&self) -> &Message;
}

impl AsMessage for Message {
    fn as_message(&self) -> &Message {
        self
    }
}

impl AsMessage for RecalledMessage {
    fn as_message(&self) -> &Message {
        self.message.as_ref().unwrap()
    }
}

fn text_part(text: &str) -> Part {
    Part {
        content: Some(part::Content::Text(text.to_owned())),
        ..Default::default()
    }
}

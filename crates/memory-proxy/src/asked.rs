//! A request: its messages, the question that memory is searched for, and the place for what is
//! remembered.
//!
//! Memory is written behind the newest text of the user, in the same message: what comes before
//! it stays the same in the next request, so that prompt caches match, and the roles stay as the
//! application sent them. All other bytes of the request stay as they are.

use bytes::Bytes;
use memory_contract::limits;
use memory_contract::message::Provider;
use memory_contract::proto::{MessageInput, Role};
use memory_formats::messages_in;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::api::Api;
use crate::same::Said;

/// A request that was read.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The messages of the conversation, without system messages.
    pub(crate) messages: Vec<MessageInput>,
    /// What each of them says.
    pub(crate) said: Vec<Said>,
    /// Where the messages begin that no answer of the model follows.
    pub(crate) new_from: usize,
    /// The newest text of the user, shortened to the longest query. Empty if no message of the user has text.
    pub(crate) question: String,
    /// Whether the model goes on with a question of an earlier request, such as after a tool.
    pub(crate) goes_on: bool,
    /// The provider keeps the earlier messages, and the request has only the new ones.
    pub(crate) is_kept: bool,
    /// The model; empty if the request names none.
    pub(crate) model: String,
    /// Whom and what the body names.
    pub(crate) named: Named,
    /// The response that the request continues.
    pub(crate) previous: Option<String>,
    cache_key: String,
    place: Option<Place>,
}

/// What a body says about whose conversation it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) user: Option<String>,
    pub(crate) conversation: Option<String>,
}

/// Where memory is written.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The position in the body: before the end of a text, or of a list of parts.
    at: usize,
    /// The type of a part; `None`: it is within a text.
    part: Option<&'static str>,
}

/// The fields of the three APIs that count here.
#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    safety_identifier: Option<&'a RawValue>,
    #[serde(borrow)]
    user: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    conversation: Option<&'a RawValue>,
    #[serde(borrow)]
    previous_response_id: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt_cache_key: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct PartOf<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

impl Asked {
    /// Reads a request; `None` if its messages cannot be read, or if the last one is the
    /// beginning of the model's answer.
    pub(crate) fn read(api: Api, body: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let fields: Body<'_> = serde_json::from_str(text).ok()?;
        let list = match api {
            Api::Responses => fields.input?,
            Api::Chat | Api::Messages => fields.messages?,
        };
        let messages = spoken(api.provider(), list.get())?;
        let is_answer = |message: &MessageInput| message.role() == Role::Assistant;
        if messages.last().is_none_or(is_answer) {
            return None;
        }
        let newest_answer = messages.iter().rposition(is_answer);
        let conversation = fields.conversation.and_then(|field| id_of(field.get()));
        let previous = fields.previous_response_id.and_then(string);
        let question = question(api, text, list);
        let (question, place, goes_on) = match question {
            Some(found) => (found.text, Some(found.place), found.goes_on),
            None => (String::new(), None, true),
        };
        Some(Self {
            said: messages.iter().map(Said::of_input).collect(),
            new_from: newest_answer.map_or(0, |place| place + 1),
            messages,
            question,
            goes_on,
            is_kept: previous.is_some() || conversation.is_some(),
            model: fields.model.and_then(string).unwrap_or_default(),
            named: Named {
                user: user(api, &fields),
                conversation,
            },
            previous,
            cache_key: fields.prompt_cache_key.and_then(string).unwrap_or_default(),
            place,
        })
    }

    /// The session of a request that names none: a digest of the messages with which the
    /// conversation begins, up to the first answer, and of the key of its prompt cache.
    pub(crate) fn derived_session(&self) -> String {
        let is_answer = |message: &MessageInput| message.role() == Role::Assistant;
        let first_answer = self.messages.iter().position(is_answer);
        let beginning = &self.said[..first_answer.unwrap_or(self.said.len())];
        let mut digest = Sha256::new();
        digest.update(self.cache_key.as_bytes());
        for said in beginning {
            digest.update(said.bytes());
        }
        let digest: [u8; 32] = digest.finalize().into();
        let hex = digest[..16].iter().map(|byte| format!("{byte:02x}"));
        format!("proxy:{}", hex.collect::<String>())
    }

    /// The turn that the newest question opens: a digest of the messages up to it.
    pub(crate) fn turn(&self) -> [u8; 32] {
        let is_question = |message: &MessageInput| message.role() == Role::User;
        let end = self.messages.iter().rposition(is_question);
        let mut digest = Sha256::new();
        for said in &self.said[..end.map_or(0, |end| end + 1)] {
            digest.update(said.bytes());
        }
        digest.finalize().into()
    }

    /// The request with memory; `None` without a place for it.
    pub(crate) fn with_memory(&self, body: &[u8], memory: &str) -> Option<Bytes> {
        let Place { at, part } = self.place?;
        // A string always serializes.
        let quoted = serde_json::to_string(&format!("\n\n{memory}")).unwrap_or_default();
        let written = match part {
            None => quoted[1..quoted.len() - 1].to_owned(),
            Some(kind) => format!(r#",{{"type":"{kind}","text":{quoted}}}"#),
        };
        let (before, after) = body.split_at_checked(at)?;
        Some(Bytes::from([before, written.as_bytes(), after].concat()))
    }
}

/// The messages in a list, without system messages and without the ids that a provider gave
/// them.
fn spoken(provider: Provider, list: &str) -> Option<Vec<MessageInput>> {
    let whole = match provider {
        // The only text that is not a list.
        Provider::OpenaiResponses if list.starts_with('"') => {
            messages_in(provider, &format!(r#"{{"input":{list}}}"#))
        }
        _ => messages_in(provider, list),
    };
    let mut messages = whole.ok()?;
    messages.retain(|message| message.role() != Role::System);
    for message in &mut messages {
        message.external_id.clear();
    }
    Some(messages)
}

struct Question {
    text: String,
    place: Place,
    goes_on: bool,
}

/// The newest text of the user. `body` contains `list`.
fn question(api: Api, body: &str, list: &RawValue) -> Option<Question> {
    let place_of = |raw: &RawValue, part| Place {
        // Both are parts of the same text.
        at: raw.get().as_ptr() as usize - body.as_ptr() as usize + raw.get().len() - 1,
        part,
    };
    let found = |text: String, place: Place, goes_on: bool| {
        let text = shortened(text);
        (!text.trim().is_empty()).then_some(Question {
            text,
            place,
            goes_on,
        })
    };
    if list.get().starts_with('"') {
        return found(string(list)?, place_of(list, None), false);
    }
    let items: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
    let kind = match api {
        Api::Responses => "input_text",
        Api::Chat | Api::Messages => "text",
    };
    for (index, item) in items.iter().enumerate().rev() {
        let Ok(item) = serde_json::from_str::<Item<'_>>(item.get()) else {
            continue;
        };
        if item.role.and_then(string).as_deref() != Some("user") {
            continue;
        }
        let Some(content) = item.content else {
            continue;
        };
        let goes_on = index + 1 < items.len();
        let question = match content.get().starts_with('"') {
            true => found(string(content)?, place_of(content, None), goes_on),
            false => found(
                texts(content.get(), kind)?,
                place_of(content, Some(kind)),
                goes_on,
            ),
        };
        if question.is_some() {
            return question;
        }
    }
    None
}

/// The texts in a list of parts.
fn texts(list: &str, kind: &str) -> Option<String> {
    let parts: Vec<PartOf<'_>> = serde_json::from_str(list).ok()?;
    let texts = parts.into_iter().filter_map(|part| {
        let is_text = part.kind.and_then(string).as_deref() == Some(kind);
        part.text.filter(|_| is_text).and_then(string)
    });
    Some(texts.collect::<Vec<_>>().join("\n"))
}

fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(limits::QUERY_CHARS) {
        text.truncate(end);
    }
    text.replace('\0', "\u{fffd}")
}

/// The user that the body names. A name that is there and empty counts.
fn user(api: Api, body: &Body<'_>) -> Option<String> {
    #[derive(Deserialize)]
    struct Metadata<'a> {
        #[serde(borrow)]
        user_id: Option<&'a RawValue>,
    }

    match api {
        Api::Chat | Api::Responses => body.safety_identifier.or(body.user).and_then(string),
        Api::Messages => {
            let metadata: Metadata<'_> = serde_json::from_str(body.metadata?.get()).ok()?;
            metadata.user_id.and_then(string)
        }
    }
}

/// An id, or an object with one.
fn id_of(json: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct WithId {
        id: String,
    }

    match json.starts_with('"') {
        true => serde_json::from_str(json).ok(),
        false => Some(serde_json::from_str::<WithId>(json).ok()?.id),
    }
}

fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(api: Api, body: &str) -> Asked {
        Asked::read(api, body.as_bytes()).unwrap()
    }

    /// The request with memory, as JSON.
    fn with(api: Api, body: &str, memory: &str) -> Value {
        let body = read(api, body).with_memory(body.as_bytes(), memory);
        serde_json::from_slice(&body.unwrap()).unwrap()
    }

    #[test]
    fn memory_is_written_behind_the_newest_text_of_the_user() {
        let body = r#"{"model":"m","messages":[{"role":"system","content":"S"},
            {"role":"user","content":"a \"quoted\" one"}], "temperature":1.0}"#;
        let changed = read(Api::Chat, body).with_memory(body.as_bytes(), "L1\n\"é\"");
        let expected = body.replace(r#"a \"quoted\" one"#, r#"a \"quoted\" one\n\nL1\n\"é\""#);
        assert_eq!(changed.unwrap(), expected);

        let parts = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"Q",
            "cache_control":{"type":"ephemeral"}} ]}]}"#;
        for api in [Api::Chat, Api::Messages] {
            let changed = with(api, parts, "M");
            let content = &changed["messages"][0]["content"];
            assert_eq!(content[0]["text"], "Q");
            assert_eq!(content[1], json!({"type": "text", "text": "\n\nM"}));
        }
        let changed = with(Api::Responses, r#"{"input":"Q"}"#, "M");
        assert_eq!(changed["input"], "Q\n\nM");
        let items = r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"Q"}]}]}"#;
        let changed = with(Api::Responses, items, "M");
        let part = &changed["input"][0]["content"][1];
        assert_eq!(*part, json!({"type": "input_text", "text": "\n\nM"}));
    }

    #[test]
    fn after_a_tool_the_memory_stays_at_the_question() {
        let chat = r#"{"messages":[{"role":"user","content":"Q"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",
            "function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c","content":"42"}]}"#;
        let asked = read(Api::Chat, chat);
        assert!(asked.goes_on);
        assert_eq!(
            (
                asked.question.as_str(),
                asked.new_from,
                asked.messages.len()
            ),
            ("Q", 2, 3)
        );
        let first = r#"{"messages":[{"role":"user","content":"Q"}]}"#;
        let first = read(Api::Chat, first);
        assert!(!first.goes_on);
        assert_eq!(first.turn(), asked.turn());
        assert_eq!(
            with(Api::Chat, chat, "M")["messages"][0]["content"],
            "Q\n\nM"
        );

        let anthropic = r#"{"messages":[{"role":"user","content":"Q"},
            {"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"42"}]}]}"#;
        let asked = read(Api::Messages, anthropic);
        assert!(asked.goes_on);
        assert_eq!(asked.question, "Q");
        assert_eq!(asked.messages[2].role(), Role::Tool);
    }

    #[test]
    fn a_conversation_is_known_by_its_beginning() {
        let session = |api, body: &str| read(api, body).derived_session();
        let first =
            r#"{"messages":[{"role":"system","content":"v1"},{"role":"user","content":"hi"}]}"#;
        let later = r#"{"messages":[{"role":"system","content":"v2"},{"role":"user","content":"hi"},
            {"role":"assistant","content":"Hello"},{"role":"user","content":"And now?"}]}"#;
        assert_eq!(session(Api::Chat, first), session(Api::Chat, later));
        assert_eq!(session(Api::Chat, first), session(Api::Messages, first));
        let other = r#"{"messages":[{"role":"user","content":"hello"}]}"#;
        assert_ne!(session(Api::Chat, first), session(Api::Chat, other));
        let keyed = r#"{"prompt_cache_key":"k","messages":[{"role":"user","content":"hi"}]}"#;
        assert_ne!(session(Api::Chat, first), session(Api::Chat, keyed));
    }

    #[test]
    fn a_body_names_user_and_conversation() {
        let named = |api, body: &str| {
            let Named { user, conversation } = read(api, body).named;
            (user.unwrap_or_default(), conversation.unwrap_or_default())
        };
        let names = |user: &str, conversation: &str| (user.to_owned(), conversation.to_owned());
        let body = r#"{"input":"Q","user":"old","safety_identifier":"ada","conversation":"c1"}"#;
        assert_eq!(named(Api::Responses, body), names("ada", "c1"));
        let body = r#"{"input":"Q","user":"ada","conversation":{"id":"c1"}}"#;
        assert_eq!(named(Api::Responses, body), names("ada", "c1"));
        assert!(read(Api::Responses, body).is_kept);
        let body = r#"{"messages":[{"role":"user","content":"Q"}],"metadata":{"user_id":"ada"}}"#;
        assert_eq!(named(Api::Messages, body), names("ada", ""));
        assert_eq!(named(Api::Chat, body), names("", ""));
    }

    #[test]
    fn what_cannot_be_read_gets_no_memory() {
        for body in [
            "",
            "{}",
            "[]",
            r#"{"messages":[]}"#,
            r#"{"messages":[{"role":"wizard","content":"Q"}]}"#,
            r#"{"messages":[{"role":"user","content":"Q"},{"role":"assistant","content":"{"}]}"#,
        ] {
            assert!(Asked::read(Api::Chat, body.as_bytes()).is_none(), "{body}");
        }
        let image = r#"{"messages":[{"role":"user","content":[{"type":"image_url",
            "image_url":{"url":"https://a.example/b.png"}}]}]}"#;
        let asked = read(Api::Chat, image);
        assert_eq!(asked.question, "");
        assert!(asked.with_memory(image.as_bytes(), "M").is_none());
    }
}

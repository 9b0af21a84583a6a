//! Messages between JSON or protobuf outside and protobuf inside.

use bytes::Bytes;
use http::HeaderValue;
use prost::Message as _;
use prost_reflect::{DeserializeOptions, DynamicMessage, MessageDescriptor};
use serde_json::error::Category;
use serde_path_to_error::{Deserializer, Track};

use crate::unreadable::Unreadable;

/// Values in the JSON of one request. Each may take 700 bytes while it is read.
const MAX_VALUES: usize = 100_000;
/// Bytes of a problem that repeat what the caller sent.
const PROBLEM_BYTES: usize = 500;

/// How messages are written outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    /// proto3 JSON.
    Json,
    /// As inside.
    Proto,
}

/// An answer that does not fit its descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Untranslatable;

impl Codec {
    /// The largest message outside, where inside one of `max` bytes is accepted. JSON
    /// escapes text and writes bytes in base64.
    pub(crate) fn max_bytes(self, max: usize) -> usize {
        match self {
            Self::Json => 2 * max,
            Self::Proto => max,
        }
    }

    /// The content type of one message, and of a stream.
    pub(crate) fn content_type(self, streams: bool) -> HeaderValue {
        HeaderValue::from_static(match (self, streams) {
            (Self::Json, false) => "application/json",
            (Self::Proto, false) => "application/proto",
            (Self::Json, true) => "application/connect+json",
            (Self::Proto, true) => "application/connect+proto",
        })
    }

    /// Reads a request. Without a descriptor, of an unknown method, all are empty.
    pub(crate) fn read(
        self,
        input: Option<&MessageDescriptor>,
        request: Bytes,
    ) -> Result<Bytes, Unreadable> {
        match (self, input) {
            (_, None) => Ok(Bytes::new()),
            (Self::Proto, Some(_)) => Ok(request),
            (Self::Json, Some(input)) => parse(input, &request),
        }
    }

    /// Writes an answer.
    pub(crate) fn write(
        self,
        output: Option<&MessageDescriptor>,
        answer: Bytes,
    ) -> Result<Bytes, Untranslatable> {
        match (self, output) {
            (Self::Proto, _) => Ok(answer),
            (Self::Json, None) => Err(Untranslatable),
            (Self::Json, Some(output)) => {
                let message = DynamicMessage::decode(output.clone(), answer);
                let message = message.map_err(|_| Untranslatable)?;
                let json = serde_json::to_vec(&message).map_err(|_| Untranslatable)?;
                Ok(json.into())
            }
        }
    }
}

fn parse(input: &MessageDescriptor, json: &[u8]) -> Result<Bytes, Unreadable> {
    if json.iter().all(u8::is_ascii_whitespace) {
        return Err(Unreadable::new(
            "the request has no body: send a JSON object, at least {}",
        ));
    }
    if has_more_values(json, MAX_VALUES) {
        return Err(Unreadable::new(format!(
            "the JSON has more than {MAX_VALUES} values: split the request, or send it as protobuf"
        )));
    }
    let mut reader = serde_json::Deserializer::from_slice(json);
    let mut track = Track::new();
    let message = DynamicMessage::deserialize_with_options(
        input.clone(),
        Deserializer::new(&mut reader, &mut track),
        &DeserializeOptions::new().deny_unknown_fields(true),
    );
    let message = message.and_then(|message| reader.end().map(|()| message));
    match message {
        Ok(message) => Ok(message.encode_to_vec().into()),
        Err(error) => {
            let path = track.path().to_string();
            let names_field = error.classify() == Category::Data && !matches!(&*path, "." | "");
            Err(match names_field {
                true => Unreadable {
                    field: Some(cut(path)),
                    problem: cut(error.to_string()),
                },
                false => Unreadable::new(cut(format!("the JSON cannot be read: {error}"))),
            })
        }
    }
}

/// Whether there are more values than `max`, by the characters before them.
fn has_more_values(json: &[u8], max: usize) -> bool {
    let (mut in_text, mut escaped, mut count) = (false, false, 0);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count > max
}

/// The beginning of a text, with the position at its end: `… at line 1 column 7`.
fn cut(text: String) -> String {
    if text.len() <= PROBLEM_BYTES {
        return text;
    }
    let position = text.rfind(" at line ").map_or("", |at| &text[at..]);
    let end = text.floor_char_boundary(PROBLEM_BYTES - position.len().min(PROBLEM_BYTES));
    format!("{}…{position}", &text[..end])
}

#[cfg(test)]
mod tests {
    use memory_contract::proto::{AppendMessagesRequest, AppendMessagesResponse};

    use super::*;
    use crate::contract::CONTRACT;

    fn append() -> prost_reflect::MethodDescriptor {
        let path = "/recollect.v1.MessageService/AppendMessages";
        CONTRACT.method(path).unwrap().descriptor.clone()
    }

    fn read(json: &str) -> Result<AppendMessagesRequest, Unreadable> {
        let bytes = Codec::Json.read(Some(&append().input()), json.to_owned().into())?;
        Ok(AppendMessagesRequest::decode(bytes).unwrap())
    }

    #[test]
    fn both_spellings_of_a_field_are_read() {
        let snake = read(
            r#"{"thread": {"thread_id": "t"},
                "messages": [{"role": "ROLE_USER", "parts": [{"text": "x"}]}]}"#,
        );
        let camel = read(
            r#"{"thread": {"threadId": "t"}, "messages": [{"role": 1, "parts": [{"text": "x"}]}]}"#,
        );
        assert_eq!(snake.unwrap(), camel.unwrap());
    }

    #[test]
    fn a_request_of_very_many_values_is_refused() {
        let with = |count: usize| {
            // A brace and a comma each.
            let messages = vec!["{}"; count / 2].join(",");
            read(&format!(
                r#"{{"thread": {{"thread_id": "t"}}, "messages": [{messages}]}}"#
            ))
        };
        assert!(with(MAX_VALUES - 10).is_ok());
        let unreadable = with(MAX_VALUES).unwrap_err();
        assert!(
            unreadable.problem.contains("split the request"),
            "{unreadable:?}"
        );
        let commas = ",[{\\\"".repeat(MAX_VALUES);
        assert!(read(&format!(r#"{{"request_id": "{commas}"}}"#)).is_ok());
    }

    #[test]
    fn a_problem_repeats_little_of_the_request() {
        let role = "x".repeat(100_000);
        let json = format!(r#"{{"messages": [{{"role": "{role}"}}]}}"#);
        let unreadable = read(&json).unwrap_err();
        assert!(unreadable.problem.len() < 600, "{unreadable:?}");
        assert!(unreadable.problem.contains(" at line "), "{unreadable:?}");
    }

    #[test]
    fn a_wrong_value_is_named_with_its_place() {
        let check = |json: &str, field: Option<&str>, words: &[&str]| {
            let unreadable = read(json).unwrap_err();
            assert_eq!(unreadable.field.as_deref(), field, "{unreadable:?}");
            for word in words {
                assert!(unreadable.problem.contains(word), "{unreadable:?}");
            }
        };
        check("", None, &["at least {}"]);
        check("{\n\"request_id\": ", None, &["line 2"]);
        check("{} {}", None, &["trailing", "line 1"]);
        check("[]", None, &["line 1"]);
        check(r#"{"nobody": 1}"#, None, &["nobody", "line 1 column"]);
        check(
            r#"{"messages": [{"role": "ROLE_CAT"}]}"#,
            Some("messages[0].role"),
            &["ROLE_CAT", "line 1 column"],
        );
        check(
            "{\"messages\": [{},\n{\"rule\": 1}]}",
            Some("messages[1]"),
            &["rule", "line 2 column"],
        );
    }

    #[test]
    fn numbers_of_64_bits_are_strings_in_answers() {
        let output = append().output();
        let seq = output
            .get_field_by_name("messages")
            .and_then(|field| field.kind().as_message()?.get_field_by_name("seq"));
        assert_eq!(seq.unwrap().kind(), prost_reflect::Kind::Int64);
        let answer = AppendMessagesResponse {
            messages: vec![memory_contract::proto::AppendedMessage {
                message_id: "m".to_owned(),
                seq: 1 << 60,
                ..Default::default()
            }],
            ..Default::default()
        };
        let json = Codec::Json.write(Some(&output), answer.encode_to_vec().into());
        let json: serde_json::Value = serde_json::from_slice(&json.unwrap()).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"messages": [{"messageId": "m", "seq": "1152921504606846976"}]})
        );
    }
}

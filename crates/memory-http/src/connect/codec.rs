//! Messages between JSON or protobuf outside and protobuf inside.

use bytes::Bytes;
use http::HeaderValue;
use prost::Message as _;
use prost_reflect::{DeserializeOptions, DynamicMessage, MessageDescriptor};
use serde_json::error::Category;
use serde_path_to_error::{Deserializer, Track};

use crate::Unreadable;

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
                    field: Some(path),
                    problem: error.to_string(),
                },
                false => Unreadable::new(format!("the JSON cannot be read: {error}")),
            })
        }
    }
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
            r#"{"thread_id": "t", "messages": [{"role": "ROLE_USER", "parts": [{"text": "x"}]}]}"#,
        );
        let camel =
            read(r#"{"threadId": "t", "messages": [{"role": 1, "parts": [{"text": "x"}]}]}"#);
        assert_eq!(snake.unwrap(), camel.unwrap());
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
        check("{\n\"thread_id\": ", None, &["line 2"]);
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

//! Messages and facts as quotations, so that no stored text can close or imitate the
//! frame that it is given in.

use memory_contract::json::{json_line, to_the_second};
use memory_contract::memory::{KindExample, MemoryKind};
use serde::Serialize;
use serde_json::Value;

use crate::{KnownFact, SourceMessage};

#[derive(Serialize)]
struct Message<'a> {
    id: &'a str,
    time: String,
    role: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    speaker: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
struct Fact<'a> {
    id: &'a str,
    text: &'a str,
}

/// One message, under an id that is only used in the prompt, as is the label of its speaker; empty:
/// without a label.
pub(crate) fn message(id: &str, source: &SourceMessage, speaker: &str, text: &str) -> String {
    json_line(&Message {
        id,
        time: to_the_second(source.message.created),
        role: source.message.role.as_str(),
        speaker,
        name: &source.message.name,
        text,
    })
}

/// One known fact, under an id that is only used in the prompt.
pub(crate) fn fact(id: &str, known: &KnownFact) -> String {
    let text = &known.text;
    json_line(&Fact { id, text })
}

#[derive(Serialize)]
struct Kind<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    json_schema: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    examples: Vec<Example<'a>>,
}

#[derive(Serialize)]
struct Example<'a> {
    said: &'a str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<Value>,
}

impl<'a> Example<'a> {
    fn of(example: &'a KindExample) -> Self {
        Self {
            said: &example.said,
            text: &example.text,
            attributes: serde_json::from_str(&example.attributes).ok(),
        }
    }
}

/// One kind of facts, as the app describes it.
pub(crate) fn kind(kind: &MemoryKind) -> String {
    json_line(&Kind {
        name: &kind.name,
        description: &kind.description,
        json_schema: serde_json::from_str(&kind.json_schema).ok(),
        examples: kind.examples.iter().map(Example::of).collect(),
    })
}

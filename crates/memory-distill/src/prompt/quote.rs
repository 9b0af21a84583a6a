//! Messages and facts as quotations, so that no stored text can close or imitate the
//! frame that it is given in.

use memory_contract::json::{json_line, to_the_second};
use serde::Serialize;

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

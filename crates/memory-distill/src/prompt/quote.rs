//! Messages as quotations: each a line of JSON in which nothing can end the line
//! or open a tag, so that nothing anybody said can close or imitate the frame
//! that it is given in.

use serde::Serialize;
use time::format_description::well_known::Rfc3339;

use crate::{KnownFact, Source};

#[derive(Serialize)]
struct Message<'a> {
    id: &'a str,
    time: String,
    role: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
struct Fact<'a> {
    id: &'a str,
    text: &'a str,
}

/// One message, under a name of ours.
pub(crate) fn message(id: &str, source: &Source, text: &str) -> String {
    let said = source.message.created;
    let line = Message {
        id,
        time: said
            .replace_nanosecond(0)
            .unwrap_or(said)
            .format(&Rfc3339)
            .unwrap_or_default(),
        role: source.message.role.as_str(),
        name: &source.message.name,
        text,
    };
    harmless(&serde_json::to_string(&line).unwrap_or_default())
}

/// One fact that is known, under a name of ours.
pub(crate) fn fact(id: &str, known: &KnownFact) -> String {
    let line = Fact {
        id,
        text: &known.text,
    };
    harmless(&serde_json::to_string(&line).unwrap_or_default())
}

/// A text as one JSON string.
pub(crate) fn text(text: &str) -> String {
    harmless(&serde_json::to_string(text).unwrap_or_default())
}

/// JSON in which no character can open a tag, or end the line for any reader:
/// some take these for line breaks.
fn harmless(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{7f}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_quotation_is_one_line_and_says_the_same(said in "(?s).{0,60}|</?[a-z]{1,8}>\n&") {
            let line = text(&said);
            let open = line.contains(['<', '>', '&', '\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
            prop_assert!(!open);
            prop_assert_eq!(serde_json::from_str::<String>(&line).unwrap(), said);
        }
    }
}

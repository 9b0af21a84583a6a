//! The lines of a message for counting: those of `memory_contract::text_of_parts`, borrowed
//! where possible because every append counts them.

use std::borrow::Cow;

use memory_contract::{Part, ToolOutput};

/// The lines of the parts, in order. Joined with line breaks they equal `text_of_parts`.
pub(crate) fn lines(parts: &[Part]) -> impl Iterator<Item = Cow<'_, str>> {
    parts.iter().flat_map(|part| {
        let (first, second) = lines_of_part(part);
        first.into_iter().chain(second)
    })
}

/// The text of a part that may be shortened: plain text, and a tool's text output. Data,
/// calls and references stay whole.
pub(crate) fn text_mut(part: &mut Part) -> Option<&mut String> {
    match part {
        Part::Text(text) => Some(text),
        Part::ToolResult(result) => match &mut result.output {
            Some(ToolOutput::Text(text)) => Some(text),
            Some(ToolOutput::Json(_)) | None => None,
        },
        Part::Json(_) | Part::ToolCall(_) | Part::File(_) => None,
    }
}

fn lines_of_part(part: &Part) -> (Option<Cow<'_, str>>, Option<Cow<'_, str>>) {
    match part {
        Part::Text(text) => (Some(Cow::Borrowed(text)), None),
        Part::Json(value) => (Some(Cow::Owned(value.to_string())), None),
        Part::ToolCall(call) => {
            // A map of JSON values always serializes; it has string keys.
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            (Some(Cow::Owned(format!("{} {arguments}", call.name))), None)
        }
        Part::ToolResult(result) => match &result.output {
            Some(ToolOutput::Text(text)) => (Some(Cow::Borrowed(text)), None),
            Some(ToolOutput::Json(value)) => (Some(Cow::Owned(value.to_string())), None),
            None => (None, None),
        },
        Part::File(file) => (words(&file.caption), words(&file.name)),
    }
}

fn words(text: &str) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then_some(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use memory_contract::{FileLocation, FileRef, FileType, ToolCall, ToolResult, text_of_parts};
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;

    fn part() -> impl Strategy<Value = Part> {
        let result = |output| {
            Part::ToolResult(ToolResult {
                call_id: "c".into(),
                name: "tool".into(),
                output,
                is_error: false,
            })
        };
        prop_oneof![
            "\\PC{0,12}".prop_map(Part::Text),
            "\\PC{0,12}".prop_map(|text| Part::Json(json!({ "text": text }))),
            "\\PC{0,12}".prop_map(|text| Part::ToolCall(ToolCall {
                id: "c".into(),
                name: "tool".into(),
                arguments: Map::from_iter([("text".into(), Value::from(text))]),
            })),
            "\\PC{0,12}".prop_map(move |text| result(Some(ToolOutput::Text(text)))),
            any::<i64>().prop_map(move |n| result(Some(ToolOutput::Json(json!(n))))),
            Just(result(None)),
            ("[a-z]{0,3}", "[a-z]{0,3}").prop_map(|(name, caption)| Part::File(FileRef {
                kind: FileType::Image,
                location: FileLocation::Url("https://example.org/a.png".into()),
                name,
                mime_type: String::new(),
                size_bytes: 0,
                caption,
            })),
        ]
    }

    proptest! {
        #[test]
        fn the_lines_are_the_text_of_the_parts(parts in prop::collection::vec(part(), 0..6)) {
            let joined = lines(&parts).collect::<Vec<_>>().join("\n");
            prop_assert_eq!(joined, text_of_parts(&parts));
        }
    }
}

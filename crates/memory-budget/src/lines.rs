//! The lines of a message for counting: those of `memory_contract::text::bare_text`, and what
//! goes back to a provider beside them. They are borrowed where possible because every
//! append counts them.

use std::borrow::Cow;

use memory_contract::message::{Content, Part, ToolOutput};

/// The lines of the parts, in order. Without reasoning, opaque parts and signatures, they
/// equal `bare_text` when joined with line breaks. Reasoning counts with all its texts,
/// an opaque part with its JSON.
pub(crate) fn lines(parts: &[Part]) -> impl Iterator<Item = Cow<'_, str>> {
    parts.iter().flat_map(|part| {
        let signature = Some(part.signature.as_str()).filter(|text| !text.is_empty());
        lines_of(&part.content)
            .into_iter()
            .chain(signature.map(Cow::Borrowed))
    })
}

/// The texts of a part that may be shortened: plain text, and a tool's texts. Data, calls,
/// references, reasoning and opaque parts stay whole.
pub(crate) fn texts_mut(part: &mut Part) -> impl Iterator<Item = &mut String> {
    let (own, output) = match &mut part.content {
        Content::Text(text) => (Some(text), &mut [][..]),
        Content::ToolResult(result) => (None, result.output.as_mut_slice()),
        Content::Json(_)
        | Content::ToolCall(_)
        | Content::File(_)
        | Content::Reasoning(_)
        | Content::Opaque(_) => (None, &mut [][..]),
    };
    own.into_iter()
        .chain(output.iter_mut().filter_map(|output| match output {
            ToolOutput::Text(text) => Some(text),
            ToolOutput::Json(_) | ToolOutput::File(_) | ToolOutput::Opaque(_) => None,
        }))
}

fn lines_of(content: &Content) -> Vec<Cow<'_, str>> {
    match content {
        Content::Text(text) | Content::Json(text) => vec![Cow::Borrowed(text)],
        Content::ToolCall(call) => vec![Cow::Owned(format!("{} {}", call.name, call.arguments))],
        Content::ToolResult(result) => result.output.iter().flat_map(lines_of_output).collect(),
        Content::File(file) => file.words().map(Cow::Borrowed).collect(),
        Content::Reasoning(reasoning) => reasoning.texts().map(Cow::Borrowed).collect(),
        Content::Opaque(opaque) => vec![Cow::Borrowed(&opaque.json)],
    }
}

fn lines_of_output(output: &ToolOutput) -> Vec<Cow<'_, str>> {
    match output {
        ToolOutput::Text(text) | ToolOutput::Json(text) => vec![Cow::Borrowed(text)],
        ToolOutput::File(file) => file.words().map(Cow::Borrowed).collect(),
        ToolOutput::Opaque(opaque) => vec![Cow::Borrowed(&opaque.json)],
    }
}

#[cfg(test)]
mod tests {
    use memory_contract::{
        file::{FileLocation, FileRef, FileType},
        message::{Opaque, Provider, Reasoning, ToolCall, ToolResult},
        text::bare_text,
    };
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn part() -> impl Strategy<Value = Part> {
        let file = || {
            ("[a-z]{0,3}", "[a-z]{0,3}").prop_map(|(name, caption)| FileRef {
                kind: FileType::Image,
                location: FileLocation::Url("https://example.org/a.png".into()),
                name,
                mime_type: String::new(),
                size_bytes: 0,
                caption,
                extent: Default::default(),
            })
        };
        let output = prop_oneof![
            "\\PC{0,12}".prop_map(ToolOutput::Text),
            any::<i64>().prop_map(|n| ToolOutput::Json(n.to_string())),
            file().prop_map(ToolOutput::File),
        ];
        let content = prop_oneof![
            "\\PC{0,12}".prop_map(Content::Text),
            "\\PC{0,12}".prop_map(|text| Content::Json(json!({ "text": text }).to_string())),
            "\\PC{0,12}".prop_map(|arguments| Content::ToolCall(ToolCall {
                id: "c".into(),
                name: "tool".into(),
                arguments,
            })),
            prop::collection::vec(output, 0..3).prop_map(|output| Content::ToolResult(
                ToolResult {
                    call_id: "c".into(),
                    name: "tool".into(),
                    output,
                    is_error: false,
                }
            )),
            file().prop_map(Content::File),
        ];
        content.prop_map(Part::from)
    }

    proptest! {
        #[test]
        fn the_lines_are_the_text_of_the_parts(parts in prop::collection::vec(part(), 0..6)) {
            let joined = lines(&parts).collect::<Vec<_>>().join("\n");
            prop_assert_eq!(joined, bare_text(&parts));
        }
    }

    #[test]
    fn what_goes_back_to_a_provider_counts() {
        let reasoning = Content::Reasoning(Reasoning {
            provider: Provider::AnthropicMessages,
            id: "rs_1".into(),
            text: "thought".into(),
            summaries: vec!["short".into()],
            signature: "signed".into(),
            encrypted: String::new(),
        });
        let opaque = Content::Opaque(Opaque {
            provider: Provider::Gemini,
            kind: "executableCode".into(),
            json: "{\"executableCode\":{}}".into(),
        });
        let parts = [
            reasoning.into(),
            opaque.into(),
            Part {
                signature: "c2ln".into(),
                ..Part::text("Hi.")
            },
        ];
        let counted: Vec<_> = lines(&parts).collect();
        let expected = [
            "thought",
            "signed",
            "short",
            "{\"executableCode\":{}}",
            "Hi.",
            "c2ln",
        ];
        assert_eq!(counted, expected);
        assert_eq!(bare_text(&parts), "Hi.");
    }
}

//! What a message says in words.

use memory_contract::{
    file::FileRef,
    message::{Content, Message, Part, ToolOutput},
    quotation::without_quotations,
};

/// Messages with fewer characters count as short.
const SHORT_CHARS: usize = 60;

/// The text of a message that is embedded: what it says itself, or the captions and names of
/// its files if it says nothing.
pub fn meaning(message: &Message) -> String {
    let said = said(&message.parts);
    if said.trim().is_empty() {
        shown(&message.parts)
    } else {
        said
    }
}

/// Whether a message ends with a question mark.
pub fn is_question(message: &Message) -> bool {
    said(&message.parts).trim_end().ends_with('?')
}

/// Whether a message has fewer than 60 characters.
pub fn is_short(message: &Message) -> bool {
    said(&message.parts).chars().take(SHORT_CHARS).count() < SHORT_CHARS
}

/// Text, JSON, tool calls and tool results, one piece a line, without what they quote from memory:
/// otherwise each message that repeats a quotation would be found in place of the quoted one.
/// Reasoning and opaque parts say nothing: they are for the provider that made them.
pub(crate) fn said(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        match &part.content {
            Content::Text(said) | Content::Json(said) => {
                line(&mut text, &without_quotations(said));
            }
            Content::ToolCall(call) => {
                line(&mut text, &call.name);
                match call.object() {
                    Some(object) => {
                        for value in object.values() {
                            line(&mut text, &value.to_string());
                        }
                    }
                    None => line(&mut text, &call.arguments),
                }
            }
            Content::ToolResult(result) => {
                for output in &result.output {
                    match output {
                        ToolOutput::Text(said) | ToolOutput::Json(said) => {
                            line(&mut text, &without_quotations(said));
                        }
                        ToolOutput::File(_) | ToolOutput::Opaque(_) => {}
                    }
                }
            }
            Content::File(_) | Content::Reasoning(_) | Content::Opaque(_) => {}
        }
    }
    text
}

/// Captions and names of files, one a line.
pub(crate) fn shown(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        for words in part.files().flat_map(FileRef::words) {
            line(&mut text, words);
        }
    }
    text
}

fn line(text: &mut String, more: &str) {
    if more.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

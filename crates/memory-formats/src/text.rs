//! Plain text for completion models.
//!
//! The system prompt comes first, unchanged. Every other message follows its speaker's
//! label and, in brackets, name: the policy labels user and assistant, and the others are
//! `System` and `Tool`. An empty line separates messages. The text ends with the
//! assistant's label, so that the model continues with the answer.

use crate::format::{Labels, Said};
use memory_contract::{message::Content, text};

pub(crate) fn write(messages: &[Said<'_>], labels: &Labels) -> String {
    let mut written = String::new();
    for said in messages.iter().filter(|said| is_text(said)) {
        if !said.is_prompt {
            written.push_str(labels.role(said.role));
            if !said.name.is_empty() {
                written.push_str(" (");
                written.push_str(&said.name.replace(char::is_control, " "));
                written.push(')');
            }
            written.push_str(": ");
        }
        written.push_str(&text::of_parts(said.parts));
        written.push_str("\n\n");
    }
    written.push_str(&labels.assistant);
    written.push(':');
    written
}

/// Whether a message has anything but reasoning and opaque parts.
fn is_text(said: &Said<'_>) -> bool {
    let is_text = |content: &Content| match content {
        Content::Reasoning(_) | Content::Opaque(_) => false,
        Content::Text(_)
        | Content::Json(_)
        | Content::ToolCall(_)
        | Content::ToolResult(_)
        | Content::File(_) => true,
    };
    said.parts.is_empty() || said.parts.iter().any(|part| is_text(&part.content))
}

//! Plain text for completion models.
//!
//! The system prompt comes first, unchanged. Every other message follows its speaker's
//! label and, in brackets, name: the policy labels user and assistant, and the others are
//! `System` and `Tool`. An empty line separates messages. The text ends with the
//! assistant's label, so that the model continues with the answer.

use memory_contract::{Role, text};

use crate::context::block::{ContextMessage, Labels};

/// Renders messages.
pub(in crate::context) fn text(messages: &[&ContextMessage], labels: &Labels) -> String {
    let mut text = String::new();
    for said in messages {
        let prompt = said.role == Role::System && said.stored.is_none();
        if !prompt {
            text.push_str(labels.role(said.role));
            if !said.name.is_empty() {
                text.push_str(" (");
                text.push_str(&said.name.replace(char::is_control, " "));
                text.push(')');
            }
            text.push_str(": ");
        }
        text.push_str(&text::of_parts(&said.parts));
        text.push_str("\n\n");
    }
    text.push_str(labels.assistant());
    text.push(':');
    text
}

//! Plain text for completion models.
//!
//! The system prompt comes first, as it is. Every other message stands after its
//! speaker's label, and the name in brackets where there is one: the policy's
//! labels for user and assistant, `System` and `Tool` for the others. An empty
//! line is between two messages. The text ends in the assistant's label, so that
//! what a model writes next is the answer.

use memory_contract::Role;

use super::words;
use crate::services::context::block::{Labels, Said};

/// Writes messages.
pub(in crate::services::context) fn text(messages: &[&Said], labels: &Labels) -> String {
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
        text.push_str(&words::of_parts(&said.parts));
        text.push_str("\n\n");
    }
    text.push_str(labels.assistant());
    text.push(':');
    text
}

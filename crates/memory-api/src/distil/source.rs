//! Which messages say something new, and which repeat what was remembered.

use memory_contract::{Message, text_of_parts};
use memory_distill::Source;
use serde_json::Value;

use crate::services::is_quotation;

/// What a caller sets on messages that hold what was remembered before.
const INJECTED: &str = "recollect_injected";

/// Messages to distil. Those that hold what this service has remembered are told
/// from the others, so that memory does not feed on itself.
pub(super) fn sources(messages: Vec<Message>) -> Vec<Source> {
    let source = |message: Message| match is_injected(&message) {
        true => Source::injected(message),
        false => Source::new(message),
    };
    messages.into_iter().map(source).collect()
}

fn is_injected(message: &Message) -> bool {
    message.metadata.get(INJECTED) == Some(&Value::Bool(true))
        || is_quotation(&text_of_parts(&message.parts))
}

//! Conversations for providers that take the system prompt apart and begin with the user.

use memory_contract::{
    message::{Content, Provider, Role},
    text,
};

use crate::format::{Labels, Said};

/// A conversation for a provider that takes the system prompt apart and begins with the
/// user.
pub(crate) struct UserFirst<'a> {
    /// All system messages, with an empty line between two.
    pub(crate) system: String,
    /// The messages before the user's first, each after its speaker's label.
    pub(crate) before: Vec<String>,
    /// The user's first message that is not blank, and those after it.
    pub(crate) rest: Vec<Said<'a>>,
}

impl<'a> UserFirst<'a> {
    pub(crate) fn split(messages: &[Said<'a>], provider: Provider, labels: &Labels) -> Self {
        let text_of = |said: &Said<'_>| {
            let text = text::of_parts(said.parts);
            (!text.trim().is_empty()).then_some(text)
        };
        let (system, mut before): (Vec<Said<'_>>, Vec<Said<'_>>) =
            messages.iter().partition(|said| said.role == Role::System);
        let speaks = |said: &Said<'_>| said.role == Role::User && has_content(said, provider);
        let begun = before.iter().position(speaks).unwrap_or(before.len());
        let rest = before.split_off(begun);
        let system: Vec<String> = system.iter().filter_map(text_of).collect();
        let labeled =
            |said: &Said<'_>| Some(format!("{}: {}", labels.role(said.role), text_of(said)?));
        Self {
            system: system.join("\n\n"),
            before: before.iter().filter_map(labeled).collect(),
            rest,
        }
    }
}

/// Whether a message has a part that the provider is sent.
pub(crate) fn has_content(said: &Said<'_>, provider: Provider) -> bool {
    said.parts.iter().any(|part| match &part.content {
        Content::Text(text) => !text.trim().is_empty(),
        Content::Opaque(opaque) => opaque.provider == provider,
        Content::Reasoning(_) => false,
        Content::Json(_) | Content::ToolCall(_) | Content::ToolResult(_) | Content::File(_) => true,
    })
}

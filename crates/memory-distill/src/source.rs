//! The messages that distilling reads.

use memory_contract::{
    message::{Message, Role},
    text,
};

/// A message to distill.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceMessage {
    /// The message, with its content.
    pub message: Message,
    /// Whether it contains injected memory: recalled text, or derived text that a caller sent
    /// back. It is summarized like any other message, but no facts are extracted from it,
    /// which prevents a feedback loop.
    pub injected: bool,
}

impl SourceMessage {
    /// An original message.
    pub fn new(message: Message) -> Self {
        Self {
            message,
            injected: false,
        }
    }

    /// A message that contains injected memory.
    pub fn injected(message: Message) -> Self {
        Self {
            message,
            injected: true,
        }
    }

    /// Whether a user said it.
    pub(crate) fn is_said_by(&self, user: &str) -> bool {
        self.message.role == Role::User && self.message.said_by.as_str() == user
    }

    /// Whether another user said it.
    pub(crate) fn is_said_by_another(&self, user: &str) -> bool {
        self.message.role == Role::User && self.message.said_by.as_str() != user
    }

    /// The speaker for display: the name, or else the role.
    pub(crate) fn speaker(&self) -> &str {
        let name = self.message.name.trim();
        if !name.is_empty() {
            return name;
        }
        match self.message.role {
            Role::User => "User",
            Role::Assistant => "Assistant",
            Role::System => "System",
            Role::Tool => "Tool",
        }
    }

    /// The parts of the message as text. Reasoning and opaque parts are left out: they are
    /// for the provider that made them, and never become part of a summary or a fact.
    pub(crate) fn words(&self) -> String {
        text::of_parts(&self.message.parts)
    }
}

//! Labels of the users in a conversation of several, for prompts. Their ids stay here: they may be
//! addresses, and a model needs none.

use memory_contract::message::Role;

use crate::SourceMessage;

/// The labels `p1`, `p2`, … of the users who speak, in the order of their first messages.
#[derive(Debug, Default)]
pub(super) struct Speakers<'a>(Vec<&'a str>);

impl<'a> Speakers<'a> {
    /// The labels of the users of some messages; none if only one user speaks.
    pub(super) fn of(messages: impl Iterator<Item = &'a SourceMessage>) -> Self {
        let mut users: Vec<&str> = Vec::new();
        for SourceMessage { message, .. } in messages {
            let user = message.said_by.as_str();
            if message.role == Role::User && !users.contains(&user) {
                users.push(user);
            }
        }
        if users.len() < 2 {
            users.clear();
        }
        Self(users)
    }

    /// The label of a user; empty without one.
    pub(super) fn label(&self, user: &str) -> String {
        let place = self.0.iter().position(|known| *known == user);
        place.map_or_else(String::new, |place| format!("p{}", place + 1))
    }

    /// The label of the user who said a message; empty without one.
    pub(super) fn of_message(&self, SourceMessage { message, .. }: &SourceMessage) -> String {
        match message.role {
            Role::User => self.label(message.said_by.as_str()),
            Role::Assistant | Role::System | Role::Tool => String::new(),
        }
    }
}

//! Who said the messages that facts are extracted from.

use memory_contract::{
    UserId,
    message::{Message, Role},
};
use memory_distill::SourceMessage;

/// The messages, those of users with the user who said them: the thread's, unless they name one.
pub(super) fn named(mut messages: Vec<Message>, user: &UserId) -> Vec<Message> {
    for message in &mut messages {
        if message.role == Role::User && message.said_by.is_empty() {
            message.said_by = user.clone();
        }
    }
    messages
}

/// The users who said messages of which facts may be extracted, in the order of their first ones.
pub(super) fn speakers(sources: &[SourceMessage]) -> Vec<UserId> {
    let mut users: Vec<UserId> = Vec::new();
    for SourceMessage { message, injected } in sources {
        let user = &message.said_by;
        if message.role == Role::User && !injected && !user.is_empty() && !users.contains(user) {
            users.push(user.clone());
        }
    }
    users
}

#[cfg(test)]
mod tests {
    use memory_contract::message::Part;

    use super::*;
    use crate::distill::source::sources;

    #[test]
    fn facts_are_extracted_of_those_who_are_named_and_of_the_threads_user() {
        let said = |role| Message::new(role, vec![Part::text("Hello.")]);
        let mut messages = vec![said(Role::User), said(Role::User), said(Role::Assistant)];
        messages[1].said_by = UserId::new("bob");
        let users = |messages: Vec<Message>, user: &str| -> Vec<String> {
            let sources = sources(named(messages, &UserId::new(user)));
            let users = speakers(&sources).into_iter();
            users.map(String::from).collect()
        };
        assert_eq!(users(messages.clone(), "ada"), ["ada", "bob"]);
        assert_eq!(users(messages.clone(), "bob"), ["bob"]);
        assert_eq!(users(messages, ""), ["bob"]);
        assert_eq!(users(vec![said(Role::Assistant)], "ada"), [] as [&str; 0]);
    }
}

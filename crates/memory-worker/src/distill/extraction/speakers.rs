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

/// The place of the first message of a user after as many as `speakers` other users; the number of
/// messages if there are not so many. Messages that name no user are the thread's user's.
pub(super) fn before_speaker(messages: &[Message], thread_user: &UserId, speakers: usize) -> usize {
    let mut users: Vec<&UserId> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let user = match message.said_by.is_empty() {
            true => thread_user,
            false => &message.said_by,
        };
        if message.role != Role::User || user.is_empty() || users.contains(&user) {
            continue;
        }
        if users.len() == speakers {
            return place;
        }
        users.push(user);
    }
    messages.len()
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

    #[test]
    fn the_message_of_one_user_too_many_is_found() {
        let messages: Vec<Message> = ["", "bob", "ada", "", "cora", "bob"]
            .map(|user| Message {
                said_by: UserId::new(user),
                ..Message::new(Role::User, vec![Part::text("Hello.")])
            })
            .into();
        let check = |thread_user: &str, speakers: usize, expected: usize| {
            let found = before_speaker(&messages, &UserId::new(thread_user), speakers);
            assert_eq!(found, expected, "{thread_user} {speakers}");
        };
        check("ada", 1, 1);
        check("ada", 2, 4);
        check("ada", 3, 6);
        // Nothing is extracted from what no user is named for.
        check("", 1, 2);
        check("", 2, 4);
        check("", usize::MAX, 6);
    }
}

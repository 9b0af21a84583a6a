//! Where a turn belongs in what is stored.
//!
//! A request usually repeats the conversation so far. What is stored of it already is found by
//! what the messages say, and the turn is appended behind that: at the end, or on a new branch
//! where the application has replaced a message or asked for another answer.

use memory_contract::proto::Role;

use crate::same::Said;

/// The messages that have to be the same before and at a place, as far as there are so many.
const ALIKE: usize = 4;

/// A stored message.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) id: String,
    pub(crate) said: Said,
    pub(crate) role: Role,
    /// The id of the response that it is of, as far as that fits an external id.
    pub(crate) response: String,
}

/// The end of the stored conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    /// Its newest messages, the newest last.
    pub(crate) messages: Vec<Stored>,
    /// Whether these are all.
    pub(crate) is_whole: bool,
}

/// A turn with what was said before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn<'a> {
    /// What the messages of the request and of the answer say.
    pub(crate) said: &'a [Said],
    /// Where the new messages of the request begin.
    pub(crate) new_from: usize,
    /// Where the answer begins.
    pub(crate) answer_from: usize,
    /// Whether the request has only new messages, because the provider keeps the others.
    pub(crate) is_kept: bool,
    /// The response that a request with new messages alone continues.
    pub(crate) previous: Option<&'a str>,
    /// Whether messages before the turn are stored too, if nothing of the conversation is.
    pub(crate) with_history: bool,
}

/// Which messages are stored, and behind which one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// All of them are stored already.
    Known,
    /// Behind the newest message, from this message on.
    End(usize),
    /// Behind the message with this id, from this message on.
    After(String, usize),
}

/// Finds the place of a turn.
pub(crate) fn place(tail: &Tail, turn: Turn<'_>) -> Place {
    let stored = &tail.messages;
    if stored.is_empty() {
        return Place::End(if turn.with_history { 0 } else { turn.new_from });
    }
    if turn.new_from > 0 && is_alike(tail, stored.len(), turn.said, turn.new_from) {
        return Place::End(turn.new_from);
    }
    if turn.is_kept {
        let continued = turn.previous.and_then(|response| behind(stored, response));
        return match continued {
            Some(end) => continuing(stored, end, turn),
            None => Place::End(turn.new_from),
        };
    }
    for sent in (1..=turn.said.len()).rev() {
        // A request without its history tells too little about an earlier place.
        if turn.new_from == 0 && sent < turn.answer_from {
            break;
        }
        let ends = (1..=stored.len()).rev();
        let end = ends.into_iter().find(|&end| {
            let fits = is_alike(tail, end, turn.said, sent);
            let newest = !stored[end..]
                .iter()
                .any(|message| message.role == Role::User);
            let from_the_start = tail.is_whole && end == sent;
            let again = sent > turn.new_from;
            fits && (!again || from_the_start || (newest && turn.new_from > 0))
                && (turn.new_from > 0 || (from_the_start && newest))
        });
        match end {
            Some(_) if sent == turn.said.len() => return Place::Known,
            Some(end) if end == stored.len() => return Place::End(sent),
            Some(end) => return Place::After(stored[end - 1].id.clone(), sent),
            None => {}
        }
    }
    Place::End(turn.new_from)
}

/// Where the messages of a response end.
fn behind(stored: &[Stored], response: &str) -> Option<usize> {
    let is_of = |message: &Stored| message.response == response;
    let begin = stored.iter().rposition(is_of)?;
    let answer = stored[begin..].iter();
    Some(
        begin
            + answer
                .take_while(|message| message.role == Role::Assistant)
                .count(),
    )
}

/// The place of a turn that continues the response which ends at `end`.
fn continuing(stored: &[Stored], end: usize, turn: Turn<'_>) -> Place {
    let new = &turn.said[turn.new_from..];
    let both = stored[end..].iter().zip(new);
    let known = both
        .take_while(|(stored, said)| stored.said == **said)
        .count();
    match known {
        _ if known == new.len() => Place::Known,
        _ if end + known == stored.len() => Place::End(turn.new_from + known),
        // The question is the same, or another one was asked.
        _ => Place::After(stored[end + known - 1].id.clone(), turn.new_from + known),
    }
}

/// Whether the stored messages before `end` are those that were sent before `sent`: the last
/// few of them, or all if one of both has fewer.
fn is_alike(tail: &Tail, end: usize, said: &[Said], sent: usize) -> bool {
    let stored = tail.messages[..end].iter().rev();
    let alike = stored.zip(said[..sent].iter().rev());
    alike.take(ALIKE).all(|(stored, said)| stored.said == *said)
}

#[cfg(test)]
mod tests {
    use memory_contract::proto::part::Content;

    use super::*;

    /// What a message says: `u…` is the user's, all others are the model's.
    fn said(text: &str) -> Said {
        let role = if text.starts_with('u') { 1 } else { 2 };
        Said::of(role, &[Content::Text(text.to_owned()).into()])
    }

    fn tail(texts: &str) -> Tail {
        let texts = texts.split_whitespace().enumerate();
        Tail {
            messages: texts
                .map(|(index, text)| Stored {
                    id: format!("{text}@{index}"),
                    said: said(text),
                    role: if text.starts_with('u') {
                        Role::User
                    } else {
                        Role::Assistant
                    },
                    response: format!("resp_{text}"),
                })
                .collect(),
            is_whole: true,
        }
    }

    /// The place of a turn, written as `request > answer`.
    fn at(stored: &str, turn: &str) -> Place {
        let (request, answer) = turn.split_once('>').unwrap();
        let request: Vec<&str> = request.split_whitespace().collect();
        let is_new = |text: &&str| text.starts_with(['u', 't']);
        let newest_answer = request.iter().rposition(|text| !is_new(text));
        let all: Vec<Said> = request
            .iter()
            .copied()
            .chain(answer.split_whitespace())
            .map(said)
            .collect();
        place(
            &tail(stored),
            Turn {
                said: &all,
                new_from: newest_answer.map_or(0, |place| place + 1),
                answer_from: request.len(),
                is_kept: false,
                previous: None,
                with_history: true,
            },
        )
    }

    fn after(id: &str, from: usize) -> Place {
        Place::After(id.to_owned(), from)
    }

    #[test]
    fn a_turn_follows_the_newest_message() {
        assert_eq!(at("", "u1 > a1"), Place::End(0));
        assert_eq!(at("u1 a1", "u1 a1 u2 > a2"), Place::End(2));
        // The result of a tool.
        assert_eq!(at("u1 c1", "u1 c1 t1 > a1"), Place::End(2));
        // A window that slides.
        assert_eq!(at("u1 a1 u2 a2", "a2 u3 > a3"), Place::End(1));
        // Without history.
        assert_eq!(at("u1 a1", "u2 > a2"), Place::End(0));
        assert_eq!(at("u1 a1 u2 a2", "u2 > a3"), Place::End(0));
        assert_eq!(at("u1 a1 u2 a2", "u1 > a3"), Place::End(0));
    }

    #[test]
    fn a_conversation_that_repeats_itself_goes_on() {
        let stored = "unext done ".repeat(6);
        let turn = format!("{stored} unext > done");
        assert_eq!(at(&stored, &turn), Place::End(12));
        assert_eq!(at(&stored, "unext done unext > done"), Place::End(2));
    }

    #[test]
    fn the_same_request_again_stores_nothing_twice() {
        assert_eq!(at("u1 a1", "u1 > a1"), Place::Known);
        assert_eq!(at("u1 a1 u2 a2", "u1 a1 u2 > a2"), Place::Known);
        assert_eq!(at("u1 c1 t1 a1", "u1 c1 t1 > a1"), Place::Known);
        // Another answer to it.
        assert_eq!(at("u1 a1", "u1 > a9"), after("u1@0", 1));
        assert_eq!(at("u1 a1 u2 a2", "u1 a1 u2 > a9"), after("u2@2", 3));
        // The turn before was not stored with its answer.
        assert_eq!(at("u1 a1 u2", "u1 a1 u2 > a2"), Place::End(3));
    }

    #[test]
    fn a_replaced_message_begins_a_branch() {
        assert_eq!(at("u1 a1 u2 a2", "u1 a1 u9 > a9"), after("a1@1", 2));
        assert_eq!(at("u1 a1 u2 a2", "u1 a8 u2 > a9"), after("u1@0", 1));
        assert_eq!(at("u1 a1 u2 a2 u3 a3", "u1 a1 u2 > a9"), after("u2@2", 3));
    }

    #[test]
    fn what_was_not_stored_is_caught_up_with() {
        assert_eq!(at("", "u1 a1 u2 > a2"), Place::End(0));
        assert_eq!(at("u1 a1", "u1 a1 u2 a2 u3 > a3"), Place::End(2));
    }

    #[test]
    fn a_rewritten_history_stores_the_turn_alone() {
        assert_eq!(at("u1 a1 u2 a2", "usummary a7 u3 > a3"), Place::End(2));
        let cut = at("u1 a1 u2 a2", "uold aold u3 > a3");
        assert_eq!(cut, Place::End(2));
    }

    /// The place of a request with new messages alone, which continues a response.
    fn kept(stored: &str, previous: Option<&str>, question: &str, answer: &str) -> Place {
        let all = [said(question), said(answer)];
        let turn = Turn {
            said: &all,
            new_from: 0,
            answer_from: 1,
            is_kept: true,
            previous,
            with_history: true,
        };
        place(&tail(stored), turn)
    }

    #[test]
    fn a_provider_that_keeps_the_conversation_is_sent_new_messages_alone() {
        assert_eq!(kept("unext done", None, "unext", "done"), Place::End(0));
        let unknown = Some("resp_elsewhere");
        assert_eq!(kept("unext done", unknown, "unext", "done"), Place::End(0));
    }

    #[test]
    fn a_turn_follows_the_response_that_it_continues() {
        let stored = "u1 a1 u2 a2";
        assert_eq!(kept(stored, Some("resp_a2"), "u3", "a3"), Place::End(0));
        // The same request again, with the same answer and with another one.
        assert_eq!(kept(stored, Some("resp_a1"), "u2", "a2"), Place::Known);
        assert_eq!(kept(stored, Some("resp_a1"), "u2", "a9"), after("u2@2", 1));
        assert_eq!(kept("u1 a1 u2", Some("resp_a1"), "u2", "a2"), Place::End(1));
        // Another question.
        assert_eq!(kept(stored, Some("resp_a1"), "u9", "a9"), after("a1@1", 0));
        // A response of several messages.
        assert_eq!(
            kept("u1 a1 c1 u2 a2", Some("resp_a1"), "u9", "a9"),
            after("c1@2", 0)
        );
    }
}

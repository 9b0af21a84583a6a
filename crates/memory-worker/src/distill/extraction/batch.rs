//! The messages that facts are extracted from at once: whole turns, within limits.

use memory_contract::{
    UserId,
    message::{Message, Role},
    policy::ExtractionStrategy,
};
use memory_store::{RangeQuery, Unextracted};

use super::speakers::before_speaker;
use crate::distill::failure::Failure;
use crate::distill::run::DistillRun;

/// The limits of one request to a model: tokens, messages, bytes.
const BATCH_TOKENS: i64 = 8_000;
pub(super) const BATCH_MESSAGES: i32 = 200;
const BATCH_BYTES: i64 = 2 * 1024 * 1024;
/// Users who speak in a batch, at most: a model reads the whole batch once for each of them.
const SPEAKERS: usize = 8;

/// Messages to extract from, and the seq up to which extraction has then covered the
/// thread; 0 for messages that it had covered before.
pub(super) struct ExtractionBatch {
    pub(super) messages: Vec<Message>,
    pub(super) to_seq: i64,
}

/// The next messages to extract from, in whole turns. A turn begins with a user message;
/// the newest turn is complete when the thread is quiet. `None`: no turn is complete. A
/// turn larger than a batch is read in parts.
pub(super) async fn batch(
    run: &DistillRun<'_>,
    strategy: ExtractionStrategy,
    left: &Unextracted,
    is_quiet: bool,
) -> Result<Option<ExtractionBatch>, Failure> {
    let query = RangeQuery {
        thread: run.thread.id,
        head: left.head,
        after_depth: left.after_depth,
        to_depth: i32::MAX,
        max_messages: BATCH_MESSAGES,
        max_tokens: BATCH_TOKENS,
        max_bytes: BATCH_BYTES,
    };
    let range = run
        .with
        .store
        .distillates(run.caller)
        .read_range(&query)
        .await?;
    let user = &run.thread.session.user;
    let speakers = match strategy {
        // It is made once, for the thread's user.
        ExtractionStrategy::Summary => usize::MAX,
        _ => SPEAKERS,
    };
    let end = before_speaker(&range.messages, user, speakers);
    let mut batch = cut(range.messages, end, range.more, is_quiet);
    if let Some(batch) = &mut batch {
        let imported = range.imported;
        batch.messages.retain(|one| !imported.contains(&one.id));
    }
    Ok(batch)
}

/// The first messages, of as many users as a batch may have.
pub(super) fn of_few_speakers(mut messages: Vec<Message>, user: &UserId) -> Vec<Message> {
    messages.truncate(before_speaker(&messages, user, SPEAKERS));
    messages
}

/// The messages of a batch that ends before the message at `end`, where one user too many speaks.
fn cut(
    mut messages: Vec<Message>,
    end: usize,
    more: bool,
    is_quiet: bool,
) -> Option<ExtractionBatch> {
    let newest = messages
        .iter()
        .rposition(|message| message.role == Role::User)
        .unwrap_or(0);
    if end < messages.len() {
        // A user's message follows, so the turn before it is complete.
        messages.truncate(end);
    } else if newest > 0 && (more || !is_quiet) {
        messages.truncate(newest);
    } else if !more && !is_quiet {
        return None;
    }
    let to_seq = messages.last()?.seq;
    Some(ExtractionBatch { messages, to_seq })
}

#[cfg(test)]
mod tests {
    use memory_contract::message::Part;

    use super::*;

    /// Messages after seq 10: `u` of a user, `a` of a model, `t` of a tool.
    fn said(roles: &str) -> Vec<Message> {
        let role = |letter| match letter {
            'u' => Role::User,
            'a' => Role::Assistant,
            _ => Role::Tool,
        };
        roles
            .chars()
            .zip(11..)
            .map(|(letter, seq)| Message {
                seq,
                tokens: 1,
                ..Message::new(role(letter), vec![Part::text("Hello.")])
            })
            .collect()
    }

    #[test]
    fn batches_are_whole_turns() {
        let check = |roles: &str, more: bool, is_quiet: bool, expected: Option<(usize, i64)>| {
            let batch = cut(said(roles), roles.len(), more, is_quiet);
            let found = batch.map(|batch| (batch.messages.len(), batch.to_seq));
            assert_eq!(found, expected, "{roles} {more} {is_quiet}");
        };
        // A quiet thread has no turn under way.
        check("uaua", false, true, Some((4, 14)));
        check("u", false, true, Some((1, 11)));
        // Otherwise the newest one is.
        check("uauat", false, false, Some((2, 12)));
        check("uat", false, false, None);
        // What does not fit waits from its turn's beginning on.
        check("uaua", true, true, Some((2, 12)));
        check("uatatat", true, true, Some((7, 17)));
        check("uatatat", true, false, Some((7, 17)));
        // Its head was erased.
        check("", false, true, None);
    }

    #[test]
    fn a_batch_ends_before_the_message_of_one_user_too_many() {
        let ada = UserId::new("ada");
        // Two messages of each of 20 users, one after another, with an answer to each.
        let mut messages = said(&"uaua".repeat(20));
        for (place, message) in messages.iter_mut().enumerate() {
            if message.role == Role::User {
                message.said_by = UserId::new(format!("user-{}", place / 4));
            }
        }
        let end = before_speaker(&messages, &ada, SPEAKERS);
        assert_eq!(end, 4 * SPEAKERS);
        for is_quiet in [true, false] {
            let batch = cut(messages.clone(), end, true, is_quiet).unwrap();
            assert_eq!(batch.messages, messages[..end]);
            assert_eq!(batch.to_seq, messages[end - 1].seq);
        }
        assert_eq!(of_few_speakers(messages.clone(), &ada), messages[..end]);
        // All of it is read, batch by batch.
        let mut batches = 0;
        while !messages.is_empty() {
            let read = of_few_speakers(messages.clone(), &ada).len();
            messages.drain(..read);
            batches += 1;
        }
        assert_eq!(batches, 20_usize.div_ceil(SPEAKERS));
    }
}

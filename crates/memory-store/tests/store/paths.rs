//! Reads of the path to a head, for tests that compare two.

use memory_contract::{MessageId, ThreadId, message::Message};
use memory_store::{Caller, HistoryQuery, Store};
use proptest::prelude::*;

#[derive(Clone, Debug)]
pub enum Look {
    /// The recent window.
    Recent(u32),
    /// A history: its tokens and its limit.
    History(i64, u32),
    /// A history from a message: chosen by number, `None` for the head.
    From(Option<usize>, i64, u32),
}

/// Messages and whether there are older ones, or the error.
pub type Answer = Result<(Vec<Message>, bool), String>;

/// Some looks, two at least.
pub fn looks() -> impl Strategy<Value = Vec<Look>> {
    let tokens = prop_oneof![0..100_i64, Just(i64::MAX)];
    let limit = prop_oneof![1..8_u32, Just(500_u32)];
    let one = prop_oneof![
        (0..9_u32).prop_map(Look::Recent),
        (tokens.clone(), limit.clone()).prop_map(|(tokens, limit)| Look::History(tokens, limit)),
        (any::<Option<usize>>(), tokens, limit)
            .prop_map(|(from, tokens, limit)| Look::From(from, tokens, limit)),
    ];
    prop::collection::vec(one, 2..10)
}

/// Looks at a thread.
pub async fn look(
    store: &Store,
    caller: &Caller,
    thread: ThreadId,
    look: &Look,
    ids: &[MessageId],
) -> Answer {
    let (head, max_tokens, limit) = match *look {
        Look::Recent(limit) => {
            let recent = store.messages(caller).recent(thread, limit).await;
            return recent
                .map(|messages| (messages, false))
                .map_err(|error| format!("{error:?}"));
        }
        Look::History(max_tokens, limit) => (None, max_tokens, limit),
        Look::From(Some(number), max_tokens, limit) if !ids.is_empty() => {
            (Some(ids[number % ids.len()]), max_tokens, limit)
        }
        Look::From(_, max_tokens, limit) => {
            // The head by its name.
            let head = store.threads(caller).get_thread(thread).await.unwrap().head;
            (head, max_tokens, limit)
        }
    };
    let query = HistoryQuery {
        thread,
        head: head.map(Into::into),
        max_tokens,
        limit,
    };
    store
        .messages(caller)
        .history(&query)
        .await
        .map(|history| (history.messages, history.older))
        .map_err(|error| format!("{error:?}"))
}

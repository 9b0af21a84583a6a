//! Whether a refused write repeats one that is stored.

use memory_context::Conversation;
use memory_contract::{RequestId, message::NewMessage};
use memory_store::{Caller, Store, StoreError};

/// Whether an append repeats a stored one.
pub(crate) async fn is_stored(
    store: &Store,
    caller: &Caller,
    conversation: &Conversation,
    messages: &[NewMessage],
    request: Option<RequestId>,
) -> Result<bool, StoreError> {
    let external = messages.iter().map(|message| message.external_id.as_str());
    let external: Vec<&str> = external.filter(|id| !id.is_empty()).collect();
    if request.is_none() && external.is_empty() {
        return Ok(false);
    }
    let place = match conversation {
        Conversation::Thread(thread) => (Some(*thread), None),
        Conversation::Session(session) => (None, Some(session)),
    };
    let usage = store.usage(caller);
    usage.is_known("append", request, place, &external).await
}

/// Whether the request id of another kind of write is remembered; see
/// [`UsageStore::is_known`](memory_store::UsageStore::is_known).
pub(super) async fn is_remembered(
    store: &Store,
    caller: &Caller,
    kind: &str,
    request: Option<RequestId>,
) -> Result<bool, StoreError> {
    if request.is_none() {
        return Ok(false);
    }
    let usage = store.usage(caller);
    usage.is_known(kind, request, (None, None), &[]).await
}

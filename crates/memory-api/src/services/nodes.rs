//! Memories of nodes.

use memory_budget::Budget;
use memory_contract::proto::NodeMessage;
use memory_contract::{TenantId, ThreadId};
use memory_store::Store;

use crate::error::ApiError;

/// The dialogue of a node that leads to a message, cut to a budget.
#[derive(Debug, Default)]
pub(super) struct Dialogue {
    /// Whole turns in the order in which they were said, with their files looked
    /// up.
    pub(super) messages: Vec<NodeMessage>,
    /// Their size by the budget's tokenizer.
    pub(super) total_tokens: i32,
    pub(super) truncated: bool,
    pub(super) content_truncated: bool,
}

/// Reads a node's dialogue. An empty `current` reads from the message added
/// last.
pub(super) async fn dialogue(
    _store: &Store,
    _tenant: &TenantId,
    _thread: ThreadId,
    _node: &str,
    _current: &str,
    _budget: Budget,
) -> Result<Dialogue, ApiError> {
    Ok(Dialogue::default())
}

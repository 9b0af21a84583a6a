//! What the transfer service consists of.

use std::time::Duration;

use memory_api::Handlers;
use memory_store::Store;

/// Bytes of content in one record, which base64 makes a third larger.
pub(crate) const CONTENT_BYTES: usize = 2 * 1024 * 1024;

/// Implements `TransferService`. An import stores records through the handlers of the other
/// services, so that it checks, counts and records what they do.
#[derive(Clone)]
pub struct Transfers {
    pub(crate) store: Store,
    pub(crate) handlers: Handlers,
    /// The longest that a stream may last.
    pub(crate) stream_timeout: Duration,
}

impl Transfers {
    /// An import calls the handlers; an export reads from the store.
    pub fn new(store: Store, handlers: Handlers, stream_timeout: Duration) -> Self {
        Self {
            store,
            handlers,
            stream_timeout,
        }
    }
}

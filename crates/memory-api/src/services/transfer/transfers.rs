//! What the transfer service consists of.

use std::time::Duration;

use memory_store::Store;

use crate::services::{
    Checkpoints, Documents, Events, Files, Memories, Messages, Nodes, Plans, Policies, Threads,
};

/// Bytes of content in one record, which base64 makes a third larger.
pub(super) const CONTENT_BYTES: usize = 2 * 1024 * 1024;

/// Implements `TransferService`. An import stores records through the other services, so
/// that it checks, counts and records what they do.
#[derive(Clone)]
pub(crate) struct Transfers {
    pub(crate) store: Store,
    /// The longest that a stream may last.
    pub(crate) stream_timeout: Duration,
    pub(crate) threads: Threads,
    pub(crate) messages: Messages,
    pub(crate) policies: Policies,
    pub(crate) files: Files,
    pub(crate) nodes: Nodes,
    pub(crate) plans: Plans,
    pub(crate) events: Events,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) memories: Memories,
    pub(crate) documents: Documents,
}

//! Reads a node's dialogue.

use std::time::Instant;

use memory_contract::NodeMessage;
use memory_objects::Version;

use super::{Node, NodeRow, memory::Memory, parse, record, waiting};
use crate::{
    NodeStore, StoreError,
    query::{Params, query},
    rows::{column, only, unknown_status},
    thread::one_thread,
};

/// Attempts to read, because the memory may be cleared meanwhile.
const READS: u32 = 4;

impl NodeStore<'_> {
    /// Reads the dialogue of a node that leads to a message, from its root on.
    /// `current` is a message of the node's memory, or one of the thread, which
    /// selects the nearest one before it that the memory has; empty for the
    /// one added last. Reads of object storage end at `deadline`.
    ///
    /// # Errors
    /// `ThreadNotFound`; `MessageNotFound` for a message of neither;
    /// `NodeError::Corrupt`, `Objects`, `NoObjectStore`.
    pub async fn node_dialogue(
        self,
        node: &Node,
        current: &str,
        deadline: Instant,
    ) -> Result<Vec<NodeMessage>, StoreError> {
        for _ in 0..READS {
            let memory = self.node_memory(node, Some(deadline)).await?;
            if current.is_empty() {
                return Ok(memory.into_path(None).unwrap_or_default());
            }
            if memory.has(current) {
                return Ok(memory.into_path(Some(current)).unwrap_or_default());
            }
            match self.nearest(node, current).await? {
                None => break,
                Some(id) if memory.has(&id) => {
                    return Ok(memory.into_path(Some(&id)).unwrap_or_default());
                }
                // It was added after the memory was read.
                Some(_) => {}
            }
        }
        Ok(Vec::new())
    }

    /// Reads all messages of a node, on all branches, in the order in which they
    /// were added.
    ///
    /// # Errors
    /// `ThreadNotFound`, `NodeError::Corrupt`, `Objects`, `NoObjectStore`.
    pub async fn node_messages(self, node: &Node) -> Result<Vec<NodeMessage>, StoreError> {
        Ok(self.node_memory(node, None).await?.into_messages())
    }

    /// The message of the node's memory that a message of the thread selects.
    async fn nearest(self, node: &Node, message: &str) -> Result<Option<String>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &node.thread.uuid(), &node.id, &message];
        let rows = self
            .store
            .pool
            .within(self.caller, query!("nodes/nearest"), params)
            .await?;
        let row = only(rows)?;
        match column(&row, "status")? {
            "ok" => column(&row, "node_message_id"),
            "message_not_found" => Err(StoreError::MessageNotFound),
            other => Err(unknown_status(other)),
        }
    }

    /// The whole memory of a node. Waiting turns are read before the object: a turn that
    /// is folded in meanwhile is seen twice and never missed.
    async fn node_memory(
        self,
        node: &Node,
        deadline: Option<Instant>,
    ) -> Result<Memory, StoreError> {
        let tenant = &self.caller.tenant;
        let objects = self.store.require_objects()?;
        let _permit = objects.read_permit(deadline).await?;
        let (name, thread) = (tenant.as_str(), node.thread.uuid());
        let of_thread: Params<'_> = &[&name, &thread];
        let of_node: Params<'_> = &[&name, &thread, &node.id];
        let queries = [
            (query!("threads/get"), of_thread),
            (query!("nodes/get"), of_node),
            (query!("nodes/turns"), of_node),
            // A flush that ended in between has taken turns away: where they are
            // now is known only after them.
            (query!("nodes/get"), of_node),
        ];
        for _ in 0..READS {
            let results = self.store.pool.within_all(self.caller, &queries).await?;
            let [threads, earlier, turns, records] = results.as_slice() else {
                return Err(StoreError::ThreadNotFound);
            };
            one_thread(threads)?;
            let Some(before) = record(records)? else {
                return Ok(Memory::default());
            };
            if record(earlier)?.map(|earlier| earlier.ordinal) != Some(before.ordinal) {
                continue;
            }
            let turns = waiting(turns)?;
            if !before.has_object {
                let mut memory = Memory::default();
                memory.fold(turns);
                return Ok(memory);
            }
            let object = objects.read(&before.key, deadline).await?;
            let version = object.as_ref().map(|object| object.version.clone());
            let parsed = match object {
                Some(object) => parse(objects, object.bytes).await?,
                None => Err((None, "is missing".to_owned())),
            };
            let as_written = version.as_ref().map(Version::name) == Some(before.etag.as_str());
            if !as_written && !self.lives_on(node, &before).await? {
                continue;
            }
            let mut memory = match parsed {
                Ok(memory) => memory,
                Err((bytes, why)) => {
                    return Err(self.set_aside(node, &before, bytes, why, deadline).await);
                }
            };
            memory.fold(turns);
            return Ok(memory);
        }
        // It was cleared during each attempt: read it as empty.
        Ok(Memory::default())
    }

    /// Whether the memory is still the one in `before`.
    async fn lives_on(self, node: &Node, before: &NodeRow) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &node.thread.uuid(), &node.id];
        let rows = self
            .store
            .pool
            .within(self.caller, query!("nodes/get"), params)
            .await?;
        Ok(record(&rows)?.is_some_and(|now| now.ordinal == before.ordinal))
    }
}

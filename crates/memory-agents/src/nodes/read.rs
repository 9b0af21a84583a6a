//! Reads a node's dialogue.

use std::time::Instant;

use memory_agent_contract::node::NodeMessage;
use memory_database::{
    StoreError,
    rows::{GET_THREAD, column, one_thread, unknown_status},
};
use memory_objects::{NodeObject, Version};
use memory_postgres::{Params, query};
use tokio_postgres::Row;

use super::{Node, NodeRow, parse, record, waiting};
use crate::NodeStore;

/// Attempts to read, because the memory may be cleared meanwhile.
const READS: u32 = 4;

/// The last message of a dialogue, as the database knows it.
enum Last {
    /// A message of the node's memory.
    Message(String),
    /// The dialogue is empty.
    None,
    /// Neither the thread nor the memory has the requested message.
    Unknown,
}

impl Last {
    /// Reads the row of `nodes/nearest`.
    fn read(rows: &[Row]) -> Result<Self, StoreError> {
        let row = rows.first().ok_or(StoreError::ThreadNotFound)?;
        match column(row, "status")? {
            "ok" => {
                Ok(column::<Option<String>>(row, "node_message_id")?
                    .map_or(Self::None, Self::Message))
            }
            "message_not_found" => Ok(Self::Unknown),
            other => Err(unknown_status(other)),
        }
    }
}

impl NodeStore<'_> {
    /// Reads the dialogue of a node that leads to a message, from its root on.
    /// `current` is a message of the thread, by its own id too, and selects the last turn on
    /// the path to it; or a message of the node's memory; empty for the thread's head. Reads
    /// of object storage end at `deadline`.
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
        let (memory, last) = self.node_memory(node, current, Some(deadline)).await?;
        let last = match last {
            Last::Message(id) if memory.has(&id) => Some(id),
            // Another program has taken it out of the object.
            Last::Message(_) if current.is_empty() => None,
            // Another program has added it to the object.
            _ if memory.has(current) => Some(current.to_owned()),
            Last::Message(_) | Last::None => return Ok(Vec::new()),
            Last::Unknown => return Err(StoreError::MessageNotFound),
        };
        Ok(memory.into_path(last.as_deref()).unwrap_or_default())
    }

    /// Reads all messages of a node, on all branches, in the order in which they
    /// were added.
    ///
    /// # Errors
    /// `ThreadNotFound`, `NodeError::Corrupt`, `Objects`, `NoObjectStore`.
    pub async fn node_messages(self, node: &Node) -> Result<Vec<NodeMessage>, StoreError> {
        let (memory, _) = self.node_memory(node, "", None).await?;
        Ok(memory.into_messages())
    }

    /// The whole memory of a node, and the last message of its dialogue at `current`, which
    /// is read first, so that the memory has it. Waiting turns are read before the object: a
    /// turn that is folded in meanwhile is seen twice and never missed.
    async fn node_memory(
        self,
        node: &Node,
        current: &str,
        deadline: Option<Instant>,
    ) -> Result<(NodeObject, Last), StoreError> {
        let tenant = &self.caller.tenant;
        let objects = self.store.require_objects()?;
        let _permit = objects.read_permit(deadline).await?;
        let (name, thread) = (tenant.as_str(), node.thread.uuid());
        let of_thread: Params<'_> = &[&name, &thread];
        let of_node: Params<'_> = &[&name, &thread, &node.id];
        let of_message: Params<'_> = &[&name, &thread, &node.id, &current];
        let queries = [
            (GET_THREAD, of_thread),
            (query!("nodes/nearest"), of_message),
            (query!("nodes/get"), of_node),
            (query!("nodes/turns"), of_node),
            // A flush that ended in between has taken turns away: where they are
            // now is known only after them.
            (query!("nodes/get"), of_node),
        ];
        for _ in 0..READS {
            let results = self.store.pool.within_all(self.caller, &queries).await?;
            let [threads, nearest, earlier, turns, records] = results.as_slice() else {
                return Err(StoreError::ThreadNotFound);
            };
            one_thread(threads)?;
            let last = Last::read(nearest)?;
            let Some(before) = record(records)? else {
                return Ok((NodeObject::default(), last));
            };
            if record(earlier)?.map(|earlier| earlier.ordinal) != Some(before.ordinal) {
                continue;
            }
            let turns = waiting(turns)?;
            if !before.has_object {
                let mut memory = NodeObject::default();
                memory.fold(turns);
                return Ok((memory, last));
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
            return Ok((memory, last));
        }
        // It was cleared during each attempt: read it as empty.
        Ok((NodeObject::default(), Last::None))
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

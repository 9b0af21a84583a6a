//! Flushes a node's memory: folds its turns into its object.
//!
//! A flush reads, merges and writes the object under a database lock; flushes of one
//! process first wait at a gate. Two things keep turns safe: the write is conditional on
//! the version that was read, and a turn leaves the database only when it is in the
//! object. An interrupted flush is repeated and skips ids that the object has. Each write is
//! recorded before it begins, because one without an answer may be carried out late, after
//! the memory was erased.

use std::time::{Duration, Instant};

use memory_contract::TenantId;
use memory_database::{
    NodeError, StoreError,
    rows::{column, only, scalar},
};
use memory_objects::{
    NodeObject, Objects, ObjectsError, Version, Written, copy_key, left, pack, too_slow,
};
use memory_postgres::{Params, Query, Transaction, query};
use memory_runtime::task;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::{Node, NodeRow, blocking, parse, record, waiting};
use crate::NodeStore;

/// Attempts to write, because another process may write the object in between.
const WRITES: u32 = 8;
/// The pause after the first conflicting write; it doubles each time.
const RETRY_PAUSE: Duration = Duration::from_millis(10);
/// The most characters of an error that are stored.
const ERROR_CHARS: usize = 500;
/// The timeout of a flush, in timeouts of one read or write.
const TIMEOUT_FACTOR: u32 = 3;

/// How a flush handles another running flush of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockMode {
    /// Waits for the other flush.
    Wait,
    /// Skips the node: the other flush does the work.
    Skip,
}

/// Identifies a node to the gates. The thread's UUID has a fixed length, so no two nodes
/// share a name.
fn gate_name(tenant: &TenantId, node: &Node) -> String {
    format!("{} {} {}", node.thread, tenant.as_str(), node.id)
}

impl NodeStore<'_> {
    /// Folds the waiting turns of a node into its object and returns their number.
    /// Idempotent. It continues after `deadline`, when the call fails.
    ///
    /// # Errors
    /// `NodeError::Corrupt`, `Objects`, `NoObjectStore`: the turns stay in the database.
    pub async fn flush_node(self, node: &Node, deadline: Instant) -> Result<u64, StoreError> {
        self.store.require_objects()?;
        let (store, caller, node) = (self.store.clone(), self.caller.clone(), node.clone());
        let flush = async move {
            NodeStore::new(&store, &caller)
                .flush(&node, LockMode::Wait)
                .await
        };
        let left = left(deadline);
        timeout(left, task::spawn_for_call("flush", flush))
            .await
            .map_err(|_elapsed| too_slow("write", left))?
            .map_err(|error| ObjectsError::failed("write", error))?
    }

    /// Flushes a node and stores the error if it fails.
    pub(super) async fn flush(self, node: &Node, mode: LockMode) -> Result<u64, StoreError> {
        let tenant = &self.caller.tenant;
        let objects = self.store.require_objects()?;
        let limit = objects.config().timeout.saturating_mul(TIMEOUT_FACTOR);
        let fold = async {
            let (gates, name) = (objects.gates(), gate_name(tenant, node));
            let gate = match mode {
                LockMode::Wait => gates.enter(&name).await,
                LockMode::Skip => gates.try_enter(&name),
            };
            let Some(gate) = gate else {
                return Ok(0);
            };
            let _permit = objects.flush_permit().await;
            let begin = Instant::now();
            let folded = self.fold(objects, node, mode).await?;
            if folded.is_some() {
                gate.succeeded(&name, begin);
            }
            Ok(folded.unwrap_or(0))
        };
        let flushed = timeout(limit, fold)
            .await
            .unwrap_or_else(|_elapsed| Err(too_slow("write", limit).into()));
        if let Err(error) = &flushed {
            let error: String = describe(error).chars().take(ERROR_CHARS).collect();
            let params: Params<'_> = &[&tenant.as_str(), &node.thread.uuid(), &node.id, &error];
            // The error of the flush matters more than the error of storing it.
            if let Err(error) = self
                .store
                .pool
                .within(self.caller, query!("nodes/failed"), params)
                .await
            {
                tracing::debug!(%error, "the error of a flush could not be noted");
            }
        }
        flushed
    }

    /// Copies an object that cannot be read and returns the error for it.
    pub(super) async fn set_aside(
        self,
        node: &Node,
        record: &NodeRow,
        bytes: Option<Vec<u8>>,
        why: String,
        deadline: Option<Instant>,
    ) -> StoreError {
        let mut kept_as = String::new();
        if let Some(bytes) = bytes {
            let copy = copy_key(&record.key, &bytes);
            match self.keep(node, record, &copy, bytes, deadline).await {
                Ok(true) => kept_as = copy,
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, "an object that cannot be read could not be copied");
                }
            }
        }
        StoreError::Node(NodeError::Corrupt {
            object_key: record.key.clone(),
            kept_as,
            why,
        })
    }

    /// Writes the copy. Returns whether it exists now.
    async fn keep(
        self,
        node: &Node,
        record: &NodeRow,
        copy: &str,
        bytes: Vec<u8>,
        deadline: Option<Instant>,
    ) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let objects = self.store.require_objects()?;
        let (name, thread, write) = (tenant.as_str(), node.thread.uuid(), Uuid::new_v4());
        let keep: Params<'_> = &[&name, &thread, &node.id, &copy, &record.ordinal, &write];
        self.store
            .pool
            .within(self.caller, query!("nodes/keep_copy"), keep)
            .await?;
        let lock: Params<'_> = &[&name, &thread, &node.id];
        let wanted: Params<'_> = &[&name, &thread, &node.id, &copy];
        let queries = [
            (query!("nodes/lock"), lock),
            (query!("nodes/copy_wanted"), wanted),
        ];
        let (transaction, results) = self.store.pool.begin(self.caller, &queries).await?;
        let wanted = results.last().is_some_and(|rows| !rows.is_empty());
        if wanted {
            // The name contains the digest of the content, so an existing copy is equal.
            match objects.write(copy, bytes, None, deadline).await? {
                Written::Done(_) | Written::Conflict => {}
            }
        }
        let ended: Params<'_> = &[&name, &copy, &write];
        transaction
            .commit(&[(query!("object_writes/end"), ended)])
            .await?;
        Ok(wanted)
    }
}

impl NodeStore<'_> {
    /// Folds the waiting turns; `None` where [`LockMode::Skip`] met another process's
    /// flush.
    async fn fold(
        self,
        objects: &Objects,
        node: &Node,
        mode: LockMode,
    ) -> Result<Option<u64>, StoreError> {
        let tenant = &self.caller.tenant;
        let (name, thread, write) = (tenant.as_str(), node.thread.uuid(), Uuid::new_v4());
        let begin: Params<'_> = &[&name, &thread, &node.id, &write];
        let begin_write = query!("nodes/begin_write");
        let begun = self.store.pool.within(self.caller, begin_write, begin);
        let begun = begun.await?;
        let Some(row) = begun.first() else {
            return Ok(Some(0));
        };
        let key: String = column(row, "object_key")?;
        let ended: Params<'_> = &[&name, &key, &write];
        let ended = (query!("object_writes/end"), ended);
        let params: Params<'_> = &[&name, &thread, &node.id];
        let lock = match mode {
            LockMode::Wait => query!("nodes/lock"),
            LockMode::Skip => query!("nodes/try_lock"),
        };
        let queries = [
            (lock, params),
            (query!("nodes/get"), params),
            (query!("nodes/turns"), params),
        ];
        let (transaction, results) = self.store.pool.begin(self.caller, &queries).await?;
        let [locked, records, turns] = results.as_slice() else {
            return Ok(None);
        };
        let locked = mode == LockMode::Wait || locked.first().map_or(Ok(false), scalar)?;
        let turns = waiting(turns)?;
        let record = match record(records)? {
            Some(record) if locked && !turns.is_empty() => record,
            _ => {
                transaction.commit(&[ended]).await?;
                return Ok(locked.then_some(0));
            }
        };
        let ids: Vec<i64> = turns.iter().map(|turn| turn.id).collect();

        let mut pause = RETRY_PAUSE;
        for _ in 0..WRITES {
            let object = match objects.read(&record.key, None).await {
                Ok(object) => object,
                Err(error) => {
                    transaction.commit(&[ended]).await?;
                    return Err(error.into());
                }
            };
            let seen = object.as_ref().map(|object| object.version.clone());
            let (mut memory, size) = match (record.has_object, object) {
                (true, Some(object)) => {
                    let size = object.bytes.as_ref().map_or(0, Vec::len);
                    match parse(objects, object.bytes).await? {
                        Ok(memory) => (memory, size),
                        Err((bytes, why)) => {
                            // The end of the transaction frees the lock.
                            transaction.commit(&[ended]).await?;
                            return Err(self.set_aside(node, &record, bytes, why, None).await);
                        }
                    }
                }
                (true, None) => {
                    transaction.commit(&[ended]).await?;
                    let why = "is missing".to_owned();
                    return Err(self.set_aside(node, &record, None, why, None).await);
                }
                // The object belongs to a memory that was cleared.
                (false, _) => (NodeObject::default(), 0),
            };
            let foreign =
                record.has_object && seen.as_ref().map(Version::name) != Some(record.etag.as_str());
            let more = turns.clone();
            let above = objects.config().compress_above;
            let work = move || {
                let changed = memory.fold(more);
                let json = memory.write();
                let size = json.len();
                pack(json, above).map(|bytes| (memory, changed, size, bytes))
            };
            let (memory, changed, size, bytes) = blocking(size, work)
                .await?
                .map_err(|error| ObjectsError::failed("write", error))?;
            let written = match seen {
                // An earlier flush was interrupted after its write.
                Some(seen) if record.has_object && !changed => Written::Done(seen),
                seen => objects.write(&record.key, bytes, seen, None).await?,
            };
            match written {
                Written::Done(version) => {
                    let done = Done {
                        record: &record,
                        turns: &ids,
                        version: &version,
                        size,
                        memory: foreign.then_some(&memory),
                    };
                    return done
                        .commit(transaction, ended, tenant, node)
                        .await
                        .map(Some);
                }
                Written::Conflict => {
                    sleep(pause + jitter(pause)).await;
                    pause *= 2;
                }
            }
        }
        transaction.commit(&[ended]).await?;
        Err(
            ObjectsError::failed("write", "the object was changed by others again and again")
                .into(),
        )
    }
}

/// A flush whose object is written.
struct Done<'a> {
    record: &'a NodeRow,
    turns: &'a [i64],
    version: &'a Version,
    size: usize,
    /// The object's content, where another process has written to it.
    memory: Option<&'a NodeObject>,
}

impl Done<'_> {
    /// Stores the result; returns how many turns were folded in.
    async fn commit(
        self,
        transaction: Transaction<'_>,
        ended: (Query, Params<'_>),
        tenant: &TenantId,
        node: &Node,
    ) -> Result<u64, StoreError> {
        let (name, thread) = (tenant.as_str(), node.thread.uuid());
        let (ordinal, etag) = (self.record.ordinal, self.version.name());
        let size = i64::try_from(self.size).unwrap_or(i64::MAX);
        let flushed: Params<'_> = &[
            &name,
            &thread,
            &node.id,
            &ordinal,
            &self.turns,
            &etag,
            &size,
        ];
        let index = self.memory.map(NodeObject::index).unwrap_or_default();
        let reindexed: Params<'_> = &[
            &name,
            &thread,
            &node.id,
            &ordinal,
            &index.ids,
            &index.parents,
            &index.roles,
            &index.uuids,
        ];
        let mut queries: Vec<(Query, Params<'_>)> =
            vec![(query!("nodes/record_flush"), flushed), ended];
        if self.memory.is_some() {
            queries.push((query!("nodes/reindex"), reindexed));
        }
        let mut results = transaction.commit(&queries).await?;
        results.truncate(1);
        let noted: bool = scalar(&only(results.pop().unwrap_or_default())?)?;
        Ok(if noted { self.turns.len() as u64 } else { 0 })
    }
}

/// The text of an error that callers may read: without paths and addresses.
fn describe(error: &StoreError) -> String {
    match error {
        StoreError::Node(NodeError::Corrupt { why, kept_as, .. }) if kept_as.is_empty() => {
            format!("the object {why}")
        }
        StoreError::Node(NodeError::Corrupt { why, kept_as, .. }) => {
            format!("the object {why}; a copy is kept as {kept_as}")
        }
        other => other.to_string(),
    }
}

/// A random part of `most`.
fn jitter(most: Duration) -> Duration {
    most.mul_f64(fastrand::f64())
}

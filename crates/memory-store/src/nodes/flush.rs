//! Folding turns into an object.
//!
//! A flush reads, merges and writes under a lock of the database, so that two
//! seldom meet; those of one process wait at a gate before that. What keeps turns
//! safe is the condition of the write, and that a turn leaves the database only
//! when it is in the object. Cut off anywhere, a flush is done again: ids that the
//! object has already are passed over.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use memory_contract::TenantId;
use tokio::time::{sleep, timeout};

use super::{Node, Record, blocking, memory::Memory, parse, record, waiting};
use crate::{
    NodeError, NodeStore, Objects, StoreError,
    objects::{Version, Written, copy_key, pack, too_slow},
    query::{Params, Query, Transaction, query},
    rows::{column, only},
};

/// Writes of one flush until somebody else lets it.
const WRITES: u32 = 8;
/// The pause after the first write that came too late; twice as long each time.
const PAUSE: Duration = Duration::from_millis(10);
/// Characters of an error that are kept.
const ERROR_CHARS: usize = 500;
/// The whole flush may take as long as so many reads or writes.
const STEPS: u32 = 3;

/// Whom a flush waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// For another flush of the node.
    Wait,
    /// For nobody: who flushes the node does what there is to do.
    Skip,
}

impl NodeStore<'_> {
    /// Folds the turns of a node that wait into its object, and returns how many
    /// there were. Idempotent. It is done also when nobody waits for it any more,
    /// as [`waiting_until`](crate::waiting_until) may tell.
    ///
    /// # Errors
    /// `NodeMemoryCorrupt`, `Objects`, `NoObjectStore`: the turns wait on.
    pub async fn flush_node(self, node: &Node) -> Result<u64, StoreError> {
        let (store, caller, node) = (self.store.clone(), self.caller.clone(), node.clone());
        let flush = async move { store.nodes(&caller).flush(&node, Patience::Wait).await };
        #[expect(clippy::disallowed_methods, reason = "goes on when the caller is gone")]
        let flush = tokio::spawn(flush);
        self.store
            .require_objects()?
            .while_waited_for("write", flush)
            .await?
            .map_err(|error| StoreError::Objects {
                what: "write",
                source: error.into(),
            })?
    }

    /// Flushes a node, and notes what kept it from that.
    pub(super) async fn flush(self, node: &Node, patience: Patience) -> Result<u64, StoreError> {
        let tenant = &self.caller.tenant;
        let objects = self.store.require_objects()?;
        let limit = objects.config().timeout.saturating_mul(STEPS);
        let fold = async {
            let gates = objects.gates();
            let gate = match patience {
                Patience::Wait => gates.enter(tenant, node).await,
                Patience::Skip => gates.try_enter(tenant, node),
            };
            let Some(gate) = gate else {
                return Ok(0);
            };
            let _permit = objects.flush_permit().await;
            let begin = Instant::now();
            let folded = self.fold(objects, node, patience).await?;
            if folded.is_some() {
                gate.succeeded(tenant, node, begin);
            }
            Ok(folded.unwrap_or(0))
        };
        let flushed = timeout(limit, fold)
            .await
            .unwrap_or_else(|_elapsed| Err(too_slow("write", limit)));
        if let Err(error) = &flushed {
            let error: String = describe(error).chars().take(ERROR_CHARS).collect();
            let params: Params<'_> = &[&tenant.as_str(), &node.thread.uuid(), &node.id, &error];
            // What it is about matters more than this.
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

    /// Keeps a copy of an object that cannot be read, and makes the error of it.
    pub(super) async fn set_aside(
        self,
        node: &Node,
        record: &Record,
        bytes: Option<Vec<u8>>,
        why: String,
    ) -> StoreError {
        let mut kept_as = String::new();
        if let Some(bytes) = bytes {
            let copy = copy_key(&record.key, &bytes);
            match self.keep(node, record, &copy, bytes).await {
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

    /// Whether the copy is there now.
    async fn keep(
        self,
        node: &Node,
        record: &Record,
        copy: &str,
        bytes: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let objects = self.store.require_objects()?;
        let (name, thread) = (tenant.as_str(), node.thread.uuid());
        let keep: Params<'_> = &[&name, &thread, &node.id, &copy, &record.ordinal];
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
            // The name has the digest of the content: what is there is the same.
            match objects.write(copy, bytes, None).await? {
                Written::Done(_) | Written::Conflict => {}
            }
        }
        transaction.rollback().await?;
        Ok(wanted)
    }
}

impl NodeStore<'_> {
    /// Folds what waits; `None` where another process flushes the node, and
    /// nobody is to wait for it.
    async fn fold(
        self,
        objects: &Objects,
        node: &Node,
        patience: Patience,
    ) -> Result<Option<u64>, StoreError> {
        let tenant = &self.caller.tenant;
        let (name, thread) = (tenant.as_str(), node.thread.uuid());
        let params: Params<'_> = &[&name, &thread, &node.id];
        let lock = match patience {
            Patience::Wait => query!("nodes/lock"),
            Patience::Skip => query!("nodes/try_lock"),
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
        let locked =
            patience == Patience::Wait || locked.first().map_or(Ok(false), |row| column(row, 0))?;
        let turns = waiting(turns)?;
        let record = match record(records)? {
            Some(record) if locked && !turns.is_empty() => record,
            _ => {
                transaction.rollback().await?;
                return Ok(locked.then_some(0));
            }
        };
        let ids: Vec<i64> = turns.iter().map(|turn| turn.id).collect();

        let mut pause = PAUSE;
        for _ in 0..WRITES {
            let object = objects.read(&record.key).await?;
            let seen = object.as_ref().map(|object| object.version.clone());
            let (mut memory, size) = match (record.has_object, object) {
                (true, Some(object)) => {
                    let size = object.bytes.as_ref().map_or(0, Vec::len);
                    match parse(objects, object.bytes).await? {
                        Ok(memory) => (memory, size),
                        Err((bytes, why)) => {
                            // The lock goes with the transaction.
                            transaction.rollback().await?;
                            return Err(self.set_aside(node, &record, bytes, why).await);
                        }
                    }
                }
                (true, None) => {
                    transaction.rollback().await?;
                    let why = "is missing".to_owned();
                    return Err(self.set_aside(node, &record, None, why).await);
                }
                // What is there belongs to nobody any more.
                (false, _) => (Memory::default(), 0),
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
            let (memory, changed, size, bytes) =
                blocking(size, work)
                    .await?
                    .map_err(|error| StoreError::Objects {
                        what: "write",
                        source: error.into(),
                    })?;
            let written = match seen {
                // An earlier flush was cut off after its write.
                Some(seen) if record.has_object && !changed => Written::Done(seen),
                seen => objects.write(&record.key, bytes, seen).await?,
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
                    return done.commit(transaction, tenant, node).await.map(Some);
                }
                Written::Conflict => {
                    sleep(pause + jitter(pause)).await;
                    pause *= 2;
                }
            }
        }
        transaction.rollback().await?;
        Err(StoreError::Objects {
            what: "write",
            source: "the object was changed by others again and again".into(),
        })
    }
}

/// A flush whose object is written.
struct Done<'a> {
    record: &'a Record,
    turns: &'a [i64],
    version: &'a Version,
    size: usize,
    /// What the object has, where somebody else has written to it.
    memory: Option<&'a Memory>,
}

impl Done<'_> {
    /// Takes note of it; how many turns were folded in.
    async fn commit(
        self,
        transaction: Transaction<'_>,
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
        let index = self.memory.map(Memory::index).unwrap_or_default();
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
        let mut queries: Vec<(Query, Params<'_>)> = vec![(query!("nodes/record_flush"), flushed)];
        if self.memory.is_some() {
            queries.push((query!("nodes/reindex"), reindexed));
        }
        let mut results = transaction.commit(&queries).await?;
        results.truncate(1);
        let noted: bool = column(&only(results.pop().unwrap_or_default())?, 0)?;
        Ok(if noted { self.turns.len() as u64 } else { 0 })
    }
}

/// An error for whoever asks later: no path and no address of ours.
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

/// A part of `most`, another one each time.
fn jitter(most: Duration) -> Duration {
    let draw = RandomState::new().hash_one(0_u8) % 1_000;
    most.mul_f64(draw as f64 / 1_000.0)
}

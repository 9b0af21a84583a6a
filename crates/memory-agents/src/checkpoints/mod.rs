//! Checkpoints of agents' runs.

mod pack;

use memory_agent_contract::checkpoint::{
    ChannelValue, Checkpoint, Encoded, NewCheckpoint, TaskWrite,
};
use memory_contract::{
    AppId, SessionKey, ThreadId, UserId, key::KeyScope, limits, thread::Session,
};
use memory_database::{
    CheckpointError, Page, StoreError, ThreadError,
    rows::{self, column, only, scalar, unknown_status},
    session_digest,
};
use memory_postgres::{Params, query};
use pack::{Packed, Unpacker, digest, pack};
use tokio_postgres::Row;

use crate::CheckpointStore;

/// The threads whose checkpoints are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointScope {
    /// One thread.
    Thread(ThreadId),
    /// All threads of a user; with an empty user, an app's threads without a user.
    User(AppId, UserId),
}

/// Where a page of checkpoints begins: after this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointPlace {
    /// The checkpoint.
    pub id: String,
    /// Its thread.
    pub thread: ThreadId,
    /// Its namespace.
    pub namespace: String,
}

/// Which checkpoints are read; all conditions must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointQuery {
    /// The threads.
    pub scope: CheckpointScope,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Only this id.
    pub id: Option<String>,
    /// Only smaller ids.
    pub before: Option<String>,
    /// Only checkpoints whose metadata has all fields of this JSON object.
    pub metadata: Option<String>,
    /// Only checkpoints after this one.
    pub after: Option<CheckpointPlace>,
    /// The most checkpoints.
    pub limit: u32,
}

/// A page of checkpoints.
pub type CheckpointPage = Page<Checkpoint, CheckpointPlace>;

/// Which checkpoints are erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointSelection {
    /// Checkpoints of some threads.
    Sessions(Vec<Session>),
    /// Checkpoints of all threads of a user.
    User(AppId, UserId),
}

impl CheckpointStore<'_> {
    /// Stores a checkpoint with its new values, in place of one with the same id. Returns how
    /// many of the values that it keeps are not stored.
    ///
    /// # Errors
    /// `ThreadNotFound`, `ThreadError::EphemeralFull`, `CheckpointError`; `NeedsErase` for a caller
    /// without the scope `delete` and a checkpoint that exists with other content.
    pub async fn put_checkpoint(
        self,
        thread: ThreadId,
        checkpoint: &NewCheckpoint,
    ) -> Result<i64, StoreError> {
        let NewCheckpoint {
            namespace,
            id,
            parent,
            allow_missing_parent,
            body,
            metadata,
            kept,
            values,
        } = checkpoint;
        let name = |channel: &str, version: &str| {
            digest(&[namespace.as_bytes(), channel.as_bytes(), version.as_bytes()])
        };
        let new = values.iter().map(|one| name(&one.channel, &one.version));
        let new: Vec<Vec<u8>> = new.collect();
        let kept = kept.iter().map(|(channel, version)| name(channel, version));
        let kept: Vec<Vec<u8>> = kept.collect();
        let channels: Vec<&str> = values.iter().map(|one| one.channel.as_str()).collect();
        let versions: Vec<&str> = values.iter().map(|one| one.version.as_str()).collect();
        let kinds: Vec<&str> = values.iter().map(|one| one.value.kind.as_str()).collect();
        let packed = Packed::of(values.iter().map(|one| one.value.data.as_slice()));
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &self.caller.actor,
            &thread.uuid(),
            namespace,
            id,
            parent,
            allow_missing_parent,
            &body.kind,
            &pack(&body.data),
            &i64::try_from(body.data.len()).unwrap_or(i64::MAX),
            metadata,
            &kept,
            &new,
            &channels,
            &versions,
            &kinds,
            &packed.sizes,
            &packed.data,
            &packed.chunk_counts,
            &packed.hashes,
            &packed.chunks,
            &packed.contents,
            &limits::CHECKPOINT_STATE_BYTES,
            &i64::try_from(limits::CHECKPOINT_METADATA_BYTES).unwrap_or(i64::MAX),
            &self.store.ephemeral.byte_limit(),
            &self.caller.scopes.allow(KeyScope::Delete),
        ];
        let query = query!("checkpoints/put");
        let row = only(self.store.pool.call(self.caller, query, params).await?)?;
        outcome(column(&row, "status")?)?;
        column(&row, "missing_count")
    }

    /// Stores what tasks have written after a checkpoint. Writes that exist stay, or with
    /// `replace` are replaced.
    ///
    /// # Errors
    /// `ThreadNotFound`, `CheckpointError::TooLarge`, `ThreadError::EphemeralFull`; `NeedsErase` for
    /// a caller without the scope `delete` and writes that exist with other content.
    pub async fn put_writes(
        self,
        thread: ThreadId,
        namespace: &str,
        checkpoint: &str,
        writes: &[TaskWrite],
        replace: bool,
    ) -> Result<(), StoreError> {
        let tasks: Vec<&str> = writes.iter().map(|one| one.task.as_str()).collect();
        let paths: Vec<&str> = writes.iter().map(|one| one.path.as_str()).collect();
        let indexes: Vec<i32> = writes.iter().map(|one| one.index).collect();
        let channels: Vec<&str> = writes.iter().map(|one| one.channel.as_str()).collect();
        let kinds: Vec<&str> = writes.iter().map(|one| one.value.kind.as_str()).collect();
        let packed = Packed::of(writes.iter().map(|one| one.value.data.as_slice()));
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &self.caller.actor,
            &thread.uuid(),
            &namespace,
            &checkpoint,
            &tasks,
            &paths,
            &indexes,
            &channels,
            &kinds,
            &packed.sizes,
            &packed.data,
            &packed.chunk_counts,
            &packed.hashes,
            &packed.chunks,
            &packed.contents,
            &replace,
            &limits::CHECKPOINT_STATE_BYTES,
            &self.store.ephemeral.byte_limit(),
            &self.caller.scopes.allow(KeyScope::Delete),
        ];
        let query = query!("checkpoints/put_writes");
        match scalar(&only(
            self.store.pool.call(self.caller, query, params).await?,
        )?)? {
            "needs_erase" => Err(StoreError::NeedsErase {
                field: "replace".to_owned(),
            }),
            status => outcome(status),
        }
    }

    /// Reads checkpoints with their values and writes, the greatest id first; fewer than
    /// `limit` where more would be too large for an answer.
    ///
    /// # Errors
    /// Only errors of the database. A thread that does not exist has no checkpoints.
    pub async fn read_checkpoints(
        self,
        wanted: &CheckpointQuery,
    ) -> Result<CheckpointPage, StoreError> {
        let CheckpointQuery {
            scope,
            namespace,
            id,
            before,
            metadata,
            after,
            limit,
        } = wanted;
        let (thread, app, user) = match scope {
            CheckpointScope::Thread(thread) => (Some(thread.uuid()), None, None),
            CheckpointScope::User(app, user) => (None, Some(app.as_str()), Some(user.as_str())),
        };
        let after = after.as_ref();
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &thread,
            &app,
            &user,
            namespace,
            id,
            before,
            metadata,
            &after.map(|place| &place.id),
            &after.map(|place| place.thread.uuid()),
            &after.map(|place| &place.namespace),
            &i64::from(*limit),
            &i64::try_from(limits::PAGE_BYTES).unwrap_or(i64::MAX),
        ];
        let query = query!("checkpoints/read");
        let rows = self.store.pool.within(self.caller, query, params).await?;
        let more = rows.first().map_or(Ok(false), |row| column(row, "more"))?;
        let mut items: Vec<Checkpoint> = Vec::new();
        let mut unpacker = Unpacker::new()?;
        for row in &rows {
            let parts: Vec<&[u8]> = column(row, "data")?;
            if let ("chunk", [hash, chunk]) = (column(row, "kind")?, parts.as_slice()) {
                unpacker.add_chunk(hash, chunk)?;
                continue;
            }
            let value = Encoded {
                kind: column(row, "type")?,
                data: unpacker.value(&parts)?,
            };
            match (column(row, "kind")?, items.last_mut()) {
                ("checkpoint", _) => items.push(checkpoint(row, value)?),
                ("value", Some(last)) => last.values.push(ChannelValue {
                    channel: column(row, "channel")?,
                    version: column(row, "version")?,
                    value,
                }),
                ("write", Some(last)) => last.writes.push(TaskWrite {
                    task: column(row, "task_id")?,
                    path: column(row, "task_path")?,
                    index: column(row, "index")?,
                    channel: column(row, "channel")?,
                    value,
                }),
                (other, _) => return Err(unknown_status(other)),
            }
        }
        let next = items.last().filter(|_| more).map(|last| CheckpointPlace {
            id: last.id.clone(),
            thread: last.thread,
            namespace: last.namespace.clone(),
        });
        Ok(Page { items, next })
    }

    /// The bytes that the checkpoints of a thread take.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn checkpoint_bytes(self, thread: ThreadId) -> Result<i64, StoreError> {
        let params: Params<'_> = &[&self.caller.tenant.as_str(), &thread.uuid()];
        let query = query!("checkpoints/bytes");
        let rows = self.store.pool.within(self.caller, query, params).await?;
        scalar(&only(rows)?)
    }

    /// Copies the checkpoints of a thread into another one, whose own checkpoints stay.
    /// Returns how many were copied.
    ///
    /// # Errors
    /// `ThreadNotFound`, `CheckpointError::ValuesDiffer`, `ThreadError::EphemeralFull`.
    pub async fn copy_checkpoints(
        self,
        source: ThreadId,
        target: ThreadId,
    ) -> Result<i64, StoreError> {
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &self.caller.actor,
            &source.uuid(),
            &target.uuid(),
            &self.store.ephemeral.byte_limit(),
        ];
        let query = query!("checkpoints/copy");
        let row = only(self.store.pool.call(self.caller, query, params).await?)?;
        outcome(column(&row, "status")?)?;
        column(&row, "copied_count")
    }

    /// Erases checkpoints whose metadata has all fields of one of these JSON objects, or all
    /// if there are none; with `keep_latest` all but the latest of each namespace. Returns how
    /// many.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn delete_checkpoints(
        self,
        selection: &CheckpointSelection,
        metadata: &[String],
        keep_latest: bool,
    ) -> Result<i64, StoreError> {
        let (sessions, app, user) = match selection {
            CheckpointSelection::Sessions(sessions) => {
                let digests: Vec<Vec<u8>> = sessions.iter().map(session_digest).collect();
                (Some(digests), None, None)
            }
            CheckpointSelection::User(app, user) => (None, Some(app.as_str()), Some(user.as_str())),
        };
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &self.caller.actor,
            &sessions,
            &app,
            &user,
            &metadata,
            &keep_latest,
        ];
        let query = query!("checkpoints/delete");
        scalar(&only(
            self.store.pool.call(self.caller, query, params).await?,
        )?)
    }
}

fn outcome(status: &str) -> Result<(), StoreError> {
    match status {
        "ok" => Ok(()),
        "thread_not_found" => Err(StoreError::ThreadNotFound),
        "parent_not_found" => Err(CheckpointError::ParentNotFound.into()),
        "values_differ" => Err(CheckpointError::ValuesDiffer.into()),
        "metadata_too_large" => Err(CheckpointError::MetadataTooLarge.into()),
        "too_large" => Err(CheckpointError::TooLarge.into()),
        "needs_erase" => Err(StoreError::NeedsErase {
            field: "checkpoint_id".to_owned(),
        }),
        "ephemeral_full" => Err(StoreError::Thread(ThreadError::EphemeralFull)),
        other => Err(unknown_status(other)),
    }
}

fn checkpoint(row: &Row, body: Encoded) -> Result<Checkpoint, StoreError> {
    Ok(Checkpoint {
        thread: rows::id::<ThreadId>(row, "thread_id")?,
        session_key: SessionKey::new(column::<String>(row, "session_key")?),
        namespace: column(row, "namespace")?,
        id: column(row, "checkpoint_id")?,
        parent: column(row, "parent_id")?,
        body,
        metadata: column(row, "metadata")?,
        values: Vec::new(),
        writes: Vec::new(),
        created: column(row, "created_at")?,
    })
}

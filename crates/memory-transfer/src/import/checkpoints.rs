//! Checkpoints with their values and writes, which come in records of their own.

use memory_checksum::canonical_object;
use memory_contract::proto::{
    Checkpoint, CheckpointValue, CheckpointWrite, GetCheckpointRequest, PutCheckpointRequest,
    PutCheckpointWritesRequest,
};
use memory_contract::{Invalid, limits};
use memory_grpc::ApiError;
use prost::Message as _;

use super::errors::{orphan, renamed};
use super::open::OpenCheckpoint;
use super::state::Import;
use super::tally::Outcome;

/// Bytes of values or writes that are stored together.
const BYTES: usize = 2 * 1024 * 1024;

impl Import {
    pub(super) fn open_checkpoint(
        &mut self,
        position: i64,
        checkpoint: Checkpoint,
    ) -> Result<(), ApiError> {
        let thread = self.thread_of("checkpoint")?.id.clone();
        let values = checkpoint.values.into_iter();
        let values = values.map(|value| CheckpointValue {
            data: None,
            ..value
        });
        self.checkpoint = Some(OpenCheckpoint {
            position,
            request: PutCheckpointRequest {
                thread: Some(thread.into()),
                namespace: checkpoint.namespace,
                checkpoint_id: checkpoint.checkpoint_id,
                parent_checkpoint_id: checkpoint.parent_checkpoint_id,
                r#type: checkpoint.r#type,
                data: checkpoint.data,
                metadata: checkpoint.metadata,
                values: values.collect(),
                allow_missing_parent: true,
            },
            writes: Vec::new(),
            bytes: 0,
            waits: true,
            outcome: Outcome::Known,
            missing: 0,
            refused: false,
        });
        Ok(())
    }

    pub(super) async fn checkpoint_value(
        &mut self,
        position: i64,
        value: CheckpointValue,
    ) -> Result<(), ApiError> {
        let more = value.encoded_len();
        let full = |open: &OpenCheckpoint| open.bytes > 0 && open.bytes + more > BYTES;
        if self.checkpoint.as_ref().is_some_and(full) {
            self.flush_checkpoint().await?;
        }
        let open = self.checkpoint.as_mut().filter(|open| !open.refused);
        let Some(open) = open else {
            return self.refuse(position, orphan("checkpoint_value", "checkpoint"));
        };
        let named = |one: &&mut CheckpointValue| {
            (&one.channel, &one.version) == (&value.channel, &value.version)
        };
        let Some(named) = open.request.values.iter_mut().find(named) else {
            let problem = "must be a value that the checkpoint before it names";
            return self.refuse(position, Invalid::new("record.checkpoint_value", problem));
        };
        (named.r#type, named.data) = (value.r#type, value.data);
        open.bytes += more;
        open.waits = true;
        Ok(())
    }

    pub(super) async fn checkpoint_write(
        &mut self,
        position: i64,
        write: CheckpointWrite,
    ) -> Result<(), ApiError> {
        let more = write.encoded_len();
        let full = |open: &OpenCheckpoint| {
            open.waits
                || open.writes.len() >= limits::CHECKPOINT_CHANNELS
                || open.bytes > 0 && open.bytes + more > BYTES
        };
        if self.checkpoint.as_ref().is_some_and(full) {
            self.flush_checkpoint().await?;
        }
        match self.checkpoint.as_mut().filter(|open| !open.refused) {
            Some(open) => {
                open.writes.push(write);
                open.bytes += more;
                Ok(())
            }
            None => self.refuse(position, orphan("checkpoint_write", "checkpoint")),
        }
    }

    /// Ends a checkpoint, and counts it.
    pub(super) async fn close_checkpoint(&mut self) -> Result<(), ApiError> {
        if self.checkpoint.is_none() {
            return Ok(());
        }
        self.flush_checkpoint().await?;
        match self.checkpoint.take() {
            Some(open) if !open.refused && open.missing > 0 => {
                let problem = format!(
                    "must have come with their data: {} values are not stored",
                    open.missing
                );
                let field = "record.checkpoint.values";
                self.refuse(open.position, Invalid::new(field, problem))
            }
            Some(open) if !open.refused => self.settle(open.position, Ok(open.outcome), |counts| {
                &mut counts.checkpoint_count
            }),
            _ => Ok(()),
        }
    }

    /// Stores what waits of the checkpoint.
    async fn flush_checkpoint(&mut self) -> Result<(), ApiError> {
        let Some(mut open) = self.checkpoint.take() else {
            return Ok(());
        };
        if !open.refused {
            let stored = self.put_parts(&mut open).await;
            open.refused = stored.is_err();
            if let Err(error) = stored {
                self.refuse(open.position, renamed(error, "", "checkpoint"))?;
            }
        }
        open.bytes = 0;
        self.checkpoint = Some(open);
        Ok(())
    }

    async fn put_parts(&mut self, open: &mut OpenCheckpoint) -> Result<(), ApiError> {
        let writes = std::mem::take(&mut open.writes);
        if !open.waits && writes.is_empty() {
            return Ok(());
        }
        let request = &open.request;
        let get = GetCheckpointRequest {
            thread: request.thread.clone(),
            namespace: request.namespace.clone(),
            checkpoint_id: request.checkpoint_id.clone(),
        };
        let found = self.handlers.checkpoints.get(self.call(get)).await?;
        let found = found.checkpoint;
        if open.waits {
            let known = match &found {
                Some(found) if !is_same(found, request) => {
                    self.may_replace("the thread has another checkpoint of this id")?;
                    false
                }
                Some(found) => has_values(found, &request.values),
                None => false,
            };
            if !known {
                let put = self.call(request.clone());
                open.missing = self
                    .handlers
                    .checkpoints
                    .put(put)
                    .await?
                    .missing_value_count;
                open.outcome = Outcome::Stored;
            }
            open.waits = false;
            for value in &mut open.request.values {
                value.data = None;
            }
        }
        let request = &open.request;
        let known = |write: &CheckpointWrite| {
            let found = found.as_ref();
            found.is_some_and(|found| found.writes.contains(write))
        };
        if !writes.iter().all(known) {
            let other = |write: &CheckpointWrite| {
                let named = |found: &&CheckpointWrite| {
                    (&found.task_id, found.index) == (&write.task_id, write.index)
                };
                let found = found.iter().flat_map(|found| &found.writes).find(named);
                found.is_some_and(|found| found != write)
            };
            if writes.iter().any(other) {
                self.may_replace("the checkpoint has another write of a task")?;
            }
            let put = PutCheckpointWritesRequest {
                thread: request.thread.clone(),
                namespace: request.namespace.clone(),
                checkpoint_id: request.checkpoint_id.clone(),
                writes,
                replace: self.options.replace,
            };
            self.handlers.checkpoints.put_writes(self.call(put)).await?;
            open.outcome = Outcome::Stored;
        }
        Ok(())
    }
}

/// Whether a checkpoint is stored with the same content, besides its values.
fn is_same(found: &Checkpoint, wanted: &PutCheckpointRequest) -> bool {
    found.values.len() <= wanted.values.len()
        && (&found.parent_checkpoint_id, &found.r#type, &found.data)
            == (&wanted.parent_checkpoint_id, &wanted.r#type, &wanted.data)
        && canonical_object(&found.metadata) == canonical_object(&wanted.metadata)
}

/// Whether a checkpoint has values, with the same data where that is given.
fn has_values(found: &Checkpoint, wanted: &[CheckpointValue]) -> bool {
    wanted.iter().all(|wanted| {
        let same = |found: &CheckpointValue| {
            (&found.channel, &found.version) == (&wanted.channel, &wanted.version)
                && (wanted.data.is_none()
                    || (&found.r#type, &found.data) == (&wanted.r#type, &wanted.data))
        };
        found.values.iter().any(same)
    })
}

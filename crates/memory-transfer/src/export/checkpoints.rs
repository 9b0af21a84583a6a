//! The checkpoints of a thread.

use std::collections::HashSet;

use memory_contract::ThreadId;
use memory_contract::proto::record::Kind;
use memory_contract::proto::{Checkpoint, CheckpointValue};
use memory_store::{CheckpointQuery, CheckpointScope};

use super::Export;
use super::output::{Output, Stop};

const CHECKPOINTS: u32 = 100;

impl Export {
    /// Sends the checkpoints of a thread. A value comes with the first one that has it.
    pub(super) async fn send_checkpoints(
        &self,
        thread: ThreadId,
        output: &mut Output,
    ) -> Result<(), Stop> {
        let mut query = CheckpointQuery {
            scope: CheckpointScope::Thread(thread),
            namespace: None,
            id: None,
            before: None,
            metadata: None,
            after: None,
            limit: CHECKPOINTS,
        };
        let mut sent = HashSet::new();
        loop {
            let checkpoints = self.store.checkpoints(&self.caller);
            let page = checkpoints.read_checkpoints(&query).await?;
            for checkpoint in page.items {
                send(checkpoint.into(), &mut sent, output).await?;
            }
            if page.next.is_none() {
                return Ok(());
            }
            query.after = page.next;
        }
    }
}

/// Sends a checkpoint in parts, each of which fits into a message.
async fn send(
    mut checkpoint: Checkpoint,
    sent: &mut HashSet<[String; 3]>,
    output: &mut Output,
) -> Result<(), Stop> {
    let writes = std::mem::take(&mut checkpoint.writes);
    let values = std::mem::take(&mut checkpoint.values);
    let name = |value: &CheckpointValue| CheckpointValue {
        channel: value.channel.clone(),
        version: value.version.clone(),
        ..CheckpointValue::default()
    };
    let namespace = checkpoint.namespace.clone();
    let checkpoint = Checkpoint {
        values: values.iter().map(name).collect(),
        // An importer knows the thread, and cannot set the time. Without them, the record is
        // no larger than the request that stored the checkpoint.
        thread_id: String::new(),
        session_key: String::new(),
        create_time: None,
        ..checkpoint
    };
    output.send(Kind::Checkpoint(checkpoint)).await?;
    for value in values {
        let name = [&namespace, &value.channel, &value.version].map(String::clone);
        if sent.insert(name) {
            output.send(Kind::CheckpointValue(value)).await?;
        }
    }
    for write in writes {
        output.send(Kind::CheckpointWrite(write)).await?;
    }
    Ok(())
}

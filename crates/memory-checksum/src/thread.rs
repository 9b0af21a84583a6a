//! The digest of a thread and what belongs to it.

use memory_contract::convert::{bare_part, bare_reference};
use sha2::{Digest as _, Sha256};

use crate::digest::{UnitDigest, canonical_object, put};
use crate::units::bare_plan;
use memory_contract::proto::{
    self, AgentEvent, Attempt, Checkpoint, CheckpointValue, CheckpointWrite, ExportedNode, Message,
    NodeMessage, Plan, Thread,
};

/// A complete thread of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedThread {
    /// The id on the exporting server.
    pub thread_id: String,
    /// The digest of the thread and everything that belongs to it.
    pub digest: UnitDigest,
    /// Number of messages.
    pub message_count: i64,
}

/// A thread whose records are being added.
#[derive(Clone, Debug)]
pub(crate) struct OpenThread {
    id: String,
    hash: Sha256,
    head: String,
    /// The position of the head among the messages; `None` before it was read.
    head_place: Option<i64>,
    messages: i64,
}

impl OpenThread {
    pub(crate) fn new(thread: &Thread) -> Self {
        let Thread {
            thread_id,
            app_id,
            user_id,
            session_key,
            title,
            metadata,
            last_seq: _,
            head_message_id,
            message_count: _,
            create_time: _,
            update_time: _,
            expire_time: _,
            policy,
            ephemeral: _,
            ttl: _,
            etag: _,
        } = thread;
        let content = Thread {
            app_id: app_id.clone(),
            user_id: user_id.clone(),
            session_key: session_key.clone(),
            title: title.clone(),
            metadata: canonical_object(metadata),
            policy: policy
                .clone()
                .filter(|policy| *policy != proto::MemoryPolicy::default()),
            ..Thread::default()
        };
        let mut hash = Sha256::new();
        put(&mut hash, b"thread", &content);
        Self {
            id: thread_id.clone(),
            hash,
            head: head_message_id.clone(),
            head_place: None,
            messages: 0,
        }
    }

    pub(crate) fn message(&mut self, message: &Message) {
        self.messages += 1;
        if message.message_id == self.head {
            self.head_place = Some(self.messages);
        }
        put(&mut self.hash, b"message", &bare_message(message));
    }

    pub(crate) fn plan(&mut self, plan: &Plan) {
        put(&mut self.hash, b"plan", &bare_plan(plan));
    }

    pub(crate) fn node(&mut self, node: &ExportedNode) {
        put(&mut self.hash, b"node", node);
    }

    pub(crate) fn node_message(&mut self, message: &NodeMessage) {
        let NodeMessage {
            message_id,
            parent_message_id,
            role,
            content,
            files,
            token_count: _,
            create_time,
            // An import may give the thread's messages other ids.
            thread_message_id: _,
        } = message;
        let content = NodeMessage {
            message_id: message_id.clone(),
            parent_message_id: parent_message_id.clone(),
            role: *role,
            content: content.clone(),
            files: files.iter().cloned().map(bare_reference).collect(),
            token_count: 0,
            create_time: *create_time,
            thread_message_id: String::new(),
        };
        put(&mut self.hash, b"node_message", &content);
    }

    pub(crate) fn attempt(&mut self, attempt: &Attempt) {
        let Attempt {
            // Derived from the order of records.
            number: _,
            task_number: _,
            task,
            action,
            result,
            error,
            diagnosis,
            fix,
            create_time: _,
        } = attempt;
        let content = Attempt {
            task: task.clone(),
            action: action.clone(),
            result: result.clone(),
            error: error.clone(),
            diagnosis: diagnosis.clone(),
            fix: fix.clone(),
            ..Attempt::default()
        };
        put(&mut self.hash, b"attempt", &content);
    }

    pub(crate) fn event(&mut self, event: &AgentEvent) {
        let content = AgentEvent {
            number: 0,
            ..event.clone()
        };
        put(&mut self.hash, b"event", &content);
    }

    pub(crate) fn checkpoint(&mut self, checkpoint: &Checkpoint) {
        let Checkpoint {
            thread_id: _,
            session_key: _,
            namespace,
            checkpoint_id,
            parent_checkpoint_id,
            r#type,
            data,
            metadata,
            values,
            writes: _,
            create_time: _,
        } = checkpoint;
        let content = Checkpoint {
            namespace: namespace.clone(),
            checkpoint_id: checkpoint_id.clone(),
            parent_checkpoint_id: parent_checkpoint_id.clone(),
            r#type: r#type.clone(),
            data: data.clone(),
            metadata: canonical_object(metadata),
            values: values.clone(),
            ..Checkpoint::default()
        };
        put(&mut self.hash, b"checkpoint", &content);
    }

    pub(crate) fn checkpoint_value(&mut self, value: &CheckpointValue) {
        put(&mut self.hash, b"checkpoint_value", value);
    }

    pub(crate) fn checkpoint_write(&mut self, write: &CheckpointWrite) {
        put(&mut self.hash, b"checkpoint_write", write);
    }

    pub(crate) fn end(mut self) -> ExportedThread {
        let head = self.head_place.unwrap_or(self.messages);
        self.hash.update(b"head");
        self.hash.update(head.to_be_bytes());
        ExportedThread {
            thread_id: self.id,
            digest: UnitDigest(self.hash.finalize().into()),
            message_count: self.messages,
        }
    }
}

/// The digest of a message, without its place in the tree.
pub fn message_digest(message: &Message) -> UnitDigest {
    let content = Message {
        parent_message_id: String::new(),
        ..bare_message(message)
    };
    let mut hash = Sha256::new();
    put(&mut hash, b"message", &content);
    UnitDigest(hash.finalize().into())
}

fn bare_message(message: &Message) -> Message {
    Message {
        thread_id: String::new(),
        seq: 0,
        branch: 0,
        depth: 0,
        parts: message.parts.iter().cloned().map(bare_part).collect(),
        metadata: canonical_object(&message.metadata),
        token_count: 0,
        ..message.clone()
    }
}

//! What is open in an import: the thread, the node and the checkpoint whose records follow.

use std::collections::HashMap;

use memory_contract::AppId;
use memory_contract::proto::{
    CheckpointWrite, MessageInput, NodeMessage, NodeMessageInput, PutCheckpointRequest,
    message_input::Parent,
};
use uuid::Uuid;

use super::tally::Outcome;
use super::waiting::WaitingMessage;

/// The thread whose records follow.
#[derive(Debug, Default)]
pub(super) struct OpenThread {
    /// Its id here.
    pub(super) id: String,
    /// Its app.
    pub(super) app: Option<AppId>,
    /// The old id of the message that was the head.
    pub(super) head: String,
    /// The ids of its messages so far, by their old ones.
    pub(super) ids: HashMap<Uuid, Uuid>,
    /// The newest message of each branch so far.
    pub(super) tips: HashMap<i32, Uuid>,
    /// The parents of refused messages, by the ids of these.
    pub(super) refused: HashMap<String, Option<Parent>>,
    /// The message that is to be the head, and the one that was stored last.
    pub(super) new_head: Option<String>,
    pub(super) last: Option<String>,
    /// The node whose messages follow.
    pub(super) node: Option<OpenNode>,
}

impl OpenThread {
    /// The position of a message of a node that waits for its answer.
    pub(super) fn unanswered(&self) -> Option<i64> {
        self.node.as_ref().and_then(OpenNode::unanswered)
    }

    /// The id that a message has here; the old one where it is no message of this thread.
    pub(super) fn id_of(&self, old: &str) -> String {
        let new = Uuid::parse_str(old).ok().and_then(|old| self.ids.get(&old));
        new.map_or_else(|| old.to_owned(), Uuid::to_string)
    }

    /// The parent of a message whose parent was refused: its nearest ancestor that was not.
    pub(super) fn repair(&self, message: &mut MessageInput) {
        while let Some(Parent::ParentMessageId(id)) = &message.parent {
            match self.refused.get(id) {
                Some(parent) => message.parent.clone_from(parent),
                None => break,
            }
        }
    }

    pub(super) fn note_refused(&mut self, message: &MessageInput) {
        let parent = message.parent.clone();
        self.refused.insert(message.message_id.clone(), parent);
    }

    pub(super) fn note_stored(&mut self, message: WaitingMessage) {
        let id = message.input.message_id;
        if message.is_head {
            self.new_head = Some(id.clone());
        }
        self.last = Some(id);
    }
}

/// The node whose messages follow.
#[derive(Debug, Default)]
pub(super) struct OpenNode {
    pub(super) id: String,
    /// The new ids of its messages, by their old ones; none where they stay.
    pub(super) ids: HashMap<String, String>,
    /// What was asked, until the answer comes.
    pub(super) asked: Option<(i64, NodeMessage)>,
    /// Whether a turn of it was added.
    pub(super) added: bool,
}

impl OpenNode {
    pub(super) fn unanswered(&self) -> Option<i64> {
        self.asked.as_ref().map(|(position, _)| *position)
    }

    /// The side of a turn, with a new id if ids are new.
    pub(super) fn side(&mut self, message: NodeMessage, new_ids: bool) -> NodeMessageInput {
        let NodeMessage {
            mut message_id,
            parent_message_id: _,
            role: _,
            content,
            files,
            token_count: _,
            create_time,
            thread_message_id: _,
        } = message;
        if new_ids {
            let new = Uuid::now_v7().to_string();
            self.ids.insert(message_id, new.clone());
            message_id = new;
        }
        NodeMessageInput {
            message_id,
            content,
            files,
            create_time,
        }
    }
}

/// The checkpoint whose values and writes follow.
#[derive(Debug)]
pub(super) struct OpenCheckpoint {
    pub(super) position: i64,
    /// The checkpoint with the data of the values that wait.
    pub(super) request: PutCheckpointRequest,
    pub(super) writes: Vec<CheckpointWrite>,
    /// Of the values or writes that wait.
    pub(super) bytes: usize,
    /// Whether the checkpoint, or values of it, wait to be stored.
    pub(super) waits: bool,
    pub(super) outcome: Outcome,
    /// Values that it names and that are not stored.
    pub(super) missing: i64,
    /// Whether the checkpoint itself was refused.
    pub(super) refused: bool,
}

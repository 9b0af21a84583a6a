//! A node's memory, read into this process: the messages of its object, and turns that
//! wait for a flush.

use std::collections::{HashMap, HashSet};

use memory_agent_contract::node::NodeMessage;
use uuid::Uuid;

use crate::node_memory::{StoredMessage, read_node_memory, write_node_memory};

/// The messages of a node in the order in which they were added. Each id is
/// there once.
#[derive(Debug, Default)]
pub struct NodeObject {
    messages: Vec<StoredMessage>,
    places: HashMap<String, usize>,
}

/// A turn that waits in the database.
#[derive(Clone, Debug)]
pub struct WaitingTurn {
    /// Its number in the queue.
    pub id: i64,
    /// The message before its first one; none at the root.
    pub parent: Option<String>,
    /// The message of the thread that it belongs to.
    pub thread_message: Option<String>,
    /// Its messages in order. Their parents are set when it is folded in.
    pub messages: Vec<StoredMessage>,
}

impl NodeObject {
    /// Reads an object's JSON.
    ///
    /// # Errors
    /// What is wrong with it, without any content.
    pub fn read(json: &[u8]) -> Result<Self, String> {
        let mut memory = Self::default();
        for message in read_node_memory(json)? {
            if !memory.add(message) {
                return Err("has a message_id twice".to_owned());
            }
        }
        Ok(memory)
    }

    /// The object's JSON.
    pub fn write(&self) -> Vec<u8> {
        write_node_memory(self.messages.iter())
    }

    /// Adds waiting turns that it does not have yet, in order. Returns whether it added
    /// any.
    pub fn fold(&mut self, turns: impl IntoIterator<Item = WaitingTurn>) -> bool {
        let before = self.messages.len();
        for turn in turns {
            let mut parent = turn.parent;
            for mut message in turn.messages {
                let id = message.message_id.clone();
                message.parent_message_id = parent.replace(id);
                message.thread_message_id.clone_from(&turn.thread_message);
                self.add(message);
            }
        }
        self.messages.len() > before
    }

    /// The path from the root to a message, by default to the one added last. `None` if
    /// the message does not exist.
    ///
    /// If an object written by another program has a missing parent or a cycle, the path
    /// begins there.
    pub fn into_path(mut self, current: Option<&str>) -> Option<Vec<NodeMessage>> {
        let mut at = match current {
            Some(id) => Some(*self.places.get(id)?),
            None => self.messages.len().checked_sub(1),
        };
        let mut way = Vec::new();
        let mut seen = HashSet::new();
        while let Some(place) = at {
            if !seen.insert(place) {
                break;
            }
            way.push(place);
            at = self.messages[place]
                .parent_message_id
                .as_ref()
                .and_then(|parent| self.places.get(parent).copied());
        }
        way.reverse();
        // Each message is visited once.
        let mut messages: HashMap<usize, StoredMessage> = self
            .messages
            .drain(..)
            .enumerate()
            .filter(|(place, _)| seen.contains(place))
            .collect();
        Some(
            way.iter()
                .filter_map(|place| messages.remove(place))
                .map(NodeMessage::from)
                .collect(),
        )
    }

    /// All messages in the order in which they were added.
    pub fn into_messages(self) -> Vec<NodeMessage> {
        self.messages.into_iter().map(NodeMessage::from).collect()
    }

    /// Whether it has this message.
    pub fn has(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    /// The index of its ids, a column each: ids, parents, roles, and the ids that are
    /// UUIDs.
    pub fn index(&self) -> NodeIndex<'_> {
        let mut index = NodeIndex::default();
        for message in &self.messages {
            index.ids.push(&message.message_id);
            index.parents.push(message.parent_message_id.as_deref());
            index.roles.push(message.role().as_str());
            index.uuids.push(Uuid::try_parse(&message.message_id).ok());
        }
        index
    }

    fn add(&mut self, message: StoredMessage) -> bool {
        if self.has(&message.message_id) {
            return false;
        }
        self.places
            .insert(message.message_id.clone(), self.messages.len());
        self.messages.push(message);
        true
    }
}

/// See [`NodeObject::index`].
#[derive(Debug, Default)]
pub struct NodeIndex<'a> {
    /// The ids.
    pub ids: Vec<&'a str>,
    /// The message before each.
    pub parents: Vec<Option<&'a str>>,
    /// The name of each role.
    pub roles: Vec<&'static str>,
    /// The ids that are UUIDs.
    pub uuids: Vec<Option<Uuid>>,
}

#[cfg(test)]
mod tests;

//! A node's memory, read into this process: the messages of its object, and turns that
//! wait for a flush.

use std::collections::{HashMap, HashSet};

use memory_contract::NodeMessage;
use uuid::Uuid;

use super::format::{self, StoredMessage};

/// The messages of a node in the order in which they were added. Each id is
/// there once.
#[derive(Debug, Default)]
pub(super) struct Memory {
    messages: Vec<StoredMessage>,
    places: HashMap<String, usize>,
}

/// A turn that waits in the database.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) id: i64,
    pub(super) parent: Option<String>,
    pub(super) thread_message: Option<String>,
    pub(super) messages: Vec<StoredMessage>,
}

impl Memory {
    /// Reads an object's JSON.
    ///
    /// # Errors
    /// What is wrong with it, without any content.
    pub(super) fn read(json: &[u8]) -> Result<Self, String> {
        let mut memory = Self::default();
        for message in format::read(json)? {
            if !memory.add(message) {
                return Err("has a message_id twice".to_owned());
            }
        }
        Ok(memory)
    }

    /// The object's JSON.
    pub(super) fn write(&self) -> Vec<u8> {
        format::write(self.messages.iter())
    }

    /// Adds waiting turns that it does not have yet, in order. Returns whether it added
    /// any.
    pub(super) fn fold(&mut self, turns: impl IntoIterator<Item = Waiting>) -> bool {
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
    pub(super) fn into_path(mut self, current: Option<&str>) -> Option<Vec<NodeMessage>> {
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
    pub(super) fn into_messages(self) -> Vec<NodeMessage> {
        self.messages.into_iter().map(NodeMessage::from).collect()
    }

    /// Whether it has this message.
    pub(super) fn has(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    /// The index of its ids, a column each: ids, parents, roles, and the ids that are
    /// UUIDs.
    pub(super) fn index(&self) -> Index<'_> {
        let mut index = Index::default();
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

/// See [`Memory::index`].
#[derive(Debug, Default)]
pub(super) struct Index<'a> {
    pub(super) ids: Vec<&'a str>,
    pub(super) parents: Vec<Option<&'a str>>,
    pub(super) roles: Vec<&'static str>,
    pub(super) uuids: Vec<Option<Uuid>>,
}

#[cfg(test)]
mod tests;

//! Hands on a conversation that is a tree: abandoned branches first, so that the last message
//! is the one that the conversation was left at.

use std::collections::HashMap;

use memory_contract::proto::{MessageInput, SessionRef, message_input::Parent};
use prost_types::Timestamp;

use super::reader::Reader;

/// A node of a tree, by the ids of the source.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) id: String,
    /// The id of the node that it follows; unknown and empty ids mean none.
    pub(super) parent: String,
    /// Its place in the document.
    pub(super) at: String,
    /// When it was said.
    pub(super) time: Option<Timestamp>,
    /// What it says, in order. A node without messages only links others.
    pub(super) messages: Vec<MessageInput>,
}

/// Hands on the nodes, of which those earlier in the list are older. `head` is the node that
/// the conversation was left at; without one it is the newest that nothing follows.
pub(super) fn put(
    reader: &mut Reader<'_>,
    session: &SessionRef,
    nodes: Vec<Node>,
    head: Option<&str>,
) {
    let tree = Tree::new(reader, nodes);
    let head = head.and_then(|id| tree.by_id.get(id).copied());
    let head = head.or_else(|| tree.newest_leaf());
    tree.put(reader, session, head);
}

struct Tree {
    nodes: Vec<Node>,
    by_id: HashMap<String, usize>,
    parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
}

impl Tree {
    fn new(reader: &mut Reader<'_>, all: Vec<Node>) -> Self {
        let mut by_id = HashMap::new();
        let mut nodes = Vec::with_capacity(all.len());
        for node in all {
            if by_id.contains_key(&node.id) {
                reader.put(&node.at, Err("its id occurs twice".to_owned()));
                continue;
            }
            by_id.insert(node.id.clone(), nodes.len());
            nodes.push(node);
        }
        let parents: Vec<Option<usize>> = nodes
            .iter()
            .map(|node| by_id.get(&node.parent).copied())
            .collect();
        let mut children = vec![Vec::new(); nodes.len()];
        for (index, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(index);
            }
        }
        Self {
            nodes,
            by_id,
            parents,
            children,
        }
    }

    fn newest_leaf(&self) -> Option<usize> {
        let leaves = (0..self.nodes.len()).filter(|index| self.children[*index].is_empty());
        leaves.max_by_key(|index| {
            let time = self.nodes[*index].time.unwrap_or_default();
            (time.seconds, time.nanos, *index)
        })
    }

    /// Whether each node is on the way from a root to the head.
    fn path_to(&self, head: Option<usize>) -> Vec<bool> {
        let mut path = vec![false; self.nodes.len()];
        let mut next = head;
        while let Some(index) = next.filter(|index| !path[*index]) {
            path[index] = true;
            next = self.parents[index];
        }
        path
    }

    fn put(mut self, reader: &mut Reader<'_>, session: &SessionRef, head: Option<usize>) {
        let path = self.path_to(head);
        let roots = (0..self.nodes.len()).filter(|index| self.parents[*index].is_none());
        let mut waiting: Vec<(usize, String)> = Vec::new();
        let wait = |waiting: &mut Vec<(usize, String)>, nodes: Vec<usize>, after: &str| {
            // The last one that is pushed comes first, so those on the path come last.
            let (on_path, abandoned): (Vec<_>, Vec<_>) =
                nodes.into_iter().partition(|index| path[*index]);
            let ordered = on_path.into_iter().chain(abandoned.into_iter().rev());
            waiting.extend(ordered.map(|index| (index, after.to_owned())));
        };
        wait(&mut waiting, roots.collect(), "");
        let (mut seen, mut last, mut head_message) = (0, String::new(), String::new());
        while let Some((index, mut after)) = waiting.pop() {
            seen += 1;
            let node = std::mem::take(&mut self.nodes[index]);
            for message in node.messages {
                let parent = match after.is_empty() {
                    true => Parent::Root(()),
                    false => Parent::ParentMessageId(after),
                };
                after = message.message_id.clone();
                last.clone_from(&after);
                let message = MessageInput {
                    parent: Some(parent),
                    ..message
                };
                reader.message(&node.at, session, message);
            }
            if Some(index) == head {
                head_message.clone_from(&after);
            }
            wait(
                &mut waiting,
                std::mem::take(&mut self.children[index]),
                &after,
            );
        }
        let lost = self.nodes.len() - seen;
        if lost > 0 {
            let problem = format!("{lost} of its nodes follow each other in a circle");
            reader.put("", Err(problem));
        }
        if !head_message.is_empty() && head_message != last {
            reader.head("", session, &head_message, &last);
        }
    }
}

//! Reading a thread in memory. What is returned is shared, so that it can be
//! copied when nothing is locked any more.

use std::{collections::HashSet, sync::Arc};

use memory_contract::{Branch, Message, MessageFilter, MessageId, Role};

use super::{
    conversation::{Conversation, Entry},
    prepared::micros,
    search::Candidate,
};
use crate::{MessageQuery, Order, Page, StoreError, message::HISTORY_BYTES, message::Path};

/// A message beside an anchor: the anchor, how far, the message.
pub(super) type Beside = (MessageId, i32, Arc<Message>);

impl Conversation {
    pub(super) fn get(&self, id: MessageId) -> Result<Arc<Message>, StoreError> {
        let entry = self.readable(id).ok_or(StoreError::MessageNotFound)?;
        Ok(Arc::clone(&entry.message))
    }

    /// As the SQL function `history`: the messages, the newest first, and
    /// whether older ones remain.
    pub(super) fn history(&self, path: &Path) -> Result<(Vec<Arc<Message>>, bool), StoreError> {
        let (branch, depth) = match path.head {
            Some(head) => {
                let head = self.readable(head).ok_or(StoreError::MessageNotFound)?;
                (head.message.branch, head.message.depth)
            }
            None => (self.head.branch, self.head.depth),
        };
        let rows = usize::try_from(path.rows).unwrap_or_default();
        let mut found: Vec<Arc<Message>> = Vec::new();
        let (mut tokens, mut bytes) = (0_i64, 0_i64);
        for entry in self.path(branch, depth) {
            let turn_starts = found
                .last()
                .is_some_and(|message| message.role == Role::User);
            if found.len() == rows
                || bytes > HISTORY_BYTES
                || (tokens > path.max_tokens && turn_starts)
            {
                return Ok((found, true));
            }
            tokens += i64::from(entry.message.tokens);
            bytes += entry.stored_bytes;
            found.push(Arc::clone(&entry.message));
        }
        Ok((found, false))
    }

    /// As the queries `messages/list_…`.
    pub(super) fn list(&self, query: &MessageQuery) -> Page<Arc<Message>, i64> {
        let limit = query.limit as usize;
        let wanted = |entry: &&Entry| {
            let seq = entry.message.seq;
            let after = query.after.is_none_or(|after| match query.order {
                Order::Ascending => seq > after,
                Order::Descending => seq < after,
            });
            after && entry.readable && keeps(&query.filter, &entry.message)
        };
        let found: Vec<&Entry> = match query.order {
            Order::Ascending => self.entries.iter().filter(wanted).take(limit + 1).collect(),
            Order::Descending => {
                let entries = self.entries.iter().rev();
                entries.filter(wanted).take(limit + 1).collect()
            }
        };
        let mut bytes = 0;
        let items: Vec<Arc<Message>> = found
            .iter()
            .take(limit)
            .take_while(|entry| {
                bytes += entry.stored_bytes;
                // The first message is returned, however large it is.
                bytes <= i64::from(query.max_bytes) || bytes == entry.stored_bytes
            })
            .map(|entry| Arc::clone(&entry.message))
            .collect();
        let more = found.len() > items.len();
        Page {
            next: items.last().map(|message| message.seq).filter(|_| more),
            items,
        }
    }

    /// As the query `branches/list`.
    pub(super) fn branches(&self, after: i32, limit: u32) -> Page<Branch, i32> {
        let rows = (1_i32..)
            .zip(&self.lines)
            .filter(|(branch, _)| *branch > after)
            .take(limit as usize + 1)
            .map(|(branch, line)| {
                let newest = line.readable.last_key_value();
                let head = newest.map(|(_, at)| self.entries[*at].message.id);
                let row = Branch {
                    branch,
                    head,
                    fork: line.fork,
                    message_count: i64::try_from(line.readable.len()).unwrap_or(i64::MAX),
                    depth: newest.map_or(line.fork_depth, |(depth, _)| *depth),
                    active: self.head.branch == branch,
                    created: line.created,
                };
                (branch, row)
            })
            .collect();
        Page::cut(rows, limit)
    }

    /// The readable ones of some messages, each with whether it lies on the
    /// active path.
    pub(super) fn hydrate(
        &self,
        head: Option<MessageId>,
        ids: &[MessageId],
    ) -> Vec<(Arc<Message>, bool)> {
        let way: Vec<(i32, i32)> = self.active_way(head).collect();
        let ids: HashSet<MessageId> = ids.iter().copied().collect();
        ids.into_iter()
            .filter_map(|id| self.readable(id))
            .map(|Entry { message, .. }| {
                let active = way
                    .iter()
                    .any(|&(branch, depth)| branch == message.branch && message.depth <= depth);
                (Arc::clone(message), active)
            })
            .collect()
    }

    /// As the SQL function `neighbors`.
    pub(super) fn neighbors(
        &self,
        head: Option<MessageId>,
        anchors: &[MessageId],
        before: usize,
        after: usize,
    ) -> Vec<Beside> {
        let mut found = Vec::new();
        for anchor in anchors {
            let Some(Entry { message, .. }) = self.readable(*anchor) else {
                continue;
            };
            let path = self.path(message.branch, message.depth - 1).take(before);
            let earlier = (1..).zip(path);
            found.extend(earlier.map(|(step, entry)| (*anchor, -step, Arc::clone(&entry.message))));
            let later = (1..).zip(self.after(head, message).take(after));
            found.extend(later.map(|(step, entry)| (*anchor, step, Arc::clone(&entry.message))));
        }
        found
    }

    /// The readable messages after one: on the active path where it lies on
    /// that, or else on its own branch.
    fn after(&self, head: Option<MessageId>, anchor: &Message) -> impl Iterator<Item = &Entry> {
        let mut way: Vec<(i32, i32)> = self
            .active_way(head)
            .take_while(|&(branch, depth)| branch >= anchor.branch && depth >= anchor.depth)
            .collect();
        let active = way
            .last()
            .is_some_and(|(branch, _)| *branch == anchor.branch);
        if !active {
            way = vec![(anchor.branch, i32::MAX)];
        }
        let first = anchor.depth + 1;
        way.into_iter()
            .rev()
            .filter(move |(_, depth)| *depth >= first)
            .filter_map(|(branch, depth)| Some((self.line(branch)?, depth)))
            .flat_map(move |(line, depth)| line.readable.range(first..=depth))
            .map(|(_, at)| &self.entries[*at])
    }

    /// The active path, or that to the message that stands for the head.
    fn active_way(&self, head: Option<MessageId>) -> impl Iterator<Item = (i32, i32)> {
        let head = head.and_then(|head| self.readable(head));
        match head {
            Some(Entry { message, .. }) => self.way(message.branch, message.depth),
            None => self.way(self.head.branch, self.head.depth),
        }
    }

    /// The messages that a search by word goes through.
    pub(super) fn candidates(&self, filter: &MessageFilter) -> Vec<Candidate> {
        self.entries
            .iter()
            .filter(|entry| entry.readable && keeps(filter, &entry.message))
            .map(|entry| Candidate {
                id: entry.message.id,
                seq: entry.message.seq,
                words: Arc::clone(&entry.words),
            })
            .collect()
    }
}

/// Whether a message meets all conditions of a filter.
fn keeps(filter: &MessageFilter, message: &Message) -> bool {
    let MessageFilter {
        roles,
        names,
        start,
        end,
        metadata,
    } = filter;
    (roles.is_empty() || roles.contains(&message.role))
        && (names.is_empty() || names.contains(&message.name))
        && start.is_none_or(|start| message.created >= micros(start))
        && end.is_none_or(|end| message.created < micros(end))
        && metadata.iter().all(|(key, value)| {
            message
                .metadata
                .get(key)
                .is_some_and(|has| same(has, value))
        })
}

/// Whether two JSON values are the same to `jsonb`: 1 is 1.0.
fn same(left: &serde_json::Value, right: &serde_json::Value) -> bool {
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}

//! Appending to a thread in memory.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Instant,
};

use memory_contract::{AppendedMessage, MessageId, Parent};

use super::{
    conversation::{Conversation, Entry, Ids, Line, Remembered, now},
    prepared::Prepared,
};
use crate::{Append, Appended, StoreError, size};

/// Where a new message goes.
struct Place {
    parent: Option<MessageId>,
    branch: i32,
    depth: i32,
}

impl Conversation {
    /// Stores messages if they take no more than `room` bytes.
    pub(super) fn append(
        &mut self,
        append: &Append,
        prepared: Vec<Prepared>,
        hash: Option<Vec<u8>>,
        ids: &mut Ids,
        room: usize,
    ) -> Result<Appended, StoreError> {
        let request = append.request_id.zip(hash);
        if let Some((request, hash)) = &request
            && ids.requests.contains_key(request)
        {
            return match self.requests.get(request) {
                Some(first) if first.hash == *hash => Ok(Appended {
                    replayed: true,
                    ..first.appended.clone()
                }),
                _ => Err(StoreError::RequestReused),
            };
        }
        if append
            .expected_head
            .is_some_and(|expected| expected != self.thread.head)
        {
            return Err(StoreError::HeadMoved {
                head: self.thread.head,
            });
        }
        let (places, lines) = self.place(&prepared)?;
        let mut seen = HashSet::new();
        for prepared in &prepared {
            let id = prepared.message.id;
            if ids.messages.contains(&id) || !seen.insert(id) {
                return Err(StoreError::MessageExists { id });
            }
        }
        let answer_bytes = match &request {
            Some(_) => remembered_bytes(prepared.len()),
            None => 0,
        };
        let messages: usize = prepared.iter().map(|one| one.bytes).sum();
        if messages + lines.len() * line_bytes() + answer_bytes > room {
            return Err(StoreError::EphemeralFull);
        }
        self.bytes += lines.len() * line_bytes();
        self.lines.extend(lines);
        let appended = self.store(prepared, places, ids);
        if let Some((request, hash)) = request {
            ids.requests.insert(request, self.thread.id);
            self.bytes += answer_bytes;
            let remembered = Remembered {
                hash,
                appended: appended.clone(),
                since: Instant::now(),
                bytes: answer_bytes,
            };
            self.requests.insert(request, remembered);
        }
        Ok(appended)
    }

    /// Finds each message's place in the tree, and the branches that start with
    /// them, as the SQL function `append` does.
    fn place(&self, messages: &[Prepared]) -> Result<(Vec<Place>, Vec<Line>), StoreError> {
        let mut places: Vec<Place> = Vec::with_capacity(messages.len());
        let mut lines = Vec::new();
        let mut parent = self.thread.head;
        let (mut branch, mut depth) = (self.head.branch, self.head.depth);
        let mut tip = self.head.seq == self.thread.last_seq || self.is_tip(branch, depth);
        for (
            index,
            Prepared {
                message, follows, ..
            },
        ) in messages.iter().enumerate()
        {
            match *follows {
                Parent::Previous => {}
                Parent::Root => parent = None,
                Parent::Message(id) => {
                    parent = Some(id);
                    let before = &messages[..index];
                    match before.iter().position(|one| one.message.id == id) {
                        Some(at) => {
                            (branch, depth, tip) = (places[at].branch, places[at].depth, true);
                        }
                        None => {
                            let at = self
                                .readable(id)
                                .ok_or(StoreError::ParentNotFound { index })?;
                            (branch, depth) = (at.message.branch, at.message.depth);
                            tip = self.is_tip(branch, depth);
                        }
                    }
                    // An earlier message of this append may have come after it.
                    tip &= !places
                        .iter()
                        .any(|placed| placed.branch == branch && placed.depth == depth + 1);
                }
            }
            if parent.is_none() || !tip {
                let root = parent.is_none();
                depth = if root { 0 } else { depth };
                lines.push(Line {
                    parent: if root { 0 } else { branch },
                    fork: parent,
                    fork_depth: depth,
                    created: now(),
                    readable: BTreeMap::new(),
                });
                branch = i32::try_from(self.lines.len() + lines.len()).unwrap_or(i32::MAX);
            }
            depth += 1;
            places.push(Place {
                parent,
                branch,
                depth,
            });
            parent = Some(message.id);
            tip = true;
        }
        Ok((places, lines))
    }

    fn store(&mut self, prepared: Vec<Prepared>, places: Vec<Place>, ids: &mut Ids) -> Appended {
        let now = now();
        let mut messages = Vec::with_capacity(prepared.len());
        for (prepared, place) in prepared.into_iter().zip(places) {
            let Prepared {
                mut message,
                follows: _,
                said,
                stored_bytes,
                words,
                bytes,
            } = prepared;
            self.thread.last_seq += 1;
            message.thread = self.thread.id;
            message.parent = place.parent;
            message.seq = self.thread.last_seq;
            message.branch = place.branch;
            message.depth = place.depth;
            message.created = said.unwrap_or(now);
            messages.push(AppendedMessage {
                id: message.id,
                seq: message.seq,
                branch: message.branch,
                tokens: message.tokens,
            });
            let at = self.entries.len();
            self.line_mut(place.branch).readable.insert(place.depth, at);
            self.places.insert(message.id, at);
            ids.messages.insert(message.id);
            self.stand_at(&message);
            self.bytes += bytes;
            self.entries.push(Entry {
                message: Arc::new(message),
                readable: true,
                stored_bytes,
                words,
                bytes,
            });
        }
        let count = i64::try_from(messages.len()).unwrap_or(i64::MAX);
        self.thread.message_count += count;
        self.thread.updated = now;
        self.changes += count;
        Appended {
            messages,
            revision: self.revision(),
            replayed: false,
        }
    }

    /// Whether nothing hangs on a place, as the SQL function of this name says.
    fn is_tip(&self, branch: i32, depth: i32) -> bool {
        let deeper = self
            .line(branch)
            .is_some_and(|line| line.readable.range(depth + 1..).next().is_some());
        let left = |line: &Line| line.parent == branch && line.fork_depth > depth;
        !deeper && !self.lines.iter().any(left)
    }
}

/// The most that an append may take: a branch for each message, and a request
/// id.
pub(super) fn most_bytes(prepared: &[Prepared]) -> usize {
    let messages: usize = prepared.iter().map(|one| one.bytes).sum();
    messages + prepared.len() * line_bytes() + remembered_bytes(prepared.len())
}

fn line_bytes() -> usize {
    size_of::<Line>() + size::ENTRY
}

fn remembered_bytes(messages: usize) -> usize {
    const HASH: usize = 32;
    size_of::<Remembered>() + HASH + 2 * size::ENTRY + messages * size_of::<AppendedMessage>()
}

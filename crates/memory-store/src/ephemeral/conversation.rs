//! One thread in memory: what the SQL functions do to rows, done to a tree.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    iter,
    sync::Arc,
    time::{Duration, Instant},
};

use memory_contract::{Message, MessageId, RequestId, Thread, ThreadId};
use serde_json::Map;
use time::OffsetDateTime;

use crate::{Appended, Erased, NewThread, Revision, StoreError, ThreadChange, size};

/// How long the answers to request ids are remembered; callers are promised 24h.
const REQUEST_RETENTION: Duration = Duration::from_secs(48 * 3_600);

/// The ids that one tenant's ephemeral threads have used.
#[derive(Default)]
pub(super) struct Ids {
    pub(super) messages: HashSet<MessageId>,
    pub(super) requests: HashMap<RequestId, ThreadId>,
}

/// A thread with its messages.
pub(super) struct Conversation {
    pub(super) thread: Thread,
    /// Its place in the order of creation.
    pub(super) ordinal: i64,
    /// When it was used last.
    pub(super) used: Instant,
    /// About how many bytes all of this takes.
    pub(super) bytes: usize,
    pub(super) head: Head,
    /// In the order of seq, without gaps; the deleted ones are empty.
    pub(super) entries: Vec<Entry>,
    pub(super) places: HashMap<MessageId, usize>,
    /// The branches; number 1 is the first.
    pub(super) lines: Vec<Line>,
    pub(super) requests: HashMap<RequestId, Remembered>,
    /// The number of the last change.
    pub(super) changes: i64,
}

/// Where the head stands; all 0 where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    pub(super) branch: i32,
    pub(super) depth: i32,
    pub(super) seq: i64,
}

pub(super) struct Entry {
    pub(super) message: Arc<Message>,
    pub(super) readable: bool,
    /// Bytes of parts and metadata as the database counts them.
    pub(super) stored_bytes: i64,
    /// The words to find it by, each once, in order.
    pub(super) words: Arc<[u64]>,
    /// What it takes in memory.
    pub(super) bytes: usize,
}

/// A branch.
pub(super) struct Line {
    /// 0 for a branch that starts with a root.
    pub(super) parent: i32,
    pub(super) fork: Option<MessageId>,
    pub(super) fork_depth: i32,
    pub(super) created: OffsetDateTime,
    /// Its readable messages by depth.
    pub(super) readable: BTreeMap<i32, usize>,
}

/// The first answer to a request id.
pub(super) struct Remembered {
    pub(super) hash: Vec<u8>,
    pub(super) appended: Appended,
    pub(super) since: Instant,
    pub(super) bytes: usize,
}

impl Conversation {
    pub(super) fn new(new: &NewThread, ordinal: i64) -> Self {
        let now = now();
        let thread = Thread {
            id: ThreadId::new(),
            session: new.session.clone(),
            title: new.title.clone(),
            metadata: new.metadata.clone(),
            last_seq: 0,
            head: None,
            message_count: 0,
            created: now,
            updated: now,
            expires: new.ttl.map(|ttl| now + ttl),
            policy: new.policy.clone(),
            ephemeral: true,
        };
        Self {
            bytes: frame_bytes(&thread),
            thread,
            ordinal,
            used: Instant::now(),
            head: Head::default(),
            entries: Vec::new(),
            places: HashMap::new(),
            lines: Vec::new(),
            requests: HashMap::new(),
            changes: 0,
        }
    }

    /// Whether its time has not come.
    pub(super) fn lives(&self, idle_ttl: Duration) -> bool {
        self.used.elapsed() < idle_ttl
            && self
                .thread
                .expires
                .is_none_or(|expires| expires > OffsetDateTime::now_utc())
    }

    /// Erases a message. Its place stays, empty.
    pub(super) fn delete_message(&mut self, id: MessageId) -> Result<Revision, StoreError> {
        let at = *self.places.get(&id).ok_or(StoreError::MessageNotFound)?;
        let entry = &mut self.entries[at];
        if !entry.readable {
            return Err(StoreError::MessageNotFound);
        }
        let empty = Message {
            name: String::new(),
            parts: Vec::new(),
            metadata: Map::new(),
            tokens: 0,
            ..*entry.message
        };
        let (branch, depth) = (empty.branch, empty.depth);
        let left = super::prepared::entry_bytes(&empty, 0);
        self.bytes = self.bytes.saturating_sub(entry.bytes.saturating_sub(left));
        *entry = Entry {
            message: Arc::new(empty),
            readable: false,
            stored_bytes: 0,
            words: Arc::default(),
            bytes: left,
        };
        self.line_mut(branch).readable.remove(&depth);
        if self.thread.head == Some(id) {
            self.fall_back(branch, depth - 1);
        }
        self.thread.message_count -= 1;
        self.thread.updated = now();
        self.changes += 1;
        Ok(self.revision())
    }

    /// Puts the head to the nearest readable message from there to the root, or
    /// else to the newest of the thread.
    fn fall_back(&mut self, branch: i32, depth: i32) {
        let nearest = self.path(branch, depth).next();
        let newest = || self.entries.iter().rev().find(|entry| entry.readable);
        match nearest
            .or_else(newest)
            .map(|entry| Arc::clone(&entry.message))
        {
            Some(message) => self.stand_at(&message),
            None => {
                self.thread.head = None;
                self.head = Head::default();
            }
        }
    }

    /// Makes another message the head.
    pub(super) fn set_head(
        &mut self,
        id: MessageId,
        expected: Option<Option<MessageId>>,
    ) -> Result<Thread, StoreError> {
        if expected.is_some_and(|expected| expected != self.thread.head) {
            return Err(StoreError::HeadMoved {
                head: self.thread.head,
            });
        }
        let entry = self.readable(id).ok_or(StoreError::MessageNotFound)?;
        if self.thread.head != Some(id) {
            let message = Arc::clone(&entry.message);
            self.stand_at(&message);
            self.thread.updated = now();
        }
        Ok(self.thread.clone())
    }

    pub(super) fn stand_at(&mut self, message: &Message) {
        self.thread.head = Some(message.id);
        self.head = Head {
            branch: message.branch,
            depth: message.depth,
            seq: message.seq,
        };
    }

    /// Erases all messages.
    pub(super) fn clear(&mut self, ids: &mut Ids) -> Erased {
        let message_count = self.thread.message_count;
        for id in self.places.keys() {
            ids.messages.remove(id);
        }
        self.places = HashMap::new();
        self.entries = Vec::new();
        self.lines = Vec::new();
        self.head = Head::default();
        self.thread.head = None;
        self.thread.message_count = 0;
        self.thread.updated = now();
        self.count_frame();
        if self.thread.last_seq > 0 {
            self.changes += 1;
        }
        Erased {
            message_count,
            revision: self.revision(),
        }
    }

    /// Takes back what the tenant keeps of it; it is about to be dropped.
    pub(super) fn forget(&mut self, ids: &mut Ids) -> Erased {
        for request in self.requests.keys() {
            ids.requests.remove(request);
        }
        self.clear(ids)
    }

    /// Forgets answers that nobody will ask for again.
    pub(super) fn forget_requests(&mut self, ids: &mut Ids) {
        self.requests.retain(|request, remembered| {
            let keep = remembered.since.elapsed() < REQUEST_RETENTION;
            if !keep {
                ids.requests.remove(request);
                self.bytes = self.bytes.saturating_sub(remembered.bytes);
            }
            keep
        });
    }

    /// Changes the thread if that takes no more than `room` bytes more.
    pub(super) fn update(
        &mut self,
        change: &ThreadChange,
        room: usize,
    ) -> Result<Thread, StoreError> {
        let ThreadChange {
            title,
            metadata,
            ttl,
            policy,
        } = change;
        let now = now();
        let mut thread = self.thread.clone();
        if let Some(title) = title {
            thread.title.clone_from(title);
        }
        if let Some(metadata) = metadata {
            thread.metadata.clone_from(metadata);
        }
        if let Some(ttl) = ttl {
            thread.expires = ttl.map(|ttl| now + ttl);
        }
        if let Some(policy) = policy {
            thread.policy.clone_from(policy);
        }
        thread.updated = now;
        let (before, after) = (frame_bytes(&self.thread), frame_bytes(&thread));
        if after > before && after - before > room {
            return Err(StoreError::EphemeralFull);
        }
        self.bytes = (self.bytes + after).saturating_sub(before);
        self.thread = thread;
        Ok(self.thread.clone())
    }

    /// A message that can be read.
    pub(super) fn readable(&self, id: MessageId) -> Option<&Entry> {
        let entry = &self.entries[*self.places.get(&id)?];
        entry.readable.then_some(entry)
    }

    /// A branch by its number.
    pub(super) fn line(&self, branch: i32) -> Option<&Line> {
        self.lines
            .get(usize::try_from(branch).ok()?.checked_sub(1)?)
    }

    /// The branches on the way to the root, each with the depth down to which
    /// it belongs to the way.
    pub(super) fn way(&self, branch: i32, depth: i32) -> impl Iterator<Item = (i32, i32)> {
        let start = (branch > 0).then_some((branch, depth));
        iter::successors(start, |(branch, _)| {
            let line = self.line(*branch)?;
            (line.parent > 0).then_some((line.parent, line.fork_depth))
        })
    }

    /// The readable messages from a place to the root.
    pub(super) fn path(&self, branch: i32, depth: i32) -> impl Iterator<Item = &Entry> {
        self.way(branch, depth)
            .filter_map(|(branch, depth)| Some((self.line(branch)?, depth)))
            .flat_map(|(line, depth)| line.readable.range(..=depth).rev())
            .map(|(_, at)| &self.entries[*at])
    }

    pub(super) fn line_mut(&mut self, branch: i32) -> &mut Line {
        let at = usize::try_from(branch - 1).unwrap_or_default();
        &mut self.lines[at]
    }

    fn count_frame(&mut self) {
        let answers: usize = self.requests.values().map(|one| one.bytes).sum();
        self.bytes = frame_bytes(&self.thread) + answers;
    }

    pub(super) fn revision(&self) -> Revision {
        Revision {
            thread: self.thread.id,
            change: self.changes,
        }
    }
}

/// The time, as exactly as the database keeps it.
pub(super) fn now() -> OffsetDateTime {
    super::prepared::micros(OffsetDateTime::now_utc())
}

/// A thread without its messages; its session is kept twice.
fn frame_bytes(thread: &Thread) -> usize {
    let session = &thread.session;
    let names =
        session.app.as_str().len() + session.user.as_str().len() + session.key.as_str().len();
    let policy = serde_json::to_string(&thread.policy).map_or(0, |text| text.len());
    size_of::<Conversation>()
        + 2 * names
        + thread.title.len()
        + size::of_object(&thread.metadata)
        + policy
        + 4 * size::ENTRY
}

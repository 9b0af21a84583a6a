//! What an export says of itself, so that it can be compared with what it
//! becomes elsewhere.
//!
//! Policies, files, threads and memories are units. A unit's digest is the SHA-256 of its
//! records, each as the length and the bytes of its protobuf encoding, in which
//! only those fields are set that an import stores again; maps are encoded in
//! the order of their keys. The checksum is the SHA-256 of the sorted digests, so
//! the order of units does not count.

mod units;

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use sha2::{Digest as _, Sha256};

use crate::proto::{
    self, ExportSummary, ExportedNode, Iteration, Message, NodeMessage, Thread,
    export_messages_response::Record,
};

use units::{bare_part, bare_plan, bare_reference};

pub use units::{app_policy_digest, file_digest, memory_digest, plan_digest};

/// The digest of one policy, file, thread or memory. It is shown in hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitDigest([u8; 32]);

/// A thread of an export that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedThread {
    /// Its id where it was exported.
    pub thread_id: String,
    /// The digest of all that belongs to it.
    pub digest: UnitDigest,
    /// Its messages.
    pub message_count: i64,
}

/// Sees the records of an export, in order, and sums them up. It keeps 32 bytes
/// for each policy, file, thread and memory.
#[derive(Clone, Debug, Default)]
pub struct ExportChecksum {
    files: BTreeSet<UnitDigest>,
    others: BTreeSet<UnitDigest>,
    thread: Option<OpenThread>,
    counts: ExportSummary,
}

/// A thread whose records are being seen.
#[derive(Clone, Debug)]
struct OpenThread {
    id: String,
    hash: Sha256,
    head: String,
    /// The place of the message that is the head; that of the last one where
    /// none is.
    head_place: Option<i64>,
    messages: i64,
}

impl ExportChecksum {
    /// Sees the next record, and returns the thread that it ends. A memory or
    /// a summary ends the last one; what the summary says is not looked at.
    pub fn see(&mut self, record: &Record) -> Option<ExportedThread> {
        match record {
            Record::AppPolicy(policy) => {
                self.counts.app_policy_count += 1;
                self.others.insert(app_policy_digest(policy));
            }
            Record::File(file) => {
                self.files.insert(file_digest(file));
            }
            Record::Thread(thread) => {
                let ended = self.end_thread();
                self.counts.thread_count += 1;
                self.thread = Some(OpenThread::new(thread));
                return ended;
            }
            Record::Message(message) => {
                self.counts.message_count += 1;
                if let Some(thread) = &mut self.thread {
                    thread.message(message);
                }
            }
            Record::Node(node) => match node.unreadable {
                true => self.counts.unreadable_node_count += 1,
                false => {
                    self.counts.node_count += 1;
                    if let Some(thread) = &mut self.thread {
                        thread.node(node);
                    }
                }
            },
            Record::NodeMessage(message) => {
                self.counts.node_message_count += 1;
                if let Some(thread) = &mut self.thread {
                    thread.node_message(message);
                }
            }
            Record::Plan(plan) => {
                self.counts.plan_count += 1;
                if let Some(thread) = &mut self.thread {
                    put(&mut thread.hash, b"plan", &bare_plan(plan));
                }
            }
            Record::Iteration(iteration) => {
                self.counts.iteration_count += 1;
                if let Some(thread) = &mut self.thread {
                    thread.iteration(iteration);
                }
            }
            Record::Memory(memory) => {
                let ended = self.end_thread();
                self.counts.memory_count += 1;
                self.others.insert(memory_digest(memory));
                return ended;
            }
            Record::Summary(_) => return self.end_thread(),
        }
        None
    }

    /// Ends the thread that was seen last, which is over when the records are.
    pub fn end_thread(&mut self) -> Option<ExportedThread> {
        let ended = self.thread.take()?.end();
        self.others.insert(ended.digest);
        Some(ended)
    }

    /// What was counted so far.
    pub fn counts(&self) -> ExportSummary {
        ExportSummary {
            file_count: i64::try_from(self.files.len()).unwrap_or(i64::MAX),
            ..self.counts.clone()
        }
    }

    /// Sums up what was seen, the last thread included.
    pub fn summary(mut self) -> ExportSummary {
        self.end_thread();
        let mut hash = Sha256::new();
        let all: BTreeSet<_> = self.others.union(&self.files).collect();
        for UnitDigest(digest) in all {
            hash.update(digest);
        }
        ExportSummary {
            checksum: UnitDigest(hash.finalize().into()).to_string(),
            ..self.counts()
        }
    }
}

impl Display for UnitDigest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl OpenThread {
    fn new(thread: &Thread) -> Self {
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
        } = thread;
        let content = Thread {
            app_id: app_id.clone(),
            user_id: user_id.clone(),
            session_key: session_key.clone(),
            title: title.clone(),
            metadata: metadata.clone().filter(|data| !data.fields.is_empty()),
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

    fn message(&mut self, message: &Message) {
        let Message {
            message_id,
            thread_id: _,
            parent_message_id,
            seq: _,
            branch: _,
            depth: _,
            role,
            name,
            parts,
            metadata,
            token_count: _,
            create_time,
        } = message;
        self.messages += 1;
        if *message_id == self.head {
            self.head_place = Some(self.messages);
        }
        let content = Message {
            message_id: message_id.clone(),
            parent_message_id: parent_message_id.clone(),
            role: *role,
            name: name.clone(),
            parts: parts.iter().cloned().map(bare_part).collect(),
            metadata: metadata.clone().filter(|data| !data.fields.is_empty()),
            create_time: *create_time,
            ..Message::default()
        };
        put(&mut self.hash, b"message", &content);
    }

    fn node(&mut self, node: &ExportedNode) {
        put(&mut self.hash, b"node", node);
    }

    fn node_message(&mut self, message: &NodeMessage) {
        let NodeMessage {
            message_id,
            parent_message_id,
            role,
            content,
            files,
            token_count: _,
            create_time,
        } = message;
        let content = NodeMessage {
            message_id: message_id.clone(),
            parent_message_id: parent_message_id.clone(),
            role: *role,
            content: content.clone(),
            files: files.iter().cloned().map(bare_reference).collect(),
            token_count: 0,
            create_time: *create_time,
        };
        put(&mut self.hash, b"node_message", &content);
    }

    fn iteration(&mut self, iteration: &Iteration) {
        let Iteration {
            // They follow from the order.
            number: _,
            attempt: _,
            task,
            action,
            result,
            error,
            diagnosis,
            fix,
            create_time: _,
        } = iteration;
        let content = Iteration {
            task: task.clone(),
            action: action.clone(),
            result: result.clone(),
            error: error.clone(),
            diagnosis: diagnosis.clone(),
            fix: fix.clone(),
            ..Iteration::default()
        };
        put(&mut self.hash, b"iteration", &content);
    }

    fn end(mut self) -> ExportedThread {
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

/// Adds a record: what it is, its length, and its encoding.
fn put(hash: &mut Sha256, kind: &[u8], content: &impl prost::Message) {
    let bytes = content.encode_to_vec();
    hash.update(kind);
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(&bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{ExtractionStrategy, File, Memory, Part, part::Content};

    fn thread(key: &str, head: &str) -> Record {
        Record::Thread(Thread {
            session_key: key.to_owned(),
            head_message_id: head.to_owned(),
            ..Default::default()
        })
    }

    fn message(id: &str, text: &str) -> Record {
        Record::Message(Message {
            message_id: id.to_owned(),
            parts: vec![Part {
                content: Some(Content::Text(text.to_owned())),
            }],
            ..Default::default()
        })
    }

    fn checksum(records: &[Record]) -> String {
        let mut checksum = ExportChecksum::default();
        for record in records {
            checksum.see(record);
        }
        checksum.summary().checksum
    }

    #[test]
    fn the_order_of_threads_does_not_count_and_that_of_messages_does() {
        let (one, two) = (thread("one", "a"), thread("two", ""));
        let (a, b) = (message("a", "A"), message("b", "B"));
        let all = checksum(&[one.clone(), a.clone(), b.clone(), two.clone()]);
        assert_eq!(
            all,
            checksum(&[two.clone(), one.clone(), a.clone(), b.clone()])
        );
        for other in [
            vec![one.clone(), b.clone(), a.clone(), two.clone()],
            vec![one.clone(), a.clone(), two.clone(), b.clone()],
            vec![one.clone(), a.clone(), b.clone()],
            vec![thread("one", "b"), a.clone(), b.clone(), two.clone()],
            vec![one.clone(), message("a", "A!"), b.clone(), two.clone()],
        ] {
            assert_ne!(all, checksum(&other), "{other:?}");
        }
    }

    #[test]
    fn a_head_that_is_not_there_is_the_last_message() {
        let messages = [message("a", "A"), message("b", "B")];
        let with = |head: &str| {
            let [a, b] = messages.clone();
            checksum(&[thread("one", head), a, b])
        };
        assert_eq!(with("erased"), with("b"));
        assert_eq!(with(""), with("b"));
        assert_ne!(with("a"), with("b"));
    }

    #[test]
    fn what_moving_changes_does_not_count() {
        let Record::Message(said) = message("a", "A") else {
            panic!()
        };
        let moved = Message {
            thread_id: "other".to_owned(),
            seq: 7,
            branch: 3,
            depth: 2,
            token_count: 9,
            ..said.clone()
        };
        assert_eq!(
            checksum(&[thread("one", ""), Record::Message(said)]),
            checksum(&[thread("one", ""), Record::Message(moved)])
        );
    }

    #[test]
    fn what_is_known_counts_with_its_sources_and_not_with_its_use() {
        let memory = Memory {
            text: "Likes tea".to_owned(),
            ..Default::default()
        };
        let sum = |memory: &Memory| checksum(&[Record::Memory(memory.clone())]);
        let used = Memory {
            thread_id: "other".to_owned(),
            last_use_time: Some(prost_types::Timestamp::default()),
            persist_time: Some(prost_types::Timestamp::default()),
            etag: "7".to_owned(),
            ..memory.clone()
        };
        assert_eq!(sum(&used), sum(&memory));
        let proved = Memory {
            source_message_ids: vec!["a".to_owned()],
            ..memory.clone()
        };
        assert_ne!(sum(&proved), sum(&memory));
        let extracted = Memory {
            extraction_strategy: ExtractionStrategy::Summary.into(),
            ..memory.clone()
        };
        assert_ne!(sum(&extracted), sum(&memory));
    }

    #[test]
    fn a_file_that_came_twice_counts_once() {
        let file = Record::File(File {
            storage_key: "k".to_owned(),
            ..Default::default()
        });
        let mut twice = ExportChecksum::default();
        twice.see(&file);
        twice.see(&file);
        let summary = twice.summary();
        assert_eq!(summary.file_count, 1);
        assert_eq!(summary.checksum, checksum(&[file]));
    }
}

//! What an export says of itself, so that it can be compared with what it
//! becomes elsewhere.
//!
//! Policies, files and threads are units. A unit's digest is the SHA-256 of its
//! records, each as the length and the bytes of its protobuf encoding, in which
//! only those fields are set that an import stores again; maps are encoded in
//! the order of their keys. The checksum is the SHA-256 of the sorted digests, so
//! the order of units does not count.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use sha2::{Digest as _, Sha256};

use crate::proto::{
    self, AppPolicy, ExportSummary, ExportedNode, File, Message, NodeMessage, Part, Thread,
    export_messages_response::Record, part::Content,
};

/// The digest of one policy, file or thread. It is shown in hex.
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
/// for each policy, file and thread.
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
    /// Sees the next record, and returns the thread that it ends. A summary ends
    /// the last one; what it says is not looked at.
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

/// The digest of an app's policy. When it was set does not count.
pub fn app_policy_digest(policy: &AppPolicy) -> UnitDigest {
    let AppPolicy {
        app_id,
        policy,
        update_time: _,
    } = policy;
    let content = AppPolicy {
        app_id: app_id.clone(),
        policy: Some(policy.clone().unwrap_or_default()),
        update_time: None,
    };
    let mut hash = Sha256::new();
    put(&mut hash, b"app_policy", &content);
    UnitDigest(hash.finalize().into())
}

/// The digest of what is known of a file. When it was registered does not count.
pub fn file_digest(file: &File) -> UnitDigest {
    let File {
        location,
        // It follows from the location.
        transfer_method: _,
        r#type,
        storage_key,
        name,
        mime_type,
        size_bytes,
        create_time: _,
        update_time: _,
    } = file;
    let content = File {
        location: location.clone(),
        r#type: *r#type,
        storage_key: storage_key.clone(),
        name: name.clone(),
        mime_type: mime_type.clone(),
        size_bytes: *size_bytes,
        ..File::default()
    };
    let mut hash = Sha256::new();
    put(&mut hash, b"file", &content);
    UnitDigest(hash.finalize().into())
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

/// A part without what only answers have.
fn bare_part(part: Part) -> Part {
    let content = part.content.map(|content| match content {
        Content::File(file) => Content::File(bare_reference(file)),
        Content::Text(_) | Content::Json(_) | Content::ToolCall(_) | Content::ToolResult(_) => {
            content
        }
    });
    Part { content }
}

fn bare_reference(reference: proto::FileRef) -> proto::FileRef {
    proto::FileRef {
        file: None,
        dangling: false,
        ..reference
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

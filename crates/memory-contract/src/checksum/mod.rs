//! The checksum of an export, which stays the same when the export is imported elsewhere.
//!
//! Policies, files, threads and memories are units. A unit's digest is the SHA-256 of its
//! records, each as the length and the bytes of its protobuf encoding, in which
//! only those fields are set that an import stores again; maps are encoded in
//! the order of their keys. The checksum is the SHA-256 of the sorted digests, so
//! the order of units does not count.

#[cfg(test)]
mod tests;
mod thread;
mod units;

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::canonical_json;
use crate::proto::{ExportSummary, export_messages_response::Record};

use thread::OpenThread;

pub use units::{app_policy_digest, file_digest, memory_digest, plan_digest};

/// The digest of one policy, file, thread or memory. It is shown in hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitDigest([u8; 32]);

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

/// Computes the counts and the checksum of an export from its records, in order. Takes 32
/// bytes of memory for each policy, file, thread and memory.
#[derive(Clone, Debug, Default)]
pub struct ExportChecksum {
    files: BTreeSet<UnitDigest>,
    others: BTreeSet<UnitDigest>,
    thread: Option<OpenThread>,
    counts: ExportSummary,
}

impl ExportChecksum {
    /// Adds the next record, and returns the thread that it completes. A memory or a summary
    /// completes the last thread; the content of a summary is ignored.
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
                    thread.plan(plan);
                }
            }
            Record::Attempt(attempt) => {
                self.counts.attempt_count += 1;
                if let Some(thread) = &mut self.thread {
                    thread.attempt(attempt);
                }
            }
            Record::Event(event) => {
                self.counts.event_count += 1;
                if let Some(thread) = &mut self.thread {
                    thread.event(event);
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

    /// Completes the current thread, if any. Call it after the last record.
    pub fn end_thread(&mut self) -> Option<ExportedThread> {
        let ended = self.thread.take()?.end();
        self.others.insert(ended.digest);
        Some(ended)
    }

    /// The counts so far.
    pub fn counts(&self) -> ExportSummary {
        ExportSummary {
            file_count: i64::try_from(self.files.len()).unwrap_or(i64::MAX),
            ..self.counts.clone()
        }
    }

    /// The counts and the checksum of all records; completes the last thread.
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
        f.write_str(&hex::encode(self.0))
    }
}

/// JSON text of an object whose digest does not depend on how it is written; empty without
/// members.
fn canonical(object: &str) -> String {
    match serde_json::from_str::<&RawValue>(object) {
        Ok(value) => match canonical_json(value) {
            text if text == "{}" => String::new(),
            text => text,
        },
        Err(_) => object.to_owned(),
    }
}

/// Adds a record: its kind, its length, and its encoding.
fn put(hash: &mut Sha256, kind: &[u8], content: &impl prost::Message) {
    let bytes = content.encode_to_vec();
    hash.update(kind);
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(&bytes);
}

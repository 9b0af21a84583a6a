//! Counts and checksum of an export, from its records.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use memory_contract::proto::{ExportSummary, record::Kind};
use sha2::{Digest as _, Sha256};

use crate::digest::UnitDigest;
use crate::thread::{ExportedThread, OpenThread};
use crate::units::{app_policy_digest, document_digest, file_digest, memory_digest};

/// Computes the counts and the checksum of an export from its records, in order. Takes 32
/// bytes of memory for each policy, file, thread, memory and document.
#[derive(Clone, Debug, Default)]
pub struct ExportChecksum {
    files: BTreeSet<UnitDigest>,
    others: BTreeSet<UnitDigest>,
    thread: Option<OpenThread>,
    counts: ExportSummary,
}

impl ExportChecksum {
    /// Adds the next record, and returns the thread that it completes. A memory, a document or
    /// a summary completes the last thread; the content of a summary is ignored.
    pub fn see(&mut self, record: &Kind) -> Option<ExportedThread> {
        match record {
            Kind::AppPolicy(policy) => {
                self.counts.app_policy_count += 1;
                self.others.insert(app_policy_digest(policy));
            }
            Kind::File(file) => {
                self.files.insert(file_digest(file));
            }
            Kind::Thread(thread) => {
                let ended = self.end_thread();
                self.counts.thread_count += 1;
                self.thread = Some(OpenThread::new(thread));
                return ended;
            }
            Kind::Message(message) => {
                self.counts.message_count += 1;
                if let Some(thread) = &mut self.thread {
                    thread.message(message);
                }
            }
            Kind::Node(node) => match node.unreadable {
                true => self.counts.unreadable_node_count += 1,
                false => {
                    self.counts.node_count += 1;
                    if let Some(thread) = &mut self.thread {
                        thread.node(node);
                    }
                }
            },
            Kind::NodeMessage(message) => {
                self.counts.node_message_count += 1;
                if let Some(thread) = &mut self.thread {
                    thread.node_message(message);
                }
            }
            Kind::Plan(plan) => {
                self.counts.plan_count += 1;
                if let Some(thread) = &mut self.thread {
                    thread.plan(plan);
                }
            }
            Kind::Attempt(attempt) => {
                self.counts.attempt_count += 1;
                if let Some(thread) = &mut self.thread {
                    thread.attempt(attempt);
                }
            }
            Kind::Event(event) => {
                self.counts.event_count += 1;
                if let Some(thread) = &mut self.thread {
                    thread.event(event);
                }
            }
            Kind::Memory(memory) => {
                let ended = self.end_thread();
                self.counts.memory_count += 1;
                self.others.insert(memory_digest(memory));
                return ended;
            }
            Kind::Checkpoint(checkpoint) => {
                self.counts.checkpoint_count += 1;
                if let Some(thread) = &mut self.thread {
                    thread.checkpoint(checkpoint);
                }
            }
            Kind::CheckpointValue(value) => {
                if let Some(thread) = &mut self.thread {
                    thread.checkpoint_value(value);
                }
            }
            Kind::CheckpointWrite(write) => {
                if let Some(thread) = &mut self.thread {
                    thread.checkpoint_write(write);
                }
            }
            Kind::Document(document) => {
                let ended = self.end_thread();
                self.counts.document_count += 1;
                self.others.insert(document_digest(document));
                return ended;
            }
            Kind::Summary(_) => return self.end_thread(),
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

/// Compares what the summary of an export says with the records before it.
///
/// # Errors
/// How they differ.
pub fn check_summary(said: &ExportSummary, seen: &ExportSummary) -> Result<(), String> {
    if said == seen {
        return Ok(());
    }
    let counts = |summary: &ExportSummary| {
        let ExportSummary {
            app_policy_count,
            file_count,
            thread_count,
            message_count,
            node_count,
            node_message_count,
            unreadable_node_count,
            checksum: _,
            plan_count,
            attempt_count,
            memory_count,
            event_count,
            checkpoint_count,
            document_count,
        } = *summary;
        [
            ("app_policy", app_policy_count),
            ("file", file_count),
            ("thread", thread_count),
            ("message", message_count),
            ("node", node_count),
            ("node_message", node_message_count),
            ("unreadable node", unreadable_node_count),
            ("plan", plan_count),
            ("attempt", attempt_count),
            ("event", event_count),
            ("checkpoint", checkpoint_count),
            ("memory", memory_count),
            ("document", document_count),
        ]
    };
    let missing: Vec<String> = counts(said)
        .into_iter()
        .zip(counts(seen))
        .filter(|((_, said), (_, seen))| said != seen)
        .map(|((what, said), (_, seen))| format!("{seen} of {said} {what} records"))
        .collect();
    Err(match missing.is_empty() {
        true => format!(
            "something was changed: the checksum was {}, and is {}",
            said.checksum, seen.checksum
        ),
        false => format!("there are {}", missing.join(", ")),
    })
}

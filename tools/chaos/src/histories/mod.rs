//! A checker of recorded histories of threads.
//!
//! Clients record what they asked for and were answered, and [`check`] says what of it a correct
//! service does not do. Threads are independent of each other, so each is checked alone: its
//! messages as append-only lists, the versions of a message and the head as registers.

mod anomaly;
mod calls;
mod clients;
mod evidence;
mod facts;
mod faults;
mod history;
mod lists;
mod messages;
mod options;
mod plant;
mod registers;
mod scenario;
mod search;
mod seqs;
mod steps;
mod versions;

use std::collections::BTreeMap;

pub use anomaly::{Anomaly, What, Which};
pub use history::{
    Answer, Call, Operation, Outcome, Parent, Place, ROOT, Refusal, Stored, read_lines, write_lines,
};
pub use options::Histories;
pub use plant::{Plant, plant};
pub use scenario::histories;

/// What a history was found to be.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of operations.
    pub operations: usize,
    /// Number of threads.
    pub threads: usize,
    /// What a correct service does not do.
    pub anomalies: Vec<Anomaly>,
    /// Threads whose heads the search could neither explain nor call wrong: it took too long, or
    /// operations have an unknown outcome that no closing read of the thread shows.
    pub undecided: Vec<u32>,
}

impl Report {
    /// Adds the findings of a further history.
    pub fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.threads += other.threads;
        self.anomalies.extend(other.anomalies);
        self.undecided.extend(other.undecided);
    }
}

/// Checks a history.
///
/// The last operation on each thread should be a read of all branches that begins once no other
/// operation is under way; it shows what became of the operations without an answer.
pub fn check(history: &[Operation]) -> Report {
    let mut threads: BTreeMap<u32, Vec<(Which, &Operation)>> = BTreeMap::new();
    for (index, operation) in history.iter().enumerate() {
        let process = operation.process;
        let which = Which { index, process };
        threads
            .entry(operation.thread)
            .or_default()
            .push((which, operation));
    }
    let mut report = Report {
        operations: history.len(),
        threads: threads.len(),
        ..Report::default()
    };
    for (thread, operations) in threads {
        let mut facts = facts::Facts::new(thread, operations);
        seqs::check(&mut facts);
        lists::check(&mut facts);
        versions::check(&mut facts);
        if !registers::check(&mut facts) {
            report.undecided.push(thread);
        }
        report.anomalies.append(&mut facts.anomalies);
    }
    report
}

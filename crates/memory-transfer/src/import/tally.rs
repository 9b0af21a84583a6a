//! What became of the records so far.

use memory_contract::proto::RecordCounts;

/// What became of a record that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Stored,
    /// It was there before.
    Known,
    /// A memory with its text is there.
    Merged,
}

impl Outcome {
    pub(super) fn of(known: bool) -> Self {
        match known {
            true => Self::Known,
            false => Self::Stored,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) stored: RecordCounts,
    pub(super) known: RecordCounts,
    pub(super) merged: i64,
    pub(super) refused: i64,
    pub(super) missing_sources: i64,
    pub(super) redacted: i64,
}

impl Tally {
    pub(super) fn add(
        &mut self,
        outcome: Outcome,
        count: usize,
        kind: impl Fn(&mut RecordCounts) -> &mut i64,
    ) {
        let number = match outcome {
            Outcome::Stored => kind(&mut self.stored),
            Outcome::Known => kind(&mut self.known),
            Outcome::Merged => &mut self.merged,
        };
        *number += i64::try_from(count).unwrap_or(i64::MAX);
    }

    pub(super) fn stored_count(&self) -> i64 {
        sum(&self.stored)
    }

    pub(super) fn known_count(&self) -> i64 {
        sum(&self.known)
    }
}

fn sum(counts: &RecordCounts) -> i64 {
    let RecordCounts {
        app_policy_count,
        file_count,
        thread_count,
        message_count,
        node_message_count,
        plan_count,
        attempt_count,
        event_count,
        checkpoint_count,
        memory_count,
        document_count,
    } = *counts;
    app_policy_count
        + file_count
        + thread_count
        + message_count
        + node_message_count
        + plan_count
        + attempt_count
        + event_count
        + checkpoint_count
        + memory_count
        + document_count
}

//! What a history says about its messages, to plant a fault that contradicts it.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::history::{Answer, Call, Operation, Outcome, Place, Stored};

/// What a history says about its messages.
pub(super) struct Context {
    /// Messages that a deletion may have deleted.
    pub(super) deleting: HashSet<Uuid>,
    /// Parents of those.
    pub(super) parents_of_deleting: HashSet<Uuid>,
    /// Messages that a call may have made the head.
    pub(super) chosen: HashSet<Uuid>,
    pub(super) stored: HashMap<Uuid, Stored>,
    /// Requests with an attempt that was not refused.
    pub(super) sent: HashSet<Uuid>,
    /// By message: its request, and the first end of an append that stored it.
    pub(super) requests: HashMap<u64, (Uuid, u64)>,
    /// Values by request.
    pub(super) values: HashMap<Uuid, Vec<u64>>,
}

impl Context {
    pub(super) fn of(history: &[Operation]) -> Self {
        let mut context = Self {
            deleting: HashSet::new(),
            parents_of_deleting: HashSet::new(),
            chosen: HashSet::new(),
            stored: HashMap::new(),
            sent: HashSet::new(),
            requests: HashMap::new(),
            values: HashMap::new(),
        };
        for operation in history {
            for stored in operation.messages().unwrap_or_default() {
                context.stored.entry(stored.id).or_insert(*stored);
            }
            if !operation.may_have_happened() {
                continue;
            }
            match &operation.call {
                Call::Delete { message } => {
                    context.deleting.insert(*message);
                }
                Call::SetHead { message, .. } => {
                    context.chosen.insert(*message);
                }
                Call::Append {
                    request, values, ..
                } => {
                    context.sent.insert(*request);
                    context.values.insert(*request, values.clone());
                    for &value in values {
                        let known = context
                            .requests
                            .entry(value)
                            .or_insert((*request, u64::MAX));
                        known.1 = known.1.min(operation.end());
                    }
                }
                _ => {}
            }
        }
        let deleted = context
            .deleting
            .iter()
            .filter_map(|id| context.stored.get(id));
        context.parents_of_deleting = deleted.map(|stored| stored.parent).collect();
        context
    }

    pub(super) fn may_be_deleted(&self, stored: &Stored) -> bool {
        self.deleting.contains(&stored.id)
    }
}

pub(super) fn places(operation: &Operation) -> Option<&[Place]> {
    match operation.answer() {
        Some(Answer::Appended { places, .. }) => Some(places),
        _ => None,
    }
}

pub(super) fn messages_of(operation: &mut Operation) -> Option<&mut Vec<Stored>> {
    match &mut operation.outcome {
        Outcome::Done {
            answer: Answer::Messages(messages),
            ..
        } => Some(messages),
        _ => None,
    }
}

/// The messages of a read of all branches.
pub(super) fn all_of(operation: &mut Operation) -> Option<&mut Vec<Stored>> {
    match operation.call {
        Call::ReadAll => messages_of(operation),
        _ => None,
    }
}

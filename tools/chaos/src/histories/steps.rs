//! The operations on one thread that change or show its head, as steps of a search.

use super::anomaly::Which;
use super::facts::Facts;
use super::history::{Answer, Call, Outcome, Parent, Refusal};
use super::messages::{Append, Index};
use super::seqs::{is_closed, unresolved};

/// A step: it takes effect at one instant between its two times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) by: Which,
    pub(super) from: u64,
    /// `u64::MAX`: it may also never take effect.
    pub(super) until: u64,
    pub(super) kind: Kind,
}

/// What a step does or shows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Stores a request whose last message becomes the head.
    Append {
        last: Index,
        first_seq: i64,
        /// The head before it. None: any.
        after: Option<Option<Index>>,
    },
    /// Makes a message the head.
    Set {
        to: Index,
        /// The head before it. None: any.
        after: Option<Index>,
    },
    /// Deletes a message. If it is the head, the nearest one before it becomes the head.
    Delete { message: Index },
    /// Shows the head.
    See { head: Option<Index> },
    /// Shows that a message is not the head, and another one not stored.
    SeeOther { head: Index, missing: Option<Index> },
}

impl Step {
    /// Whether it changes nothing.
    pub(super) fn shows(&self) -> bool {
        matches!(self.kind, Kind::See { .. } | Kind::SeeOther { .. })
    }
}

/// The steps of a thread, by their beginnings, and whether they are all that may have changed
/// the head.
pub(super) fn of(facts: &Facts<'_>) -> (Vec<Step>, bool) {
    let mut steps: Vec<Step> = facts
        .appends
        .iter()
        .filter_map(|append| append_step(facts, append))
        .collect();
    let mut complete = is_closed(facts) || unresolved(facts).next().is_none();
    for &(by, operation) in &facts.operations {
        let step = |kind| Step {
            by,
            from: operation.invoked,
            until: operation.end(),
            kind,
        };
        match (&operation.call, &operation.outcome) {
            (
                Call::SetHead {
                    message,
                    expected_head,
                },
                Outcome::Done { .. } | Outcome::Unknown,
            ) => {
                let after = expected_head.map(|head| facts.named(head));
                match (facts.named(*message), after) {
                    // No answer shows the message, or the expected head.
                    (None, _) | (_, Some(None)) => complete = false,
                    (Some(to), after) => {
                        let after = after.flatten();
                        steps.push(step(Kind::Set { to, after }));
                    }
                }
            }
            (
                Call::SetHead { expected_head, .. } | Call::Append { expected_head, .. },
                Outcome::Refused {
                    reason: Refusal::HeadMoved,
                    ..
                },
            ) => {
                let head = expected_head.and_then(|head| facts.named(head));
                // A request that is stored is answered, whatever the head is.
                let missing = match &operation.call {
                    Call::Append { values, .. } => facts.first_of(values),
                    _ => None,
                };
                steps.extend(head.map(|head| step(Kind::SeeOther { head, missing })));
            }
            (Call::GetHead, Outcome::Done { answer, .. }) => {
                let Answer::Head(head) = answer else { continue };
                match head.map(|head| facts.named(head)) {
                    Some(None) => complete = false,
                    head => steps.push(step(Kind::See {
                        head: head.flatten(),
                    })),
                }
            }
            (Call::ReadPath { head: None }, Outcome::Done { answer, .. }) => {
                let Answer::Messages(messages) = answer else {
                    continue;
                };
                match messages.last().map(|last| facts.returned(last)) {
                    Some(None) => complete = false,
                    head => steps.push(step(Kind::See {
                        head: head.flatten(),
                    })),
                }
            }
            _ => {}
        }
    }
    complete &= add_deletions(facts, &mut steps);
    steps.sort_by_key(|step| (step.from, step.by));
    (steps, complete)
}

/// A request that is known to be stored.
fn append_step(facts: &Facts<'_>, append: &Append) -> Option<Step> {
    let first = facts.message(append.messages[0]);
    let stored = append
        .messages
        .iter()
        .map(|&index| facts.message(index).stored.at);
    let until = stored.min().filter(|at| *at < u64::MAX)?;
    let expected = append.expected_head.and_then(|head| facts.named(head));
    let after = match append.parent {
        Parent::Head => first.parent,
        Parent::Message(_) | Parent::Root => None,
    };
    // Of several messages the first has the lowest seq, even if no read has it.
    let known = append.messages.iter().zip(0..);
    let first_seq = known
        .filter_map(|(&index, place)| Some(facts.message(index).seq? - place))
        .min()?;
    Some(Step {
        by: append.first,
        from: append.from,
        until,
        kind: Kind::Append {
            last: *append.messages.last()?,
            first_seq,
            after: expected.map(Some).or(after),
        },
    })
}

/// Adds the deletion of each message that was deleted: the one that was told so, or else one
/// without an answer. False if one without an answer may have been.
fn add_deletions(facts: &Facts<'_>, steps: &mut Vec<Step>) -> bool {
    let mut acknowledged = vec![false; facts.messages.len()];
    let mut complete = true;
    let deletions = facts.operations.iter().filter_map(|&(by, operation)| {
        let Call::Delete { message } = operation.call else {
            return None;
        };
        Some((by, operation, facts.named(message)?))
    });
    let deletions: Vec<_> = deletions.collect();
    for &(by, operation, message) in &deletions {
        if operation.answer() == Some(&Answer::Deleted { deleted: true }) {
            acknowledged[message as usize] = true;
            steps.push(Step {
                by,
                from: operation.invoked,
                until: operation.end(),
                kind: Kind::Delete { message },
            });
        }
    }
    let closed = is_closed(facts);
    for (by, operation, message) in deletions {
        let known = std::mem::replace(&mut acknowledged[message as usize], true);
        if known || operation.outcome != Outcome::Unknown {
            acknowledged[message as usize] = known;
            continue;
        }
        let gone = facts.message(message).gone;
        if gone.at == u64::MAX {
            complete &= closed;
            acknowledged[message as usize] = false;
            continue;
        }
        steps.push(Step {
            by,
            from: facts.message(message).deleting,
            until: gone.at,
            kind: Kind::Delete { message },
        });
    }
    complete
}

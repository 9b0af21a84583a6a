//! Branches as append-only lists, by the rules of Elle's list-append (Kingsbury and Alvaro,
//! <https://arxiv.org/abs/2003.10554>).
//!
//! Elle infers the order of versions from reads of lists whose elements are unique: each read
//! has to be a prefix of one order. Here a thread is a tree, in which each message has one
//! parent for ever, so a read of a path has to be the chain of parents of its last message, and
//! a read of all branches a prefix in the order of seq. Both may lack deleted messages only.
//! Unlike Elle's transactions all operations concern one thread, and the service promises that
//! an answered write is seen at once, so real time takes the place of a search for cycles.

use std::collections::{HashMap, HashSet};

use super::anomaly::{What, Which};
use super::facts::Facts;
use super::history::{Answer, Call, Operation, Outcome, Parent, Refusal, Stored};
use super::messages::Index;

/// Checks the messages of one thread.
pub(super) fn check(facts: &mut Facts<'_>) {
    let seen_last = seen_last(facts);
    for number in 0..facts.operations.len() {
        let (which, operation) = facts.operations[number];
        check_refusal(facts, which, operation);
        let Some(messages) = operation.messages() else {
            continue;
        };
        let read = Read {
            which,
            operation,
            messages,
        };
        if !read.is_in_order(facts) {
            continue;
        }
        match operation.call {
            Call::ReadAll => read.check_all(facts, &seen_last),
            _ => read.check_path(facts, &seen_last),
        }
    }
    check_resurrection(facts);
}

/// When the last read began that has a message.
fn seen_last(facts: &Facts<'_>) -> Vec<u64> {
    let mut seen = vec![0; facts.messages.len()];
    for (_, operation) in &facts.operations {
        for stored in operation.messages().unwrap_or_default() {
            if let Some(index) = facts.returned(stored) {
                let seen = &mut seen[index as usize];
                *seen = operation.invoked.max(*seen);
            }
        }
    }
    seen
}

/// NOT_FOUND is a right answer to a call only if the message that it names may be deleted.
fn check_refusal(facts: &mut Facts<'_>, call: Which, operation: &Operation) {
    let not_found = match &operation.outcome {
        Outcome::Refused { reason, .. } => *reason == Refusal::NotFound,
        Outcome::Done { answer, .. } => *answer == Answer::Deleted { deleted: false },
        Outcome::Unknown => false,
    };
    if !not_found {
        return;
    }
    let named = match operation.call {
        Call::Append {
            parent: Parent::Message(message),
            ..
        }
        | Call::ReadPath {
            head: Some(message),
        }
        | Call::Update { message, .. }
        | Call::Delete { message }
        | Call::SetHead { message, .. } => facts.named(message),
        _ => None,
    };
    let Some(index) = named else { return };
    let end = operation.end();
    if facts.may_be_gone(index, end) {
        facts.messages[index as usize].gone.lower(end, call);
    } else {
        let message = facts.message(index).value;
        facts.report("missing", message, What::Missing { message, call });
    }
}

/// No read that begins after a message was deleted has it.
fn check_resurrection(facts: &mut Facts<'_>) {
    for number in 0..facts.operations.len() {
        let (read, operation) = facts.operations[number];
        for stored in operation.messages().unwrap_or_default() {
            let Some(index) = facts.returned(stored) else {
                continue;
            };
            let gone = facts.message(index).gone;
            if gone.at < operation.invoked {
                let (message, gone) = (stored.value, gone.by);
                let what = What::Resurrected {
                    message,
                    gone,
                    read,
                };
                facts.report("resurrected", message, what);
            }
        }
    }
}

/// A read of messages.
struct Read<'a> {
    which: Which,
    operation: &'a Operation,
    messages: &'a [Stored],
}

impl Read<'_> {
    /// Whether it is in the order of seq and has no message twice; reports what is not.
    fn is_in_order(&self, facts: &mut Facts<'_>) -> bool {
        let read = self.which;
        let (mut before, mut ordered) = (0, true);
        let mut highest: HashMap<u64, i64> = HashMap::new();
        for stored in self.messages {
            let message = stored.value;
            if stored.seq <= before {
                ordered = false;
                highest = self
                    .messages
                    .iter()
                    .map(|one| (one.value, one.seq))
                    .collect();
                facts.report("reordered", message, What::Reordered { message, read });
            }
            before = before.max(stored.seq);
        }
        // Without a disorder two listings of one message have two seqs, and so two ids.
        if !highest.is_empty() && highest.len() < self.messages.len() {
            let mut seen = HashSet::new();
            for stored in self.messages {
                let message = stored.value;
                if !seen.insert(message) {
                    facts.report("duplicate", message, What::Duplicate { message, read });
                }
            }
        }
        ordered
    }

    /// A read of all branches has each message that was stored before it began, and each one
    /// below its highest seq, unless it may be deleted.
    fn check_all(&self, facts: &mut Facts<'_>, seen_last: &[u64]) {
        let mut present = vec![false; facts.messages.len()];
        for stored in self.messages {
            if let Some(index) = facts.returned(stored) {
                present[index as usize] = true;
            }
        }
        let highest = self.messages.last().map_or(0, |stored| stored.seq);
        for index in (0..).take(present.len()) {
            if present[index as usize] {
                continue;
            }
            let message = facts.message(index);
            let stored = message.stored.at < self.operation.invoked;
            let below = message.seq.is_some_and(|seq| seq < highest);
            let siblings = &facts.append_of(index).messages;
            let torn = siblings.iter().any(|&sibling| present[sibling as usize]);
            if !stored && !below && !torn {
                continue;
            }
            self.absent(facts, index, torn, seen_last);
        }
    }

    /// A read of a path has the parents of its last message, unless they may be deleted.
    fn check_path(&self, facts: &mut Facts<'_>, seen_last: &[u64]) {
        let read = self.which;
        let chain = self.messages.iter().filter_map(|one| facts.returned(one));
        let chain: Vec<Index> = chain.collect();
        for place in (0..chain.len()).rev() {
            let before = place.checked_sub(1).map(|before| chain[before]);
            let mut parent = facts.message(chain[place]).parent;
            // The walk ends at a parent that no answer shows.
            while let Some(found) = parent
                && found != before
            {
                let Some(found) = found else {
                    let message = facts.message(chain[place]).value;
                    facts.report("wrong path", message, What::WrongPath { message, read });
                    return;
                };
                if !self.absent(facts, found, false, seen_last) {
                    return;
                }
                parent = facts.message(found).parent;
            }
        }
        let Call::ReadPath { head } = self.operation.call else {
            return;
        };
        match head {
            Some(head) => {
                let last = self.messages.last();
                if last.is_none_or(|last| last.id != head)
                    && let Some(index) = facts.named(head)
                {
                    let message = facts.message(index).value;
                    facts.report("wrong path", message, What::WrongPath { message, read });
                }
            }
            None => self.check_end(facts, &chain),
        }
    }

    /// The path to the thread's head ends with the last message of a request, unless somebody
    /// set the head to another one or deleted a message that followed it.
    fn check_end(&self, facts: &mut Facts<'_>, chain: &[Index]) {
        let Some(&last) = chain.last() else { return };
        let append = facts.append_of(last);
        let after = append.messages.iter().skip_while(|&&index| index != last);
        let Some(&next) = after.clone().nth(1) else {
            return;
        };
        let end = self.operation.end();
        let id = facts.message(last).id;
        let chosen = facts.operations.iter().any(|(_, other)| {
            other.invoked < end
                && other.may_have_happened()
                && matches!(other.call, Call::SetHead { message, .. } if Some(message) == id)
        });
        let left = facts.messages.iter().any(|message| {
            let follows = message.parent.is_none_or(|parent| parent == Some(last));
            follows && message.deleting < end
        });
        if !chosen && !left {
            let (request, message) = (append.first, facts.message(next).value);
            let read = self.which;
            let what = What::Torn {
                request,
                message,
                read,
            };
            facts.report("torn", message, what);
        }
    }

    /// Notes that a message is absent that has to be there unless it is deleted; false if it
    /// cannot be deleted.
    fn absent(&self, facts: &mut Facts<'_>, index: Index, torn: bool, seen_last: &[u64]) -> bool {
        let read = self.which;
        let end = self.operation.end();
        if facts.may_be_gone(index, end) {
            facts.messages[index as usize].gone.lower(end, read);
            return true;
        }
        let (message, stored) = (facts.message(index).value, facts.message(index).stored.by);
        let (kind, what) = if torn {
            let request = facts.append_of(index).first;
            let what = What::Torn {
                request,
                message,
                read,
            };
            ("torn", what)
        } else if seen_last[index as usize] > self.operation.invoked {
            let what = What::Stale {
                message,
                stored,
                read,
            };
            ("stale", what)
        } else {
            let what = What::Lost {
                message,
                stored,
                read,
            };
            ("lost", what)
        };
        facts.report(kind, message, what);
        false
    }
}

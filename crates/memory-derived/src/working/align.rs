//! Aligns a caller's messages with the working set. Pure.
//!
//! A working set is the newest messages on the path to the head. The messages that a
//! caller puts in its place begin with a run of these. If the run ends with the newest
//! one, the others follow it. Otherwise the caller has changed, inserted or removed a
//! message, and what comes after the run starts a new branch.

use std::collections::HashMap;

use memory_contract::{MessageId, message::Role};
use time::OffsetDateTime;

/// A message that a caller puts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PutMessage<'a> {
    /// Its id, where the caller gave one.
    pub(super) id: Option<MessageId>,
    pub(super) role: Role,
    pub(super) name: &'a str,
    /// The user who said it, as the message names it.
    pub(super) said_by: &'a str,
    /// The SHA-256 of its parts.
    pub(super) digest: Vec<u8>,
    /// When it was said, if the caller set that.
    pub(super) said: Option<OffsetDateTime>,
}

/// A message of the working set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredMessage {
    pub(super) id: MessageId,
    pub(super) depth: i32,
    pub(super) role: Role,
    pub(super) name: String,
    pub(super) said_by: String,
    pub(super) digest: Vec<u8>,
    pub(super) said: OffsetDateTime,
}

/// A message of the thread that a caller names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamedMessage {
    pub(super) depth: i32,
    /// Whether it is on the path to the head.
    pub(super) on_path: bool,
}

/// The newest messages of the working set, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WorkingSet {
    pub(super) messages: Vec<StoredMessage>,
    /// The depth down to which a summary covers the path.
    pub(super) covered: i32,
}

/// How a caller's messages align with the working set. Numbers are places in the
/// request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Alignment {
    /// The messages that a summary covers.
    pub(super) covered: Vec<usize>,
    /// The depth of the first one that stays; `None` if none does.
    pub(super) keep_from: Option<i32>,
    /// The depth at which a branch starts, below the message before it; `None`: the new
    /// messages follow the head.
    pub(super) branch_at: Option<i32>,
    /// The messages to append. Where they start a branch, the thread may have their ids already.
    pub(super) new: Vec<usize>,
}

/// Aligns a caller's messages with the working set, keeping as many as possible.
pub(super) fn align(
    put: &[PutMessage<'_>],
    set: &WorkingSet,
    known: &HashMap<MessageId, NamedMessage>,
) -> Alignment {
    let known_of = |one: &PutMessage<'_>| one.id.and_then(|id| known.get(&id)).copied();
    let on_path = |one: &PutMessage<'_>| known_of(one).filter(|known| known.on_path);
    let is_covered =
        |one: &PutMessage<'_>| on_path(one).is_some_and(|known| known.depth <= set.covered);
    let covered = put.iter().take_while(|one| is_covered(one)).count();
    let rest: Vec<usize> = (covered..put.len()).collect();
    let covered: Vec<usize> = (0..covered).collect();
    let stored = &set.messages;
    let is_elsewhere = |one: &PutMessage<'_>| {
        known_of(one).is_some_and(|known| !known.on_path || known.depth <= set.covered)
    };
    let same =
        |index: usize, one: &StoredMessage| matches(&put[index], one, is_elsewhere(&put[index]));
    // How many messages of the request equal the stored ones from a place on.
    let run = |from: usize| {
        let pairs = stored[from..].iter().zip(&rest);
        pairs.take_while(|(one, index)| same(**index, one)).count()
    };
    let is_new = |index: &usize| known_of(&put[*index]).is_none();

    // From the longest run that stays to the shortest.
    let fits = (0..stored.len()).find(|from| {
        let stays = stored.len() - from;
        run(*from) == stays && rest[stays..].iter().all(is_new)
    });
    if let Some(from) = fits {
        return Alignment {
            covered,
            keep_from: Some(stored[from].depth),
            branch_at: None,
            new: rest[stored.len() - from..].to_vec(),
        };
    }
    let longest = (0..stored.len()).map(|from| (run(from), from)).max();
    if let Some((stays @ 1.., from)) = longest {
        return Alignment {
            covered,
            keep_from: Some(stored[from].depth),
            branch_at: Some(stored[from + stays - 1].depth + 1),
            new: rest[stays..].to_vec(),
        };
    }
    // The first message of the request that the path has, changed or not, says where the
    // first one belongs.
    let place_of = |index: usize| {
        let named = on_path(&put[index]).map(|known| known.depth);
        let alike = || {
            stored
                .iter()
                .find(|one| same(index, one))
                .map(|one| one.depth)
        };
        named.filter(|depth| *depth > set.covered).or_else(alike)
    };
    let branch_at = (0..).zip(&rest).find_map(|(before, index)| {
        let depth: i32 = place_of(*index)?;
        Some((depth - before).max(set.covered + 1))
    });
    Alignment {
        covered,
        keep_from: branch_at,
        branch_at,
        new: rest,
    }
}

/// Whether a message of the request is the stored one. An id in the working set names its
/// message alone; one elsewhere in the thread also names what replaced that message.
fn matches(put: &PutMessage<'_>, stored: &StoredMessage, is_elsewhere: bool) -> bool {
    let alike = put.role == stored.role
        && put.name == stored.name
        && put.said_by == stored.said_by
        && put.digest == stored.digest;
    match put.id {
        Some(id) if id == stored.id => alike,
        Some(_) if !is_elsewhere => false,
        _ => alike && put.said.is_none_or(|said| said == stored.said),
    }
}

#[cfg(test)]
mod tests;

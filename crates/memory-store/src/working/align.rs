//! Aligns a caller's messages with the working set. Pure.
//!
//! A working set is the newest messages on the path to the head. The messages that a
//! caller puts in its place begin with a run of these, up to the newest one, followed by
//! new messages.

use std::collections::HashMap;

use memory_contract::{MessageId, Role};
use time::OffsetDateTime;

/// A message that a caller puts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    /// Its id, where the caller gave one.
    pub(super) id: Option<MessageId>,
    pub(super) role: Role,
    pub(super) name: &'a str,
    /// The SHA-256 of its parts.
    pub(super) digest: Vec<u8>,
    /// When it was said, if the caller set that.
    pub(super) said: Option<OffsetDateTime>,
}

/// A message of the working set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) id: MessageId,
    pub(super) depth: i32,
    pub(super) role: Role,
    pub(super) name: String,
    pub(super) digest: Vec<u8>,
    pub(super) said: OffsetDateTime,
}

/// A message of the thread that a caller names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) depth: i32,
    /// Whether it is on the path to the head.
    pub(super) on_path: bool,
}

/// The newest messages of the working set, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WorkingSet {
    pub(super) messages: Vec<Standing>,
    /// Whether these are all.
    pub(super) whole: bool,
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
    /// The messages to append.
    pub(super) new: Vec<usize>,
}

/// A message of the request at an invalid position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// Its position in the request, from 0.
    pub(super) index: usize,
    /// What is wrong.
    pub(super) problem: &'static str,
}

const OTHER_PATH: &str = "must be on the way to the thread's head";
const ORDER: &str = "must not follow messages that are newer";
const GAP: &str = "must follow the message that it follows in the thread: \
    one in the middle is taken out with DeleteMessage";
const MISSING: &str = "must be followed by the newer messages of the thread, \
    or be left out with them: one in the middle is taken out with DeleteMessage";
const NEW_BEFORE: &str = "is new and must not come before messages that the thread has already";

/// Aligns a caller's messages with the working set, keeping as many as possible.
pub(super) fn align(
    asked: &[Asked<'_>],
    set: &WorkingSet,
    known: &HashMap<MessageId, Known>,
) -> Result<Alignment, Misfit> {
    let known_of = |one: &Asked<'_>| one.id.and_then(|id| known.get(&id)).copied();
    let mut covered = Vec::new();
    let mut rest = Vec::new();
    for (index, one) in asked.iter().enumerate() {
        match known_of(one) {
            Some(Known { on_path: false, .. }) => {
                let problem = OTHER_PATH;
                return Err(Misfit { index, problem });
            }
            Some(Known { depth, .. }) if depth <= set.covered => {
                if !rest.is_empty() {
                    let problem = ORDER;
                    return Err(Misfit { index, problem });
                }
                covered.push(index);
            }
            _ => rest.push(index),
        }
    }
    let standing = &set.messages;
    let is_new = |index: &usize| known_of(&asked[*index]).is_none();
    // From the longest run that stays to the shortest.
    let fits = (0..standing.len()).find(|from| {
        let stays = standing.len() - from;
        rest.len() >= stays
            && standing[*from..]
                .iter()
                .zip(&rest)
                .all(|(one, index)| matches(&asked[*index], one))
            && rest[stays..].iter().all(is_new)
    });
    if let Some(from) = fits {
        let new = rest.split_off(standing.len() - from);
        return Ok(Alignment {
            covered,
            keep_from: Some(standing[from].depth),
            new,
        });
    }
    let begins_alike = set.whole
        && rest
            .first()
            .zip(standing.first())
            .is_some_and(|(index, one)| matches(&asked[*index], one));
    if begins_alike || !rest.iter().all(is_new) {
        return Err(misfit(asked, &rest, standing, known_of));
    }
    Ok(Alignment {
        covered,
        keep_from: None,
        new: rest,
    })
}

/// The first message that prevents an alignment with the working set. The first one
/// that the thread has determines where they should start.
fn misfit(
    asked: &[Asked<'_>],
    rest: &[usize],
    standing: &[Standing],
    known_of: impl Fn(&Asked<'_>) -> Option<Known>,
) -> Misfit {
    let place_of = |index: usize| {
        let id = asked[index].id;
        standing.iter().position(|one| Some(one.id) == id)
    };
    let anchor = rest
        .iter()
        .position(|index| known_of(&asked[*index]).is_some());
    let from = match anchor {
        None => 0,
        Some(at) => match place_of(rest[at]) {
            // Older than all that one request can have.
            None => {
                let (index, problem) = (rest[at], MISSING);
                return Misfit { index, problem };
            }
            Some(place) if place < at => {
                let (index, problem) = (rest[0], NEW_BEFORE);
                return Misfit { index, problem };
            }
            Some(place) => place - at,
        },
    };
    let mut last = rest[0];
    for (place, index) in rest.iter().enumerate() {
        let fits = match standing.get(from + place) {
            Some(one) => matches(&asked[*index], one),
            None => known_of(&asked[*index]).is_none(),
        };
        if !fits {
            let problem = match (known_of(&asked[*index]), place) {
                (Some(_), _) if place_of(*index).is_some_and(|at| at > from + place) => GAP,
                (Some(_), _) => ORDER,
                (None, 0) => NEW_BEFORE,
                // A new message is where the thread has another one.
                (None, _) => {
                    let (index, problem) = (last, MISSING);
                    return Misfit { index, problem };
                }
            };
            let index = *index;
            return Misfit { index, problem };
        }
        last = *index;
    }
    let (index, problem) = (last, MISSING);
    Misfit { index, problem }
}

/// Whether a message of the request is the stored one. A stored message that is named by
/// its id keeps its content.
fn matches(asked: &Asked<'_>, standing: &Standing) -> bool {
    match asked.id {
        Some(id) => id == standing.id,
        None => {
            asked.role == standing.role
                && asked.name == standing.name
                && asked.digest == standing.digest
                && asked.said.is_none_or(|said| said == standing.said)
        }
    }
}

#[cfg(test)]
mod tests;

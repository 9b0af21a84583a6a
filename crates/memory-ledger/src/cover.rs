//! Finds the texts that cover a path.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::row::{DistillKind, Entry, LedgerState};
use crate::way::Way;

/// A text that covers messages of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Covering {
    pub(crate) number: i64,
    /// The covered messages are deeper than this,
    pub(crate) after_depth: i32,
    /// and not deeper than this.
    pub(crate) to_depth: i32,
    /// The state of the messages that it covers.
    pub(crate) state: LedgerState,
}

impl Covering {
    pub(crate) fn covers(&self, depth: i32) -> bool {
        self.after_depth < depth && depth <= self.to_depth
    }
}

/// The derived texts of a thread, by kind and number.
#[derive(Clone, Debug)]
pub(crate) struct Entries(BTreeMap<(DistillKind, i64), Entry>);

impl Entries {
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        let entries = entries.into_iter();
        Self(
            entries
                .map(|entry| ((entry.kind, entry.number), entry))
                .collect(),
        )
    }

    pub(crate) fn get(&self, kind: DistillKind, number: i64) -> Option<&Entry> {
        self.0.get(&(kind, number))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Entry> {
        self.0.values()
    }

    /// The texts that cover a path, the deepest first.
    pub(crate) fn coverings(&self, kind: DistillKind, way: &Way) -> Vec<Covering> {
        match kind {
            DistillKind::Summary => self.chain(way),
            DistillKind::Observation => self
                .observations(way)
                .into_iter()
                .filter(|one| one.active)
                .map(|one| covering(one, LedgerState::Observed))
                .collect(),
        }
    }

    /// The summaries from the one that reaches deepest back to the first.
    fn chain(&self, way: &Way) -> Vec<Covering> {
        let mut next = self
            .of_kind(DistillKind::Summary)
            .filter(|one| way.has(one.end))
            .max_by_key(|one| (one.end.depth, one.number));
        let mut chain = Vec::new();
        while let Some(one) = next {
            let state = match one.sets_aside {
                true => LedgerState::SetAside,
                false => LedgerState::Summarized,
            };
            chain.push(covering(one, state));
            next = one
                .based_on
                .filter(|number| *number < one.number)
                .and_then(|number| self.get(DistillKind::Summary, number));
        }
        chain
    }

    /// The observations that count on a path, including those that are only ready, the
    /// deepest first.
    fn observations<'a>(&'a self, way: &Way) -> Vec<&'a Entry> {
        let mut all: Vec<&Entry> = self
            .of_kind(DistillKind::Observation)
            .filter(|one| one.reflects.is_empty() && way.has(one.end))
            .collect();
        all.sort_by_key(|one| Reverse((one.end.depth, one.number)));
        let mut counting = Vec::<&Entry>::new();
        for one in all {
            // They end ever less deep, so only the last one can be in the way.
            let reached = counting.last().map_or(i32::MAX, |last| last.after_depth);
            if one.end.depth <= reached {
                counting.push(one);
            }
        }
        counting
    }

    pub(crate) fn of_kind(&self, kind: DistillKind) -> impl Iterator<Item = &Entry> {
        self.all().filter(move |one| one.kind == kind)
    }
}

fn covering(entry: &Entry, state: LedgerState) -> Covering {
    Covering {
        number: entry.number,
        after_depth: entry.after_depth,
        to_depth: entry.end.depth,
        state,
    }
}

//! Paths in the tree of messages.

use crate::row::Place;

/// A part of a branch that belongs to a path: `above < depth ≤ depth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BranchSpan {
    pub(crate) branch: i32,
    pub(crate) above: i32,
    pub(crate) depth: i32,
}

/// From a root to a place, the oldest piece first.
#[derive(Clone, Debug)]
pub(crate) struct Way(pub(crate) Vec<BranchSpan>);

impl Way {
    pub(crate) fn has(&self, place: Place) -> bool {
        place.branch == 0
            || self
                .0
                .iter()
                .any(|piece| piece.branch == place.branch && place.depth <= piece.depth)
    }
}

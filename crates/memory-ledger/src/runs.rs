//! Messages as runs: neighbors on a branch that no bound separates.

use std::collections::{BTreeMap, BTreeSet};

use memory_contract::MessageId;

use crate::row::LedgerRow;
use crate::way::BranchSpan;

/// Messages of a branch, one below the other, all readable or all erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The depth of the first message,
    pub(crate) first: i32,
    /// and that of the last.
    pub(crate) last: i32,
    pub(crate) first_seq: i64,
    pub(crate) last_seq: i64,
    pub(crate) first_id: MessageId,
    pub(crate) last_id: MessageId,
    pub(crate) count: i64,
    pub(crate) tokens: i64,
    pub(crate) erased: bool,
}

/// The runs of a thread, by branch. No run crosses a bound, so all messages of a run are in
/// one state on every path.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    /// Depths after which a text begins or ends.
    cuts: BTreeSet<i32>,
    /// Depths of branches after which another one leaves.
    forks: BTreeSet<(i32, i32)>,
    runs: BTreeMap<i32, Vec<Run>>,
}

impl Runs {
    pub(crate) fn new(cuts: BTreeSet<i32>, forks: BTreeSet<(i32, i32)>) -> Self {
        Self {
            cuts,
            forks,
            runs: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, row: &LedgerRow) {
        let LedgerRow {
            seq,
            id,
            place,
            tokens,
            erased,
        } = *row;
        let runs = self.runs.entry(place.branch).or_default();
        if let Some(run) = runs.last_mut()
            && run.erased == erased
            && run.last.checked_add(1) == Some(place.depth)
            && !self.cuts.contains(&run.last)
            && !self.forks.contains(&(place.branch, run.last))
        {
            run.last = place.depth;
            run.last_seq = seq;
            run.last_id = id;
            run.count += 1;
            run.tokens += i64::from(tokens);
            return;
        }
        runs.push(Run {
            first: place.depth,
            last: place.depth,
            first_seq: seq,
            last_seq: seq,
            first_id: id,
            last_id: id,
            count: 1,
            tokens: i64::from(tokens),
            erased,
        });
    }

    /// The runs of a part of a path, in order of depth.
    pub(crate) fn of(&self, piece: &BranchSpan) -> Vec<&Run> {
        let runs = self.runs.get(&piece.branch).into_iter().flatten();
        let mut found: Vec<&Run> = runs
            .filter(|run| run.first > piece.above && run.last <= piece.depth)
            .collect();
        // A place that was free again has an erased message too.
        found.sort_by_key(|run| (run.first, run.first_seq));
        found
    }

    /// The run of a branch that begins least deep.
    pub(crate) fn shallowest(&self, branch: i32) -> Option<&Run> {
        self.runs.get(&branch)?.iter().min_by_key(|run| run.first)
    }

    /// The deepest place of a branch, erased messages included.
    pub(crate) fn deepest(&self, branch: i32) -> Option<i32> {
        self.runs.get(&branch)?.iter().map(|run| run.last).max()
    }

    /// The newest message of a branch that can be read.
    pub(crate) fn newest(&self, branch: i32) -> Option<MessageId> {
        let readable = self.runs.get(&branch)?.iter().filter(|run| !run.erased);
        readable.max_by_key(|run| run.last).map(|run| run.last_id)
    }

    /// Whether the message at a place exists and can be read.
    pub(crate) fn reads(&self, branch: i32, depth: i32) -> bool {
        let runs = self.runs.get(&branch).into_iter().flatten();
        runs.filter(|run| !run.erased)
            .any(|run| run.first <= depth && depth <= run.last)
    }
}

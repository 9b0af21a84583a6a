//! A ledger: counts and ranges of messages by state.

use std::collections::{BTreeMap, BTreeSet};

use crate::cover::Entries;
use crate::row::{
    Branching, DistillKind, Entry, LedgerCount, LedgerRange, LedgerRow, LedgerState, LedgerThread,
    Place,
};
use crate::runs::{Run, Runs};
use crate::way::{BranchSpan, Way};

/// Reported ranges of missing messages, at most.
const MISSING: usize = 100;

/// The ledger of a thread. Its size grows with the derived texts and branches, not with
/// the messages.
#[derive(Clone, Debug)]
pub struct Ledger {
    pub(crate) branches: BTreeMap<i32, Branching>,
    pub(crate) entries: Entries,
    pub(crate) runs: Runs,
    pub(crate) thread: LedgerThread,
    pub(crate) seen: Seen,
}

/// Values of the messages' rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The seq that was added last; 0 before the first.
    pub(crate) last_seq: i64,
    pub(crate) readable: i64,
    /// The first ones of the seqs that are missing, from and to.
    pub(crate) missing: Vec<(i64, i64)>,
}

impl Seen {
    fn add(&mut self, row: &LedgerRow) {
        // A thread that was cleared continues its seqs.
        let goes_on = self.last_seq == 0 || self.last_seq + 1 == row.seq;
        if !goes_on && self.missing.len() < MISSING {
            self.missing.push((self.last_seq + 1, row.seq - 1));
        }
        self.last_seq = row.seq;
        self.readable += i64::from(!row.erased);
    }
}

impl Ledger {
    /// A ledger without messages.
    pub fn new(branches: Vec<Branching>, entries: Vec<Entry>, thread: LedgerThread) -> Self {
        let mut cuts: BTreeSet<i32> = BTreeSet::from([thread.head.depth]);
        for entry in &entries {
            cuts.extend([entry.after_depth, entry.end.depth]);
        }
        let forks = branches.iter().map(|one| (one.parent, one.fork_depth));
        Self {
            runs: Runs::new(cuts, forks.collect()),
            branches: branches.iter().map(|one| (one.branch, *one)).collect(),
            entries: Entries::new(entries),
            thread,
            seen: Seen::default(),
        }
    }

    /// Adds a message; the one with the lowest seq comes first.
    pub fn add(&mut self, row: &LedgerRow) {
        self.seen.add(row);
        self.runs.add(row);
    }

    /// The ledgers of the newest branches, at most `limit`, in order of branch and
    /// kind.
    pub fn counts(&self, limit: usize) -> Vec<LedgerCount> {
        let newest = self.branches.keys().rev().take(limit);
        let mut branches: Vec<i32> = newest.copied().collect();
        branches.reverse();
        let both = [DistillKind::Summary, DistillKind::Observation];
        branches
            .into_iter()
            .flat_map(|branch| both.map(|kind| self.count(kind, branch)))
            .collect()
    }

    /// The messages on the path to the head as runs in one state, the oldest first.
    pub fn ranges(&self, kind: DistillKind) -> Vec<LedgerRange> {
        let way = self.way(self.thread.head);
        let mut ranges: Vec<LedgerRange> = Vec::new();
        for (run, state, number) in self.states(kind, &way) {
            match ranges.last_mut() {
                Some(last) if (last.state, last.number) == (state, number) => {
                    last.last = run.last_id;
                    last.messages += run.count;
                    last.tokens += run.tokens;
                }
                _ => ranges.push(LedgerRange {
                    state,
                    number,
                    first: run.first_id,
                    last: run.last_id,
                    messages: run.count,
                    tokens: run.tokens,
                }),
            }
        }
        ranges
    }

    fn count(&self, kind: DistillKind, branch: i32) -> LedgerCount {
        let mut count = LedgerCount {
            kind,
            branch,
            head: self.runs.newest(branch),
            active: self.thread.head.branch == branch,
            messages: 0,
            raw: 0,
            summarized: 0,
            observed: 0,
            erased: 0,
            set_aside: 0,
        };
        for (run, state, _) in self.states(kind, &self.way(self.end_of(branch))) {
            count.messages += run.count;
            *match state {
                LedgerState::Raw => &mut count.raw,
                LedgerState::Summarized => &mut count.summarized,
                LedgerState::Observed => &mut count.observed,
                LedgerState::Erased => &mut count.erased,
                LedgerState::SetAside => &mut count.set_aside,
            } += run.count;
        }
        count
    }

    /// The runs on a path with their state and the text that covers them, the oldest first.
    fn states(&self, kind: DistillKind, way: &Way) -> Vec<(&Run, LedgerState, i64)> {
        let coverings = self.entries.coverings(kind, way);
        way.0
            .iter()
            .flat_map(|piece| self.runs.of(piece))
            .map(|run| {
                if run.erased {
                    return (run, LedgerState::Erased, 0);
                }
                // They begin ever less deep.
                let at = coverings.partition_point(|one| one.after_depth >= run.last);
                let covering = coverings.get(at).filter(|one| one.covers(run.last));
                covering.map_or((run, LedgerState::Raw, 0), |one| {
                    (run, one.state, one.number)
                })
            })
            .collect()
    }

    /// The last place of a branch, erased messages included.
    fn end_of(&self, branch: i32) -> Place {
        let fork = self.branches.get(&branch).map_or(0, |one| one.fork_depth);
        Place {
            branch,
            depth: self.runs.deepest(branch).unwrap_or(fork),
        }
    }

    pub(crate) fn way(&self, place: Place) -> Way {
        let mut pieces = Vec::new();
        let Place {
            mut branch,
            mut depth,
        } = place;
        while let Some(one) = self.branches.get(&branch) {
            pieces.push(BranchSpan {
                branch,
                above: one.fork_depth,
                depth,
            });
            // A branch has a higher number than the one that it leaves.
            if one.parent >= branch {
                break;
            }
            branch = one.parent;
            depth = depth.min(one.fork_depth);
        }
        pieces.reverse();
        Way(pieces)
    }
}

//! The ledger of a thread: the state of each message, recomputed from its rows. Pure.
//!
//! For each kind of derived text, every message on the path to a head is in one
//! state. Which text covers it follows the rules of `recollect.distill_state`, but is
//! computed independently: a check that used the function would prove nothing.

mod cover;
mod faults;
mod runs;

use std::collections::{BTreeMap, BTreeSet};

use memory_contract::MessageId;

use runs::{Run, Runs};
use serde::Deserialize;

/// Reported ranges of missing messages, at most.
const MISSING: usize = 100;

/// The memory that derived text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DistillKind {
    /// The summary of working memory.
    Summary,
    /// Observational memory: observations and reflections.
    Observation,
}

/// A place in the tree of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The branch; 0 before the first message.
    pub branch: i32,
    /// Messages from the root to this one, itself included.
    pub depth: i32,
}

/// The place at which a branch forks from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branching {
    /// The forked branch, from 1.
    pub branch: i32,
    /// The branch that it forks from; 0 for a branch that starts with a root.
    pub parent: i32,
    /// The depth of the message that it forks at; 0 for a root.
    pub fork_depth: i32,
}

/// A derived text, without the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The memory that it belongs to.
    pub kind: DistillKind,
    /// The order of making, from 1 for each thread and kind.
    pub number: i64,
    /// The last message that it covers.
    pub end: Place,
    /// It covers messages deeper than this.
    pub after_depth: i32,
    /// Whether the text is empty.
    pub empty: bool,
    /// Of a summary: the one that it follows.
    pub based_on: Option<i64>,
    /// Of a summary: the messages were set aside.
    pub sets_aside: bool,
    /// Of an observation: it is in use.
    pub active: bool,
    /// Of a reflection: the numbers of what it condenses; empty for others.
    pub reflects: Vec<i64>,
}

/// A message, without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerRow {
    /// Its position in the thread, from 1.
    pub seq: i64,
    /// Unique within the tenant.
    pub id: MessageId,
    /// Its branch and depth.
    pub place: Place,
    /// Its size in tokens; 0 if it was erased.
    pub tokens: i32,
    /// Whether it was erased.
    pub erased: bool,
}

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LedgerState {
    /// No text covers it: it is in the working memory in full.
    Raw,
    /// A summary covers it.
    Summarized,
    /// An observation covers it.
    Observed,
    /// Its content was erased.
    Erased,
    /// It was set aside: taken out of the working memory without being summarized.
    SetAside,
}

/// How many messages of a branch, from the root to its end, are in each state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerCount {
    /// The kind of derived text.
    pub kind: DistillKind,
    /// The branch, from 1.
    pub branch: i32,
    /// The newest message of the branch that can be read.
    pub head: Option<MessageId>,
    /// Whether the thread's head is on the branch.
    pub active: bool,
    /// Messages in all states.
    pub messages: i64,
    /// Messages in full.
    pub raw: i64,
    /// Messages that a summary covers.
    pub summarized: i64,
    /// Messages that an observation covers.
    pub observed: i64,
    /// Erased messages.
    pub erased: i64,
    /// Messages that were set aside.
    pub set_aside: i64,
}

/// A run of messages in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerRange {
    /// The state of all messages of the run.
    pub state: LedgerState,
    /// The text that covers them; 0 for none.
    pub number: i64,
    /// The oldest message of the run.
    pub first: MessageId,
    /// The newest message of the run.
    pub last: MessageId,
    /// The number of messages, from 1.
    pub messages: i64,
    /// Their tokens of `o200k_base`.
    pub tokens: i64,
}

/// An inconsistency.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerFault {
    /// The kind of derived text; `None` for a fault of the messages themselves.
    pub kind: Option<DistillKind>,
    /// The branch; 0 where none is known.
    pub branch: i32,
    /// The text concerned; 0 for none.
    pub number: i64,
    /// The seq of the first message concerned; 0 if no such message exists.
    pub first_seq: i64,
    /// The seq of the last message concerned.
    pub last_seq: i64,
    /// What is wrong, in words.
    pub why: String,
}

/// The ledger of a thread. Its size grows with the derived texts and branches, not with
/// the messages.
#[derive(Clone, Debug)]
pub struct Ledger {
    branches: BTreeMap<i32, Branching>,
    entries: BTreeMap<(DistillKind, i64), Entry>,
    runs: Runs,
    thread: LedgerThread,
    seen: Seen,
}

/// Values of the thread's row, to compare with its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerThread {
    /// The seq given out last; 0 before the first.
    pub last_seq: i64,
    /// Messages that can be read.
    pub message_count: i64,
    /// Its head, or the one asked for; branch and depth 0 in an empty thread.
    pub head: Place,
}

/// Values of the messages' rows.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The seq that was added last; 0 before the first.
    last_seq: i64,
    readable: i64,
    /// The first ones of the seqs that are missing, from and to.
    missing: Vec<(i64, i64)>,
}

/// A part of a branch that belongs to a path: `above < depth ≤ depth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BranchSpan {
    branch: i32,
    above: i32,
    depth: i32,
}

/// From a root to a place, the oldest piece first.
#[derive(Clone, Debug)]
struct Way(Vec<BranchSpan>);

impl Way {
    fn has(&self, place: Place) -> bool {
        place.branch == 0
            || self
                .0
                .iter()
                .any(|piece| piece.branch == place.branch && place.depth <= piece.depth)
    }
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
            entries: entries
                .into_iter()
                .map(|entry| ((entry.kind, entry.number), entry))
                .collect(),
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
        let coverings = self.coverings(kind, way);
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

    fn way(&self, place: Place) -> Way {
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

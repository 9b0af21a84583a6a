//! Consistency checks of a ledger.

use std::collections::BTreeSet;

use crate::ledger::Ledger;
use crate::row::{DistillKind, Entry, LedgerFault};
use crate::way::Way;

impl Ledger {
    /// The faults, at most `limit`, ordered by kind and branch.
    pub fn faults(&self, limit: usize) -> Vec<LedgerFault> {
        let mut faults = self.lost();
        for entry in self.entries.all() {
            let way = self.way(entry.end);
            let mut found = self.misplaced(entry, &way);
            match entry.kind {
                DistillKind::Summary => found.extend(self.unlinked(entry, &way)),
                DistillKind::Observation => {
                    found.extend(self.unfounded(entry, &way));
                    found.extend(self.doubled(entry, &way));
                }
            }
            faults.extend(found.into_iter().map(|fault| fault.of(self, entry, &way)));
        }
        faults.into_iter().take(limit).collect()
    }

    /// Missing messages. Erased messages keep their row.
    fn lost(&self) -> BTreeSet<LedgerFault> {
        let fault = |branch, (first_seq, last_seq), why: String| LedgerFault {
            kind: None,
            branch,
            number: 0,
            first_seq,
            last_seq,
            why,
        };
        let gone = "messages are gone, and were not erased";
        let mut faults: BTreeSet<_> = self
            .seen
            .missing
            .iter()
            .map(|seqs| fault(0, *seqs, gone.to_owned()))
            .collect();
        let (last, thread) = (self.seen.last_seq, self.thread);
        // A thread that was cleared has no rows.
        if last > 0 && last < thread.last_seq {
            faults.insert(fault(0, (last + 1, thread.last_seq), gone.to_owned()));
        }
        for branch in self.branches.values() {
            let first = self.runs.shallowest(branch.branch);
            if let Some(run) = first
                && run.first > branch.fork_depth.saturating_add(1)
            {
                let seqs = (run.first_seq, run.first_seq);
                let why = "the messages before it on its branch are gone";
                faults.insert(fault(branch.branch, seqs, why.to_owned()));
            }
        }
        if self.seen.readable != thread.message_count {
            let why = format!(
                "{} messages can be read, and the thread counts {}",
                self.seen.readable, thread.message_count
            );
            faults.insert(fault(0, (0, 0), why));
        }
        faults
    }

    /// Checks that the messages that a text covers exist.
    fn misplaced(&self, entry: &Entry, way: &Way) -> Vec<Found> {
        let (after, to) = (entry.after_depth, entry.end.depth);
        let mut found = Vec::new();
        if after > to || after < 0 || (entry.end.branch == 0) != (to == 0) {
            found.push(Found::new((to, after), "it ends before it begins"));
        }
        if entry.end.branch > 0 && !self.runs.reads(entry.end.branch, to) {
            found.push(Found::new(
                (to - 1, to),
                "it ends at a message that is not there",
            ));
        } else if after < to && self.is_open(way, after, to) {
            found.push(Found::new(
                (after, to),
                "it covers a message that is not there",
            ));
        }
        let needs_text = match entry.kind {
            DistillKind::Summary => after < to && !entry.sets_aside,
            DistillKind::Observation => true,
        };
        if entry.empty && needs_text {
            found.push(Found::new((after, to), "its text is empty"));
        }
        if !entry.reflects.is_empty() && after != to {
            found.push(Found::new((after, to), "a reflection covers messages"));
        }
        found
    }

    /// Whether a place on a path has no row.
    fn is_open(&self, way: &Way, after: i32, to: i32) -> bool {
        let mut reached = after;
        for piece in &way.0 {
            for run in self.runs.of(piece) {
                if run.last > after && run.first <= to {
                    if run.first > reached.saturating_add(1) {
                        return true;
                    }
                    reached = reached.max(run.last);
                }
            }
        }
        reached < to
    }

    /// Checks that a summary begins where the one before it ends.
    fn unlinked(&self, entry: &Entry, way: &Way) -> Option<Found> {
        let (after, to) = (entry.after_depth, entry.end.depth);
        let before = match entry.based_on {
            None => 0,
            Some(number) => {
                let Some(base) = self.entries.get(DistillKind::Summary, number) else {
                    let why = format!("it continues {number}, which is not there");
                    return Some(Found {
                        between: (after, to),
                        why,
                    });
                };
                if number >= entry.number {
                    let why = format!("it continues {number}, which is not older");
                    return Some(Found {
                        between: (after, to),
                        why,
                    });
                }
                if !way.has(base.end) {
                    let why = format!("it continues {number}, which is on another path");
                    return Some(Found {
                        between: (after, to),
                        why,
                    });
                }
                base.end.depth
            }
        };
        match after {
            after if after > before => Some(Found::new(
                (before, after),
                "there is a gap before it: messages that no summary covers",
            )),
            after if after < before => Some(Found::new(
                (after, before),
                "it covers messages that the one before it covers too",
            )),
            _ => None,
        }
    }

    /// Finds older observations that cover the same messages on an observation's own
    /// path, which is a fault. (A newer one may belong to a path that forks in between.)
    fn doubled(&self, entry: &Entry, way: &Way) -> Vec<Found> {
        if !entry.reflects.is_empty() {
            return Vec::new();
        }
        let (after, to) = (entry.after_depth, entry.end.depth);
        self.entries
            .of_kind(DistillKind::Observation)
            .filter(|one| one.number < entry.number && one.reflects.is_empty())
            .filter(|one| one.after_depth < to && after < one.end.depth && way.has(one.end))
            .map(|one| Found {
                between: (after.max(one.after_depth), one.end.depth),
                why: format!("it covers messages that {} covers too", one.number),
            })
            .collect()
    }

    /// Checks that what a reflection condenses exists and is in use.
    fn unfounded(&self, entry: &Entry, way: &Way) -> Vec<Found> {
        let between = (entry.after_depth, entry.end.depth);
        let problem = |number: i64| {
            let Some(one) = self.entries.get(DistillKind::Observation, number) else {
                return Some("which is not there");
            };
            if number >= entry.number {
                Some("which is not older")
            } else if !way.has(one.end) {
                Some("which is on another path")
            } else if !one.active {
                Some("which is not in use")
            } else {
                None
            }
        };
        entry
            .reflects
            .iter()
            .filter_map(|number| {
                problem(*number).map(|problem| Found {
                    between,
                    why: format!("it reflects {number}, {problem}"),
                })
            })
            .collect()
    }
}

/// A fault and the depths that it concerns.
struct Found {
    between: (i32, i32),
    why: String,
}

impl Found {
    fn new(between: (i32, i32), why: &str) -> Self {
        Self {
            between,
            why: why.to_owned(),
        }
    }

    fn of(self, ledger: &Ledger, entry: &Entry, way: &Way) -> LedgerFault {
        let (after, to) = self.between;
        let runs = way.0.iter().flat_map(|piece| ledger.runs.of(piece));
        let concerned = runs.filter(|run| run.last > after && run.first <= to);
        let (mut first_seq, mut last_seq) = (0, 0);
        for run in concerned {
            if first_seq == 0 {
                first_seq = run.first_seq;
            }
            first_seq = first_seq.min(run.first_seq);
            last_seq = last_seq.max(run.last_seq);
        }
        LedgerFault {
            kind: Some(entry.kind),
            branch: entry.end.branch,
            number: entry.number,
            first_seq,
            last_seq,
            why: self.why,
        }
    }
}

//! The seqs of a thread, and what its last read says about operations without an answer.

use super::anomaly::{What, Which};
use super::facts::Facts;
use super::history::Call;
use super::messages::{Append, Index};

/// Checks the seqs of one thread.
pub(super) fn check(facts: &mut Facts<'_>) {
    check_numbers(facts);
    check_overtaking(facts);
}

/// The seqs of a thread are 1, 2, 3, each of one message.
fn check_numbers(facts: &mut Facts<'_>) {
    let mut seqs: Vec<(i64, u64)> = facts
        .messages
        .iter()
        .filter_map(|message| Some((message.seq?, message.value)))
        .collect();
    seqs.sort_unstable();
    // A request without an answer may have seqs that no read shows.
    let unseen: usize = match is_closed(facts) {
        true => 0,
        false => unresolved(facts).map(|append| append.messages.len()).sum(),
    };
    let (mut last, mut gaps) = ((0, 0), Vec::new());
    for (seq, message) in seqs {
        if seq == last.0 {
            let (first, second) = (last.1, message);
            let what = What::SharedSeq { seq, first, second };
            facts.report("shared seq", message, what);
        }
        gaps.extend((last.0 + 1..seq).take(1_000));
        last = (seq, message);
    }
    if gaps.len() > unseen {
        let seq = gaps[0];
        facts.report("gap", 0, What::Gap { seq });
    }
}

/// The requests of which no answer and no read shows whether they were stored.
pub(super) fn unresolved<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = &'f Append> {
    let stored = |index: &Index| facts.message(*index).stored.at < u64::MAX;
    let appends = facts.appends.iter().filter(|append| !append.refused);
    appends.filter(move |append| !append.messages.iter().any(stored))
}

/// Whether the last answered operation is a read of all branches that began after all other
/// answers: it shows what became of the operations without an answer.
pub(super) fn is_closed(facts: &Facts<'_>) -> bool {
    let answered = facts.operations.iter().map(|(_, operation)| *operation);
    let last = answered
        .filter(|operation| operation.end() < u64::MAX)
        .max_by_key(|operation| operation.end());
    let Some(last) = last.filter(|last| last.call == Call::ReadAll && last.answer().is_some())
    else {
        return false;
    };
    let mut others = facts.operations.iter().map(|(_, operation)| *operation);
    others.all(|other| {
        std::ptr::eq(other, last) || other.end() == u64::MAX || other.end() < last.invoked
    })
}

/// A request that begins after another one was acknowledged has higher seqs.
fn check_overtaking(facts: &mut Facts<'_>) {
    let first_seq = |append: &Append| facts.message(append.messages[0]).seq;
    let mut starts = Vec::new();
    let mut ends = Vec::new();
    for append in &facts.appends {
        let Some(seq) = first_seq(append) else {
            continue;
        };
        starts.push((append.from, seq, append.first));
        if append.acknowledged.at < u64::MAX {
            ends.push((append.acknowledged.at, seq, append.acknowledged.by));
        }
    }
    starts.sort_unstable();
    ends.sort_unstable();
    let mut ends = ends.into_iter().peekable();
    let mut highest: Option<(i64, Which)> = None;
    for (from, seq, later) in starts {
        while let Some((_, seq, which)) = ends.next_if(|(at, ..)| *at < from) {
            if highest.is_none_or(|(before, _)| before < seq) {
                highest = Some((seq, which));
            }
        }
        if let Some((_, earlier)) = highest.filter(|(before, _)| *before > seq) {
            facts.report("overtaken", 0, What::Overtaken { earlier, later });
            return;
        }
    }
}

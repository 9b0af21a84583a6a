//! What the candidates of a query say about each other.

use std::collections::HashMap;

use memory_contract::ThreadId;
use memory_index::Candidate;

use super::evidence::Evidence;

/// Share of the next message's score that is added to a message, so that an answer
/// lifts its question.
pub(super) const SUCCESSOR_SHARE: f64 = 0.2;

/// What the candidates say about each other.
pub(super) struct Surroundings {
    /// The candidates by thread, branch and depth.
    places: HashMap<(ThreadId, i32, i32), usize>,
    threads: HashMap<ThreadId, ThreadEvidence>,
    /// The evidence of the strongest thread.
    strongest: f64,
}

#[derive(Clone, Copy, Default)]
pub(super) struct ThreadEvidence {
    /// Sum of squares.
    squares: f64,
    pub(super) best_dense: f64,
    pub(super) best_fused: f64,
}

impl Surroundings {
    pub(super) fn new(evidence: &[Evidence]) -> Self {
        let place = |(place, one): (usize, &Evidence)| (position(&one.candidate, 0), place);
        let mut surroundings = Self {
            places: evidence.iter().enumerate().map(place).collect(),
            threads: HashMap::new(),
            strongest: 0.0,
        };
        for one in evidence {
            let lifted = surroundings.lifted(evidence, one);
            let thread = surroundings.threads.entry(one.candidate.thread);
            let thread = thread.or_default();
            thread.squares += lifted * lifted;
            thread.best_dense = thread.best_dense.max(one.dense_share);
            thread.best_fused = thread.best_fused.max(one.fused);
        }
        let squares = surroundings.threads.values().map(|thread| thread.squares);
        surroundings.strongest = squares.fold(0.0, f64::max).sqrt();
        surroundings
    }

    /// The candidate that is `distance` messages after another one, on the same branch.
    pub(super) fn neighbor<'a>(
        &self,
        evidence: &'a [Evidence],
        one: &Evidence,
        distance: i32,
    ) -> Option<&'a Evidence> {
        evidence.get(self.place(one, distance)?)
    }

    /// The place of [`Surroundings::neighbor`] among the evidence.
    pub(super) fn place(&self, one: &Evidence, distance: i32) -> Option<usize> {
        let place = self.places.get(&position(&one.candidate, distance));
        place.copied()
    }

    /// The weighted sum with a share of the next message's.
    pub(super) fn lifted(&self, evidence: &[Evidence], one: &Evidence) -> f64 {
        let next = self.neighbor(evidence, one, 1);
        one.fused + next.map_or(0.0, |next| SUCCESSOR_SHARE * next.fused)
    }

    pub(super) fn thread(&self, one: &Evidence) -> ThreadEvidence {
        let known = self.threads.get(&one.candidate.thread);
        known.copied().unwrap_or_default()
    }

    /// The evidence of its thread as a share of the strongest thread's.
    pub(super) fn thread_share(&self, one: &Evidence) -> f64 {
        match self.strongest > 0.0 {
            true => self.thread(one).squares.sqrt() / self.strongest,
            false => 0.0,
        }
    }
}

fn position(candidate: &Candidate, distance: i32) -> (ThreadId, i32, i32) {
    let depth = candidate.depth.saturating_add(distance);
    (candidate.thread, candidate.branch, depth)
}

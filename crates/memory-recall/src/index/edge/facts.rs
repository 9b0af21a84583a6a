//! A cache of candidates' payloads. Reading those of hundreds of candidates from the
//! embedded engine takes longer than the search.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use crate::index::Candidate;

/// Points in each of the two generations, about 250 bytes each.
const HALF: usize = 100_000;

/// Recently written or found points, in two generations. A full younger generation
/// replaces the older one; a hit moves a point to the younger.
pub(super) struct Facts {
    halves: Mutex<Halves>,
    half: usize,
}

#[derive(Default)]
struct Halves {
    younger: HashMap<Uuid, Candidate>,
    older: HashMap<Uuid, Candidate>,
}

impl Default for Facts {
    fn default() -> Self {
        Self::new(HALF)
    }
}

impl Facts {
    fn new(half: usize) -> Self {
        Self {
            halves: Mutex::default(),
            half,
        }
    }

    /// The cached candidates, in the order of the points; `None` for a miss.
    pub(super) fn get(&self, points: impl IntoIterator<Item = Uuid>) -> Vec<Option<Candidate>> {
        let mut halves = self.lock();
        points
            .into_iter()
            .map(|point| {
                if let Some(known) = halves.younger.get(&point) {
                    return Some(known.clone());
                }
                let known = halves.older.remove(&point)?;
                self.add(&mut halves, point, known.clone());
                Some(known)
            })
            .collect()
    }

    /// Caches points.
    pub(super) fn put(&self, points: impl IntoIterator<Item = (Uuid, Candidate)>) {
        let mut halves = self.lock();
        for (point, known) in points {
            halves.older.remove(&point);
            self.add(&mut halves, point, known);
        }
    }

    fn add(&self, halves: &mut Halves, point: Uuid, known: Candidate) {
        if halves.younger.len() >= self.half {
            halves.older = std::mem::take(&mut halves.younger);
        }
        halves.younger.insert(point, known);
    }

    fn lock(&self) -> MutexGuard<'_, Halves> {
        self.halves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(seq: i64) -> Candidate {
        Candidate {
            id: Uuid::nil(),
            thread: Uuid::nil().into(),
            seq,
            branch: 1,
            depth: 1,
            name: "".into(),
            question: false,
            short: false,
            said: 0,
            form: None,
            score: 0.0,
        }
    }

    #[test]
    fn the_last_write_counts_and_old_points_go() {
        let facts = Facts::new(2);
        let point = |number| Uuid::from_u128(number);
        facts.put([
            (point(1), candidate(1)),
            (point(2), candidate(2)),
            (point(3), candidate(3)),
        ]);
        facts.put([(point(1), candidate(10))]);
        let seqs = |points: [u128; 3]| -> Vec<Option<i64>> {
            facts
                .get(points.map(point))
                .into_iter()
                .map(|known| known.map(|known| known.seq))
                .collect()
        };
        assert_eq!(seqs([1, 2, 3]), [Some(10), Some(2), Some(3)]);
        facts.put((4..8).map(|number| (point(number), candidate(4))));
        assert_eq!(seqs([1, 2, 3]), [None, None, None]);
    }
}

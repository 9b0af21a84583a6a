//! A cache of candidates. Reading the payloads of the hundreds of points that a search finds
//! takes longer than the search.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use crate::candidate::Candidate;

/// Points in each of the two generations, about 250 bytes each.
const HALF: usize = 100_000;

/// The candidates of recently written or found points, in two generations. A full younger
/// generation replaces the older one; a hit moves a point to the younger. The fields of a
/// candidate do not change while its message exists, so another process may write points. If a
/// message is deleted and another one gets its id, the former fields may rank it until they leave
/// the cache.
pub(super) struct CandidateCache {
    halves: Mutex<Halves>,
    half: usize,
}

#[derive(Default)]
struct Halves {
    younger: HashMap<Uuid, Candidate>,
    older: HashMap<Uuid, Candidate>,
}

impl Default for CandidateCache {
    fn default() -> Self {
        Self::new(HALF)
    }
}

impl CandidateCache {
    fn new(half: usize) -> Self {
        Self {
            halves: Mutex::default(),
            half,
        }
    }

    /// Looks up points, given with their scores.
    pub(super) fn look_up(&self, points: impl IntoIterator<Item = (Uuid, f32)>) -> FoundPoints {
        let mut halves = self.lock();
        let cached = |(point, score)| {
            let mut cached = halves.younger.get(&point).cloned();
            if cached.is_none()
                && let Some(older) = halves.older.remove(&point)
            {
                self.add(&mut halves, point, older.clone());
                cached = Some(older);
            }
            let cached = cached.map(|cached| Candidate { score, ..cached });
            (point, score, cached)
        };
        FoundPoints(points.into_iter().map(cached).collect())
    }

    /// Caches the candidates of points.
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

/// Points that a search found, in its order, with their scores and cached candidates.
pub(super) struct FoundPoints(Vec<(Uuid, f32, Option<Candidate>)>);

impl FoundPoints {
    /// The points that were not cached.
    pub(super) fn missing(&self) -> impl Iterator<Item = Uuid> {
        let missing = self.0.iter().filter(|(_, _, cached)| cached.is_none());
        missing.map(|(point, _, _)| *point)
    }

    /// The candidates, in the order of the points. `read` has the candidates that were not
    /// cached; points without one were deleted since the search, and are left out.
    pub(super) fn complete(self, read: &HashMap<Uuid, Candidate>) -> Vec<Candidate> {
        let complete = |(point, score, cached): (Uuid, f32, Option<Candidate>)| {
            cached.or_else(|| {
                let read = read.get(&point)?.clone();
                Some(Candidate { score, ..read })
            })
        };
        self.0.into_iter().filter_map(complete).collect()
    }
}

#[cfg(test)]
mod tests;

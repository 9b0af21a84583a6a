//! Which candidates are kept.

use super::*;
use crate::packed::of_memory;

fn candidate(seq: i64) -> Candidate {
    Candidate {
        seq,
        ..of_memory(Uuid::nil())
    }
}

#[test]
fn the_last_write_counts_and_old_points_go() {
    let cache = CandidateCache::new(2);
    let point = |number| Uuid::from_u128(number);
    cache.put([
        (point(1), candidate(1)),
        (point(2), candidate(2)),
        (point(3), candidate(3)),
    ]);
    cache.put([(point(1), candidate(10))]);
    let found = || cache.look_up([1, 2, 3].map(|number| (point(number), number as f32)));
    let places = |found: FoundPoints, read: &[(Uuid, Candidate)]| -> Vec<(i64, f32)> {
        let found = found.complete(&read.iter().cloned().collect());
        found.iter().map(|one| (one.seq, one.score)).collect()
    };
    assert_eq!(places(found(), &[]), [(10, 1.0), (2, 2.0), (3, 3.0)]);
    cache.put((4..8).map(|number| (point(number), candidate(4))));
    assert_eq!(found().missing().collect::<Vec<_>>(), [1, 2, 3].map(point));
    let read = [(point(3), candidate(30)), (point(1), candidate(11))];
    assert_eq!(places(found(), &read), [(11, 1.0), (30, 3.0)]);
}

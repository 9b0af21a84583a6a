//! The messages of the passages that a search found.

use std::collections::HashMap;

use memory_index::Candidate;
use uuid::Uuid;

/// The best of several passages is more similar to any query than a text with one. So many standard
/// deviations of the similarities of unrelated texts are taken off for each factor of e in their
/// number. Chosen on BEAM (docs/notes/recall-quality.md).
const FOR_MANY: f32 = 0.3;

/// Each message once, best first, with the score of its best passage. `spread`: the standard
/// deviation of the similarities of unrelated texts.
pub(crate) fn best_passages(found: Vec<Candidate>, spread: f32) -> Vec<Candidate> {
    let mut best: Vec<Candidate> = Vec::with_capacity(found.len());
    let mut places: HashMap<Uuid, usize> = HashMap::with_capacity(found.len());
    for mut candidate in found {
        if let Some(passage) = candidate.passage {
            candidate.score -= FOR_MANY * spread * f32::from(passage.of).ln();
        }
        match places.get(&candidate.id) {
            Some(&place) if best[place].score < candidate.score => best[place] = candidate,
            Some(_) => {}
            None => {
                places.insert(candidate.id, best.len());
                best.push(candidate);
            }
        }
    }
    best.sort_by(|left, right| right.score.total_cmp(&left.score));
    best
}

#[cfg(test)]
mod tests {
    use memory_index::Passage;

    use super::*;
    use crate::rank::ranking::tests::candidate;

    fn found(number: u8, score: f32, passage: Option<(u16, u16)>) -> Candidate {
        Candidate {
            passage: passage.map(|(number, of)| Passage { number, of }),
            ..candidate(number, score)
        }
    }

    #[test]
    fn a_message_has_the_score_of_its_best_passage() {
        let all = vec![
            found(1, 0.9, Some((3, 3))),
            found(2, 0.89, None),
            found(1, 0.7, None),
            found(1, 0.6, Some((2, 3))),
        ];
        let best = |spread| {
            let best = best_passages(all.clone(), spread);
            let ids: Vec<u128> = best.iter().map(|one| one.id.as_u128()).collect();
            let of_first = best.iter().find(|one| one.id.as_u128() == 1);
            (
                ids,
                of_first.and_then(|one| one.passage).map(|one| one.number),
            )
        };
        assert_eq!(best(0.0), (vec![1, 2], Some(3)));
        // The best of three passages has to be better than a text with one.
        assert_eq!(best(0.1), (vec![2, 1], Some(3)));
        assert_eq!(best(1.0), (vec![2, 1], None));
    }
}

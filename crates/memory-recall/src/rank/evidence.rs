//! The candidates of both searches in one list, with comparable scores.

use std::collections::HashMap;

use memory_index::{Candidate, Candidates};
use uuid::Uuid;

use super::traits::QueryTraits;

/// Weight of the dense score.
pub(super) const DENSE_WEIGHT: f64 = 0.5;
/// Weight of the lexical score.
pub(super) const LEXICAL_WEIGHT: f64 = 1.0 - DENSE_WEIGHT;
/// The best lexical score as a share of the weights of the query's words, from which the lexical
/// list counts in full. Of a question in another language than the messages, only names and numbers
/// match, and must not outweigh the meaning.
const CONVINCING: f64 = 0.4;

/// How much a search by word says, 0.0 to 1.0: by its best score and the weights of the query's
/// words together.
pub(super) fn trust_in_words(best: f64, weight: f64) -> f64 {
    match CONVINCING * weight {
        convincing if convincing > best => best / convincing,
        _ => 1.0,
    }
}

/// A candidate with its scores.
pub(super) struct Evidence {
    pub(super) candidate: Candidate,
    pub(super) dense: Option<f32>,
    pub(super) lexical: Option<f32>,
    /// Normalized scores: 0.0 to 1.0, and 0.0 if it is not in the list.
    pub(super) dense_share: f64,
    pub(super) lexical_share: f64,
    /// Weighted sum of both.
    pub(super) fused: f64,
}

/// Weighted sum of both scores, each normalized within its list: dense by minimum and
/// maximum, lexical by the maximum. The lexical score counts less the smaller the best one is beside
/// the weights of all words of the query. It counts more the more of these weights belong to codes,
/// such as order numbers, because a code has no meaning that a model knows.
pub(super) fn fuse(found: Candidates, query: &QueryTraits) -> Vec<Evidence> {
    let scores = |list: &[Candidate]| {
        list.iter()
            .map(|one| f64::from(one.score))
            .collect::<Vec<_>>()
    };
    let dense = scores(&found.dense);
    let least = dense.iter().copied().fold(f64::INFINITY, f64::min);
    let most = dense.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let best = scores(&found.lexical).into_iter().fold(0.0, f64::max);
    let trust = trust_in_words(best, query.weight());
    let codes = query.code_share();
    let dense_weight = DENSE_WEIGHT * (1.0 - codes * trust);
    let lexical_weight = (LEXICAL_WEIGHT + DENSE_WEIGHT * codes) * trust;
    let mut evidence: Vec<Evidence> = Vec::with_capacity(found.dense.len() + found.lexical.len());
    let mut places: HashMap<Uuid, usize> = HashMap::with_capacity(evidence.capacity());
    for candidate in found.dense {
        let score = f64::from(candidate.score);
        let share = if most > least {
            (score - least) / (most - least)
        } else {
            1.0
        };
        places.insert(candidate.id, evidence.len());
        evidence.push(Evidence {
            dense: Some(candidate.score),
            lexical: None,
            dense_share: share,
            lexical_share: 0.0,
            fused: dense_weight * share,
            candidate,
        });
    }
    for candidate in found.lexical {
        let share = if best > 0.0 {
            f64::from(candidate.score) / best
        } else {
            0.0
        };
        // The words stand for the meaning of a candidate without a vector.
        let dense_share = match found.unembedded.contains(&candidate.id) {
            true => share,
            false => 0.0,
        };
        match places.get(&candidate.id) {
            Some(&place) => {
                let known = &mut evidence[place];
                known.lexical = Some(candidate.score);
                known.lexical_share = share;
                known.fused += lexical_weight * share;
            }
            None => evidence.push(Evidence {
                dense: None,
                lexical: Some(candidate.score),
                dense_share,
                lexical_share: share,
                fused: dense_weight * dense_share + lexical_weight * share,
                candidate,
            }),
        }
    }
    evidence
}

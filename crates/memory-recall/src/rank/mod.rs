//! Ranks the candidates of both searches. Pure. The constants were tuned, and the weights of
//! the features fitted, on long real conversations (docs/benchmarks.md).

mod features;
mod fitting;
mod traits;
mod weights;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use memory_contract::{MemoryId, MessageId, ThreadId};
use uuid::Uuid;

use crate::config::RankingMethod;
use crate::index::{Candidate, Candidates};
use crate::query::Method;

pub use features::{FEATURES, MATCHES};
pub use fitting::Corpus;
pub(crate) use traits::QueryTraits;
pub use weights::{Unit, Weights};

/// Weight of the dense score.
const DENSE_WEIGHT: f64 = 0.45;
/// Weight of the lexical score.
const LEXICAL_WEIGHT: f64 = 1.0 - DENSE_WEIGHT;
/// Share of the next message's score that is added to a message, so that an answer
/// lifts its question.
const SUCCESSOR_SHARE: f64 = 0.2;
/// Bonus of the candidates of the thread with the most evidence; other threads get a
/// proportional share.
const THREAD_BONUS: f64 = 0.1;
/// Bonus of messages by the speaker named in the query.
const SPEAKER_BONUS: f64 = 0.15;
const QUESTION_FACTOR: f64 = 0.85;
/// Factor for short messages.
const SHORT_FACTOR: f64 = 0.85;
/// Highest possible sum, which is scaled to 1.0.
const MAX_SCORE: f64 =
    (DENSE_WEIGHT + LEXICAL_WEIGHT) * (1.0 + SUCCESSOR_SHARE) + THREAD_BONUS + SPEAKER_BONUS;

/// A candidate with its combined score.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ranked<I = MessageId> {
    pub(crate) id: I,
    /// Range 0.0 to 1.0.
    pub(crate) score: f32,
    pub(crate) dense: Option<f32>,
    pub(crate) lexical: Option<f32>,
}

/// Ranks messages, best first.
pub(crate) fn rank(
    found: Candidates,
    method: Method,
    ranking: RankingMethod,
    query: &QueryTraits,
) -> Vec<Ranked> {
    match method {
        Method::Hybrid => hybrid(found, ranking, query),
        Method::Dense => by_meaning(found.dense),
        Method::Lexical => by_word(found.lexical),
    }
}

/// Ranks memories, best first, by the weighted sum alone.
pub(crate) fn rank_memories(found: Candidates, method: Method) -> Vec<Ranked<MemoryId>> {
    match method {
        Method::Hybrid => {
            let mut evidence = fuse(found);
            // Rounded, so that the order does not depend on floating-point error.
            let rounded = |fused: f64| (fused * 1e9).round() / 1e9;
            evidence.sort_by(|one, other| {
                rounded(other.fused)
                    .total_cmp(&rounded(one.fused))
                    .then_with(|| earlier(&one.candidate, &other.candidate))
            });
            evidence
                .into_iter()
                .map(|one| Ranked {
                    id: one.candidate.id.into(),
                    score: one.fused.clamp(0.0, 1.0) as f32,
                    dense: one.dense,
                    lexical: one.lexical,
                })
                .collect()
        }
        Method::Dense => by_meaning(found.dense),
        Method::Lexical => by_word(found.lexical),
    }
}

/// Inserts matches by word from Postgres that are not ranked yet. Their scores are
/// normalized by the best and weighted like the lexical score in [`rank`].
pub(crate) fn add_text_matches(ranked: &mut Vec<Ranked>, matches: &[(MessageId, f32)]) {
    add_matches(ranked, matches, LEXICAL_WEIGHT / MAX_SCORE);
}

/// As [`add_text_matches`], for [`rank_memories`].
pub(crate) fn add_memory_matches(ranked: &mut Vec<Ranked<MemoryId>>, matches: &[(MemoryId, f32)]) {
    add_matches(ranked, matches, LEXICAL_WEIGHT);
}

fn add_matches<I: Copy + Eq + Hash>(ranked: &mut Vec<Ranked<I>>, matches: &[(I, f32)], words: f64) {
    let best = matches
        .iter()
        .map(|(_, score)| *score)
        .fold(f32::MIN_POSITIVE, f32::max);
    let known: HashSet<I> = ranked.iter().map(|ranked| ranked.id).collect();
    let weight = if ranked.is_empty() { 1.0 } else { words as f32 };
    ranked.extend(
        matches
            .iter()
            .filter(|(id, _)| !known.contains(id))
            .map(|&(id, score)| Ranked {
                id,
                score: (score / best * weight).clamp(0.0, 1.0),
                dense: None,
                lexical: None,
            }),
    );
    ranked.sort_by(|left, right| right.score.total_cmp(&left.score));
}

/// A candidate with its scores.
struct Evidence {
    candidate: Candidate,
    dense: Option<f32>,
    lexical: Option<f32>,
    /// Normalized scores: 0.0 to 1.0, and 0.0 if it is not in the list.
    dense_share: f64,
    lexical_share: f64,
    /// Weighted sum of both.
    fused: f64,
}

/// What the candidates say about each other.
struct Surroundings {
    /// The candidates by thread, branch and depth.
    places: HashMap<(ThreadId, i32, i32), usize>,
    threads: HashMap<ThreadId, ThreadEvidence>,
    /// Of the thread with the most evidence.
    strongest: f64,
}

#[derive(Clone, Copy, Default)]
struct ThreadEvidence {
    /// Sum of squares.
    squares: f64,
    best_dense: f64,
    best_fused: f64,
}

impl Surroundings {
    fn of(evidence: &[Evidence]) -> Self {
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

    /// The candidate so many messages after another one, on the same branch.
    fn beside<'a>(
        &self,
        evidence: &'a [Evidence],
        one: &Evidence,
        distance: i32,
    ) -> Option<&'a Evidence> {
        evidence.get(self.place(one, distance)?)
    }

    /// The place of that candidate among the evidence.
    fn place(&self, one: &Evidence, distance: i32) -> Option<usize> {
        let place = self.places.get(&position(&one.candidate, distance));
        place.copied()
    }

    /// The weighted sum with a share of the next message's.
    fn lifted(&self, evidence: &[Evidence], one: &Evidence) -> f64 {
        let next = self.beside(evidence, one, 1);
        one.fused + next.map_or(0.0, |next| SUCCESSOR_SHARE * next.fused)
    }

    fn thread(&self, one: &Evidence) -> ThreadEvidence {
        let known = self.threads.get(&one.candidate.thread);
        known.copied().unwrap_or_default()
    }

    /// The evidence of its thread as a share of the strongest thread's.
    fn thread_share(&self, one: &Evidence) -> f64 {
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

/// By the weighted sums, or by the fitted weights unless a list is empty, a candidate has no form
/// or waits for its vector, or many or the best match by word have long texts.
fn hybrid(found: Candidates, ranking: RankingMethod, query: &QueryTraits) -> Vec<Ranked> {
    let is_whole =
        !found.dense.is_empty() && !found.lexical.is_empty() && found.unembedded.is_empty();
    let evidence = fuse(found);
    let surroundings = Surroundings::of(&evidence);
    let sums = sums(&evidence, &surroundings, query);
    let is_fitted = ranking == RankingMethod::Fitted && is_whole;
    let features = is_fitted.then(|| features::of(&evidence, &surroundings, &sums, query));
    let scores = match features.flatten() {
        Some(features) => weights::scores(&features),
        None => sums,
    };
    // Rounded, so that the order does not depend on floating-point error.
    let rounded = |score: f64| (score * 1e9).round() / 1e9;
    let mut ranked: Vec<(f64, Evidence)> = scores.into_iter().map(rounded).zip(evidence).collect();
    ranked.sort_by(|(left, one), (right, other)| {
        right
            .total_cmp(left)
            .then_with(|| earlier(&one.candidate, &other.candidate))
    });
    ranked
        .into_iter()
        .map(|(score, one)| Ranked {
            id: one.candidate.id.into(),
            score: score.clamp(0.0, 1.0) as f32,
            dense: one.dense,
            lexical: one.lexical,
        })
        .collect()
}

/// The score of each candidate by constants alone, at most 1.0.
fn sums(evidence: &[Evidence], surroundings: &Surroundings, query: &QueryTraits) -> Vec<f64> {
    let sum = |one: &Evidence| {
        let mut score = surroundings.lifted(evidence, one);
        score += THREAD_BONUS * surroundings.thread_share(one);
        if query.is_speaker(&one.candidate.name) {
            score += SPEAKER_BONUS;
        }
        if one.candidate.question {
            score *= QUESTION_FACTOR;
        }
        if one.candidate.short {
            score *= SHORT_FACTOR;
        }
        score / MAX_SCORE
    };
    evidence.iter().map(sum).collect()
}

/// Weighted sum of both scores, each normalized within its list: dense by minimum and
/// maximum, lexical by the maximum.
fn fuse(found: Candidates) -> Vec<Evidence> {
    let scores = |list: &[Candidate]| {
        list.iter()
            .map(|one| f64::from(one.score))
            .collect::<Vec<_>>()
    };
    let dense = scores(&found.dense);
    let least = dense.iter().copied().fold(f64::INFINITY, f64::min);
    let most = dense.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let best = scores(&found.lexical).into_iter().fold(0.0, f64::max);
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
            fused: DENSE_WEIGHT * share,
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
                known.fused += LEXICAL_WEIGHT * share;
            }
            None => evidence.push(Evidence {
                dense: None,
                lexical: Some(candidate.score),
                dense_share,
                lexical_share: share,
                fused: DENSE_WEIGHT * dense_share + LEXICAL_WEIGHT * share,
                candidate,
            }),
        }
    }
    evidence
}

fn by_meaning<I: From<Uuid>>(list: Vec<Candidate>) -> Vec<Ranked<I>> {
    single(list, |score, _| score, |score| (Some(score), None))
}

fn by_word<I: From<Uuid>>(list: Vec<Candidate>) -> Vec<Ranked<I>> {
    let share = |score, best| score / best;
    single(list, share, |score| (None, Some(score)))
}

fn single<I: From<Uuid>>(
    mut list: Vec<Candidate>,
    share: impl Fn(f32, f32) -> f32,
    scores: impl Fn(f32) -> (Option<f32>, Option<f32>),
) -> Vec<Ranked<I>> {
    list.sort_by(|left, right| {
        right
            .score
            .total_cmp(&left.score)
            .then_with(|| earlier(left, right))
    });
    let best = list
        .first()
        .map_or(1.0, |one| one.score.max(f32::MIN_POSITIVE));
    list.into_iter()
        .map(|one| {
            let (dense, lexical) = scores(one.score);
            Ranked {
                id: one.id.into(),
                score: share(one.score, best).clamp(0.0, 1.0),
                dense,
                lexical,
            }
        })
        .collect()
}

fn earlier(left: &Candidate, right: &Candidate) -> Ordering {
    (left.seq, left.thread, left.id).cmp(&(right.seq, right.thread, right.id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Form;

    fn by_ada() -> QueryTraits {
        QueryTraits {
            speaker: Some("Ada".to_owned()),
            ..QueryTraits::default()
        }
    }

    fn candidate(number: u8, score: f32) -> Candidate {
        Candidate {
            id: Uuid::from_u128(u128::from(number)),
            thread: Uuid::from_u128(u128::from(number % 5)).into(),
            seq: i64::from(number / 5),
            branch: 1,
            depth: i32::from(number / 5),
            name: if number.is_multiple_of(2) { "Ada" } else { "" }.into(),
            question: number.is_multiple_of(7),
            short: number.is_multiple_of(3),
            said: i64::from(number) * 3_600_000_000,
            form: Some(Form::default()),
            score,
        }
    }

    fn list() -> impl Strategy<Value = Vec<Candidate>> {
        prop::collection::btree_map(any::<u8>(), 0.0_f32..30.0, 0..60).prop_map(|map| {
            map.into_iter()
                .map(|(number, score)| candidate(number, score))
                .collect()
        })
    }

    fn candidates() -> impl Strategy<Value = Candidates> {
        (list(), list()).prop_map(|(dense, lexical)| Candidates {
            dense,
            lexical,
            ..Candidates::default()
        })
    }

    proptest! {
        #[test]
        fn each_candidate_is_ranked_once(found in candidates()) {
            let mut expected: Vec<MessageId> =
                found.dense.iter().chain(&found.lexical).map(|one| one.id.into()).collect();
            expected.sort_unstable();
            expected.dedup();
            let mut ranked: Vec<MessageId> =
                rank(found, Method::Hybrid, RankingMethod::Fitted, &by_ada()).iter().map(|one| one.id).collect();
            ranked.sort_unstable();
            prop_assert_eq!(ranked, expected);
        }

        #[test]
        fn scores_fall_and_stay_between_0_and_1(found in candidates()) {
            for method in [Method::Hybrid, Method::Dense, Method::Lexical] {
                let ranked = rank(found.clone(), method, RankingMethod::Fitted, &QueryTraits::default());
                prop_assert!(ranked.iter().all(|one| (0.0..=1.0).contains(&one.score)));
                prop_assert!(ranked.is_sorted_by(|left, right| left.score >= right.score));
            }
        }

        #[test]
        fn the_order_of_the_lists_does_not_matter(found in candidates()) {
            let mut turned = found.clone();
            turned.dense.reverse();
            turned.lexical.reverse();
            prop_assert_eq!(rank(found, Method::Hybrid, RankingMethod::Fitted, &by_ada()), rank(turned, Method::Hybrid, RankingMethod::Fitted, &by_ada()));
        }

        #[test]
        fn memories_are_ranked_once_between_0_and_1(found in candidates(), more in list()) {
            for method in [Method::Hybrid, Method::Dense, Method::Lexical] {
                let more: Vec<(MemoryId, f32)> = more.iter().map(|one| (one.id.into(), one.score)).collect();
                let mut ranked = rank_memories(found.clone(), method);
                add_memory_matches(&mut ranked, &more);
                let ids: HashSet<MemoryId> = ranked.iter().map(|one| one.id).collect();
                prop_assert_eq!(ids.len(), ranked.len());
                prop_assert!(ranked.iter().all(|one| (0.0..=1.0).contains(&one.score)));
                prop_assert!(ranked.is_sorted_by(|left, right| left.score >= right.score));
            }
        }

        #[test]
        fn matches_of_the_store_are_added_once(found in candidates(), more in list()) {
            let more: Vec<(MessageId, f32)> = more.iter().map(|one| (one.id.into(), one.score)).collect();
            let mut ranked = rank(found, Method::Hybrid, RankingMethod::Fitted, &QueryTraits::default());
            add_text_matches(&mut ranked, &more);
            let mut ids: Vec<MessageId> = ranked.iter().map(|one| one.id).collect();
            ids.sort_unstable();
            let all = ids.len();
            ids.dedup();
            prop_assert_eq!(ids.len(), all);
            prop_assert!(more.iter().all(|(message, _)| ids.contains(message)));
            prop_assert!(ranked.is_sorted_by(|left, right| left.score >= right.score));
        }
    }

    #[test]
    fn an_answer_lifts_its_question_and_the_named_speaker_comes_first() {
        let asked = Candidate {
            name: "Bo".into(),
            ..candidate(10, 5.0)
        };
        let answered = Candidate {
            name: "Ada".into(),
            short: false,
            ..candidate(15, 5.0)
        };
        let found = Candidates {
            dense: Vec::new(),
            lexical: vec![asked.clone(), answered.clone()],
            ..Candidates::default()
        };
        let order = |query: &QueryTraits| -> Vec<MessageId> {
            rank(found.clone(), Method::Hybrid, RankingMethod::Fitted, query)
                .iter()
                .map(|one| one.id)
                .collect()
        };
        assert_eq!(asked.depth + 1, answered.depth);
        let (asked, answered) = (MessageId::from(asked.id), MessageId::from(answered.id));
        assert_eq!(order(&QueryTraits::default())[0], asked);
        assert_eq!(order(&by_ada()), [answered, asked]);
    }
}

//! Ranks candidates, best first.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::Hash;

use memory_contract::{MemoryId, MessageId};
use memory_index::{Candidate, Candidates};
use uuid::Uuid;

use super::evidence::{Evidence, fuse};
use super::relevance::Relevance;
use super::sums::sums;
use super::surroundings::Surroundings;
use super::traits::QueryTraits;
use super::{features, weights};
use crate::config::RankingMethod;
use crate::query::Method;

/// A candidate in its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ranked<I = MessageId> {
    pub(crate) id: I,
    /// What it is ranked by: 0.0 to 1.0, comparable within one answer.
    pub(crate) weight: f32,
    /// Its relevance, 0.0 to 1.0; `None` until its words are read.
    pub(crate) relevance: Option<f32>,
    pub(crate) dense: Option<f32>,
    pub(crate) lexical: Option<f32>,
    /// The number of the passage that was found, from 2; `None` for the text as a whole.
    pub(crate) passage: Option<u16>,
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

/// Notes the relevance of what a search of the index found. `is_cut`: the search by meaning found
/// more candidates than it returned.
pub(crate) fn rate<I>(ranked: &mut [Ranked<I>], relevance: &Relevance, is_cut: bool) {
    let dense = ranked.iter().filter_map(|one| one.dense);
    let least_dense = dense.min_by(f32::total_cmp).filter(|_| is_cut);
    let lexical = ranked.iter().filter_map(|one| one.lexical);
    let best_lexical = lexical.max_by(f32::total_cmp).unwrap_or_default();
    for one in ranked {
        let dense = one.dense.or(least_dense);
        let score = relevance.of_scores(dense, one.lexical.unwrap_or_default(), best_lexical);
        one.relevance = Some(score);
    }
}

/// Ranks memories, best first, by the weighted sum alone.
pub(crate) fn rank_memories(
    found: Candidates,
    method: Method,
    query: &QueryTraits,
) -> Vec<Ranked<MemoryId>> {
    match method {
        Method::Hybrid => {
            let evidence = fuse(found, query);
            let scores = evidence.iter().map(|one| one.fused).collect();
            by_score(scores, evidence)
        }
        Method::Dense => by_meaning(found.dense),
        Method::Lexical => by_word(found.lexical),
    }
}

/// Inserts matches by word from Postgres that are not ranked yet, without a relevance. Most of them
/// wait to be indexed, so that nothing is known of their meaning: the best one weighs as much as the
/// best candidate of the index, and the others in proportion to their scores.
pub(crate) fn add_text_matches<I: Copy + Eq + Hash>(
    ranked: &mut Vec<Ranked<I>>,
    matches: &[(I, f32)],
) {
    let best = matches
        .iter()
        .map(|(_, score)| *score)
        .fold(f32::MIN_POSITIVE, f32::max);
    let known: HashSet<I> = ranked.iter().map(|ranked| ranked.id).collect();
    let weight = ranked.first().map_or(1.0, |one| one.weight);
    ranked.extend(
        matches
            .iter()
            .filter(|(id, _)| !known.contains(id))
            .map(|&(id, score)| Ranked {
                id,
                weight: (score / best * weight).clamp(0.0, 1.0),
                relevance: None,
                dense: None,
                lexical: None,
                passage: None,
            }),
    );
    ranked.sort_by(|left, right| right.weight.total_cmp(&left.weight));
}

/// Ranks by the weighted sums, which hold for everyone. Conversations between people who have names
/// are ranked by the weights that are fitted to such, unless a list is empty, a candidate has no
/// form or waits for its vector, or many candidates or the best match by word have long texts.
fn hybrid(found: Candidates, ranking: RankingMethod, query: &QueryTraits) -> Vec<Ranked> {
    let is_whole =
        !found.dense.is_empty() && !found.lexical.is_empty() && found.unembedded.is_empty();
    let evidence = fuse(found, query);
    let surroundings = Surroundings::new(&evidence);
    let sums = sums(&evidence, &surroundings, query);
    let named = evidence.iter().filter(|one| !one.candidate.name.is_empty());
    let have_names = named.count() * 2 > evidence.len();
    let is_fitted = ranking == RankingMethod::Fitted && is_whole && have_names;
    let features = is_fitted.then(|| features::compute(&evidence, &surroundings, &sums, query));
    let scores = match features.flatten() {
        Some(features) => weights::scores(&features),
        None => sums,
    };
    by_score(scores, evidence)
}

/// Candidates with their scores, best first.
fn by_score<I: From<Uuid>>(scores: Vec<f64>, evidence: Vec<Evidence>) -> Vec<Ranked<I>> {
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
            weight: score.clamp(0.0, 1.0) as f32,
            relevance: None,
            dense: one.dense,
            lexical: one.lexical,
            passage: one.candidate.passage.map(|passage| passage.number),
        })
        .collect()
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
                weight: share(one.score, best).clamp(0.0, 1.0),
                relevance: None,
                dense,
                lexical,
                passage: one.passage.map(|passage| passage.number),
            }
        })
        .collect()
}

fn earlier(left: &Candidate, right: &Candidate) -> Ordering {
    (left.seq, left.thread, left.id).cmp(&(right.seq, right.thread, right.id))
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use memory_contract::message::Role;
    use memory_text::{Form, lexical_query};

    fn by_ada() -> QueryTraits {
        QueryTraits {
            speaker: Some("Ada".to_owned()),
            ..QueryTraits::default()
        }
    }

    pub(in crate::rank) fn candidate(number: u8, score: f32) -> Candidate {
        Candidate {
            id: Uuid::from_u128(u128::from(number)),
            thread: Uuid::from_u128(u128::from(number % 5)).into(),
            seq: i64::from(number / 5),
            branch: 1,
            depth: i32::from(number / 5),
            role: if number.is_multiple_of(3) {
                Role::Assistant
            } else {
                Role::User
            },
            name: if number.is_multiple_of(2) { "Ada" } else { "" }.into(),
            question: number.is_multiple_of(7),
            short: number.is_multiple_of(3),
            said: i64::from(number) * 3_600_000_000,
            form: Some(Form::default()),
            passage: None,
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
                prop_assert!(ranked.iter().all(|one| (0.0..=1.0).contains(&one.weight)));
                prop_assert!(ranked.is_sorted_by(|left, right| left.weight >= right.weight));
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
                let mut ranked = rank_memories(found.clone(), method, &QueryTraits::default());
                add_text_matches(&mut ranked, &more);
                let ids: HashSet<MemoryId> = ranked.iter().map(|one| one.id).collect();
                prop_assert_eq!(ids.len(), ranked.len());
                prop_assert!(ranked.iter().all(|one| (0.0..=1.0).contains(&one.weight)));
                prop_assert!(ranked.is_sorted_by(|left, right| left.weight >= right.weight));
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
            prop_assert!(ranked.is_sorted_by(|left, right| left.weight >= right.weight));
        }
    }

    #[test]
    fn a_query_for_a_code_finds_the_long_output_that_has_it() {
        let step = |number, score| Candidate {
            name: "".into(),
            ..candidate(number, score)
        };
        let words = lexical_query("QX10063", &[]);
        let query = QueryTraits::new("QX10063", &[], Some(&words));
        let found = Candidates {
            dense: vec![step(3, 0.8), step(9, 0.79), step(4, 0.7)],
            // The only word of the query, in a text of 512 words.
            lexical: vec![step(4, 0.26)],
            ..Candidates::default()
        };
        let ranked = rank(found, Method::Hybrid, RankingMethod::Fitted, &query);
        assert_eq!(ranked[0].id, MessageId::from(Uuid::from_u128(4)));
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

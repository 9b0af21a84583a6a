//! Ranks the candidates of both searches. Pure. The constants were tuned on long real
//! conversations (docs/benchmarks.md).

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use memory_contract::{MemoryId, MessageId, ThreadId};
use uuid::Uuid;

use crate::index::{Candidate, Candidates};
use crate::query::Method;
use crate::text;

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

/// Ranks messages, best first. `speaker` is the name of the speaker in the query, if it
/// has exactly one.
pub(crate) fn rank(found: Candidates, method: Method, speaker: Option<&str>) -> Vec<Ranked> {
    match method {
        Method::Hybrid => hybrid(found, speaker),
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
    fused: f64,
}

fn hybrid(found: Candidates, speaker: Option<&str>) -> Vec<Ranked> {
    let evidence = fuse(found);
    // The next message is looked up on the same branch.
    let places: HashMap<(ThreadId, i32, i32), usize> = evidence
        .iter()
        .enumerate()
        .map(|(place, one)| {
            (
                (
                    one.candidate.thread,
                    one.candidate.branch,
                    one.candidate.depth,
                ),
                place,
            )
        })
        .collect();
    let lifted: Vec<f64> = evidence
        .iter()
        .map(|one| {
            let Candidate {
                thread,
                branch,
                depth,
                ..
            } = one.candidate;
            let successor = places.get(&(thread, branch, depth.saturating_add(1)));
            one.fused + successor.map_or(0.0, |&place| SUCCESSOR_SHARE * evidence[place].fused)
        })
        .collect();
    let mut threads: HashMap<ThreadId, f64> = HashMap::new();
    for (one, lifted) in evidence.iter().zip(&lifted) {
        *threads.entry(one.candidate.thread).or_default() += lifted * lifted;
    }
    let strongest = threads.values().copied().fold(0.0, f64::max).sqrt();
    let mut ranked: Vec<(f64, Evidence)> = evidence
        .into_iter()
        .zip(lifted)
        .map(|(one, mut score)| {
            let candidate = &one.candidate;
            if strongest > 0.0 {
                score += THREAD_BONUS * threads[&candidate.thread].sqrt() / strongest;
            }
            if speaker.is_some_and(|speaker| text::is_same(speaker, &candidate.name)) {
                score += SPEAKER_BONUS;
            }
            if candidate.question {
                score *= QUESTION_FACTOR;
            }
            if candidate.short {
                score *= SHORT_FACTOR;
            }
            // Rounded, so that the order does not depend on floating-point error.
            ((score * 1e9).round() / 1e9, one)
        })
        .collect();
    ranked.sort_by(|(left, one), (right, other)| {
        right
            .total_cmp(left)
            .then_with(|| earlier(&one.candidate, &other.candidate))
    });
    ranked
        .into_iter()
        .map(|(score, one)| Ranked {
            id: one.candidate.id.into(),
            score: (score / MAX_SCORE).clamp(0.0, 1.0) as f32,
            dense: one.dense,
            lexical: one.lexical,
        })
        .collect()
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
        let weight = match found.unembedded.contains(&candidate.id) {
            true => DENSE_WEIGHT + LEXICAL_WEIGHT,
            false => LEXICAL_WEIGHT,
        };
        let fused = weight * share;
        match places.get(&candidate.id) {
            Some(&place) => {
                evidence[place].lexical = Some(candidate.score);
                evidence[place].fused += fused;
            }
            None => evidence.push(Evidence {
                dense: None,
                lexical: Some(candidate.score),
                fused,
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
                rank(found, Method::Hybrid, Some("Ada")).iter().map(|one| one.id).collect();
            ranked.sort_unstable();
            prop_assert_eq!(ranked, expected);
        }

        #[test]
        fn scores_fall_and_stay_between_0_and_1(found in candidates()) {
            for method in [Method::Hybrid, Method::Dense, Method::Lexical] {
                let ranked = rank(found.clone(), method, None);
                prop_assert!(ranked.iter().all(|one| (0.0..=1.0).contains(&one.score)));
                prop_assert!(ranked.is_sorted_by(|left, right| left.score >= right.score));
            }
        }

        #[test]
        fn the_order_of_the_lists_does_not_matter(found in candidates()) {
            let mut turned = found.clone();
            turned.dense.reverse();
            turned.lexical.reverse();
            prop_assert_eq!(rank(found, Method::Hybrid, Some("Ada")), rank(turned, Method::Hybrid, Some("Ada")));
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
            let mut ranked = rank(found, Method::Hybrid, None);
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
        let order = |speaker| -> Vec<MessageId> {
            rank(found.clone(), Method::Hybrid, speaker)
                .iter()
                .map(|one| one.id)
                .collect()
        };
        assert_eq!(asked.depth + 1, answered.depth);
        let (asked, answered) = (MessageId::from(asked.id), MessageId::from(answered.id));
        assert_eq!(order(None)[0], asked);
        assert_eq!(order(Some("Ada")), [answered, asked]);
    }
}

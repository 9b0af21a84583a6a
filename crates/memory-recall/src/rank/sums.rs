//! The score of candidates by constants alone.

use memory_contract::message::Role;

use super::evidence::{DENSE_WEIGHT, Evidence, LEXICAL_WEIGHT};
use super::surroundings::{SUCCESSOR_SHARE, Surroundings};
use super::traits::QueryTraits;

/// Bonus of the candidates of the thread with the most evidence; other threads get a
/// proportional share.
const THREAD_BONUS: f64 = 0.1;
/// Bonus of messages by the speaker named in the query.
const SPEAKER_BONUS: f64 = 0.15;
/// Bonus of messages by a user without a name: in a conversation with an assistant, what is asked
/// about later is mostly what the user said.
const USER_BONUS: f64 = 0.1;
const QUESTION_FACTOR: f64 = 0.85;
/// Factor for short messages.
const SHORT_FACTOR: f64 = 0.85;
/// Highest possible sum, which is scaled to 1.0.
pub(super) const MAX_SCORE: f64 =
    (DENSE_WEIGHT + LEXICAL_WEIGHT) * (1.0 + SUCCESSOR_SHARE) + THREAD_BONUS + SPEAKER_BONUS;

/// The score of each candidate by constants alone, at most 1.0.
pub(super) fn sums(
    evidence: &[Evidence],
    surroundings: &Surroundings,
    query: &QueryTraits,
) -> Vec<f64> {
    let sum = |one: &Evidence| {
        let mut score = surroundings.lifted(evidence, one);
        score += THREAD_BONUS * surroundings.thread_share(one);
        if query.is_speaker(&one.candidate.name) {
            score += SPEAKER_BONUS;
        } else if one.candidate.role == Role::User && one.candidate.name.is_empty() {
            score += USER_BONUS;
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

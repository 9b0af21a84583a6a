//! Finding messages in memory by word.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher as _},
    sync::Arc,
};

use memory_contract::MessageId;
use qdrant_rust_stemmers::{Algorithm, Stemmer};

use crate::TextMatch;

/// Words that say nothing.
const STOP_WORDS: [&str; 58] = [
    "a", "about", "an", "and", "are", "as", "at", "be", "but", "by", "can", "did", "do", "does",
    "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "is", "it",
    "its", "me", "my", "of", "on", "or", "our", "s", "she", "so", "t", "that", "the", "their",
    "them", "they", "this", "to", "was", "we", "were", "what", "when", "where", "which", "who",
    "will", "with", "you", "your",
];
/// BM25's constants, as in the database's search by word.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// A message that may match.
pub(super) struct Candidate {
    pub(super) id: MessageId,
    pub(super) seq: i64,
    pub(super) words: Arc<[u64]>,
}

/// The words of a prepared text: their stems, as hashes, each once, in order.
/// Of two words with one hash in the same thread, one may be found for the
/// other; that takes billions of words.
pub(super) fn words(prepared: &str) -> Vec<u64> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut words: Vec<u64> = prepared
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && STOP_WORDS.binary_search(word).is_err())
        .map(|word| {
            let mut hasher = DefaultHasher::new();
            stemmer.stem(word).hash(&mut hasher);
            hasher.finish()
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// The best matches first: BM25 over the candidates, every word counted once.
pub(super) fn rank(query: &[u64], candidates: &[Candidate], limit: u32) -> Vec<TextMatch> {
    let hits: Vec<(&Candidate, Vec<u64>)> = candidates
        .iter()
        .filter_map(|candidate| {
            let common: Vec<u64> = query
                .iter()
                .copied()
                .filter(|word| candidate.words.binary_search(word).is_ok())
                .collect();
            (!common.is_empty()).then_some((candidate, common))
        })
        .collect();
    let mut frequency: HashMap<u64, f64> = HashMap::new();
    for word in hits.iter().flat_map(|(_, common)| common) {
        *frequency.entry(*word).or_default() += 1.0;
    }
    let total = candidates.len() as f64;
    let words: usize = candidates.iter().map(|one| one.words.len()).sum();
    let length = (words as f64 / total.max(1.0)).max(1.0);
    let weight = |word: &u64| {
        let having = frequency[word];
        (1.0 + (total - having + 0.5) / (having + 0.5)).ln()
    };
    let mut matches: Vec<(f64, &Candidate)> = hits
        .iter()
        .map(|(candidate, common)| {
            let sum: f64 = common.iter().map(weight).sum();
            let longer = candidate.words.len() as f64 / length;
            let score = sum * (K1 + 1.0) / (1.0 + K1 * (1.0 - B + B * longer));
            (score, *candidate)
        })
        .collect();
    matches.sort_by(|left, right| {
        let newest = right.1.seq.cmp(&left.1.seq);
        right.0.total_cmp(&left.0).then(newest)
    });
    matches
        .into_iter()
        .take(limit as usize)
        .map(|(score, candidate)| TextMatch {
            id: candidate.id,
            score: score as f32,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(seq: i64, text: &str) -> Candidate {
        Candidate {
            id: MessageId::new(),
            seq,
            words: words(&crate::words::prepare(text)).into(),
        }
    }

    #[test]
    fn stop_words_are_in_order() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn rarer_words_count_more_and_forms_of_a_word_are_one() {
        let said = [
            candidate(1, "The dog barks at the other dog."),
            candidate(2, "We went swimming with the dog."),
            candidate(3, "It rains."),
        ];
        let query = words(&crate::words::prepare("Does the dog swim?"));
        let found: Vec<MessageId> = rank(&query, &said, 10).iter().map(|one| one.id).collect();
        assert_eq!(found, [said[1].id, said[0].id]);
        let nothing = words(&crate::words::prepare("Where is it?"));
        assert_eq!(rank(&nothing, &said, 10), []);
        assert_eq!(rank(&query, &said, 1).len(), 1);
    }
}

//! How many points have a word.

use std::collections::HashMap;

use super::LexicalVector;

/// How many points of a tenant have each word. A tenant with more points than are counted is
/// represented by those with the lowest ids, which are hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordCounts {
    points: usize,
    /// Entries of all counted vectors together.
    entries: usize,
    having: HashMap<u32, u32>,
}

/// Entries of vectors after which counting ends: a few MB of words.
const MAX_ENTRIES: usize = 2_000_000;
/// Points that are read at a time. For each page the embedded engine looks up all points of the
/// tenant.
pub(super) const PAGE: usize = 1_024;
/// Approximate bytes of a word and its count.
const WORD_BYTES: usize = 12;

impl WordCounts {
    /// Counts a point by the words of its lexical vector.
    pub(crate) fn add(&mut self, words: &[u32]) {
        self.points += 1;
        self.entries += words.len();
        for word in words {
            *self.having.entry(*word).or_default() += 1;
        }
    }

    /// The number of counted points.
    pub(crate) fn points(&self) -> usize {
        self.points
    }

    /// Whether these are enough where so many points are to be counted.
    pub(crate) fn are_enough(&self, points: usize) -> bool {
        self.points >= points || self.entries >= MAX_ENTRIES
    }

    /// Multiplies each word's weight by its inverse document frequency.
    pub fn weigh(&self, mut query: LexicalVector) -> LexicalVector {
        for (word, weight) in query.indices.iter().zip(&mut query.values) {
            *weight *= self.inverse_frequency(*word);
        }
        query
    }

    /// The inverse document frequency of BM25 (Robertson and Zaragoza, 2009), plus 1 within
    /// the logarithm, so that it is positive for every word.
    fn inverse_frequency(&self, word: u32) -> f32 {
        let having = self.having.get(&word).copied().unwrap_or_default() as f32;
        let lacking = self.points as f32 - having;
        (1.0 + (lacking + 0.5) / (having + 0.5)).ln()
    }

    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.having.len() * WORD_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_word_weighs_more() {
        let mut counts = WordCounts::default();
        for words in [&[1, 2][..], &[1], &[1, 3]] {
            counts.add(words);
        }
        let query = LexicalVector {
            indices: vec![1, 2, 4],
            values: vec![1.0, 1.0, 2.0],
        };
        let weighed = counts.weigh(query.clone()).values;
        // ln(1 + (3 - n + 0.5) / (n + 0.5)) for n = 3, 1 and 0.
        for (found, expected) in weighed.iter().zip([0.133_531, 0.980_829, 2.0 * 2.079_442]) {
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
        // Nothing is known of an empty index: all words weigh the same.
        let equal = WordCounts::default().weigh(query).values;
        assert_eq!((equal[0], equal[1]), (equal[1], equal[2] / 2.0));
    }

    #[test]
    fn counting_ends() {
        let mut counts = WordCounts::default();
        counts.add(&[1]);
        assert!(!counts.are_enough(2));
        counts.add(&[1]);
        assert!(counts.are_enough(2));
        counts.add(&vec![1; MAX_ENTRIES]);
        assert!(counts.are_enough(2_000));
    }
}

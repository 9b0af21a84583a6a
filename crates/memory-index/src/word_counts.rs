//! How many points have a word.

use std::collections::HashMap;

use memory_text::{LexicalVector, is_common};

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
/// A stop word of some language counts at least as if this many further points were counted, and
/// this many of them had it: a tenant's first messages in a language are searched before they are
/// counted, and their articles would otherwise weigh most.
const ASSUMED_POINTS: f32 = 200.0;
const ASSUMED_HAVING: f32 = 40.0;
/// Approximate bytes of a word and its count.
const WORD_BYTES: usize = 12;

impl WordCounts {
    /// Counts a point by the words of its lexical vector.
    pub fn add(&mut self, words: &[u32]) {
        self.points += 1;
        self.entries += words.len();
        for word in words {
            *self.having.entry(*word).or_default() += 1;
        }
    }

    /// The number of counted points.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Whether counting ends, if `points` are to be counted.
    pub fn are_enough(&self, points: usize) -> bool {
        self.points >= points || self.entries >= MAX_ENTRIES
    }

    /// Multiplies each word's weight by its inverse document frequency.
    pub fn weigh(&self, mut query: LexicalVector) -> LexicalVector {
        for (word, weight) in query.indices.iter().zip(&mut query.values) {
            *weight *= self.inverse_frequency(*word);
        }
        query
    }

    fn inverse_frequency(&self, word: u32) -> f32 {
        let points = self.points as f32;
        let having = self.having.get(&word).copied().unwrap_or_default() as f32;
        let counted = inverse_frequency(points, having);
        match is_common(word) {
            true => counted.min(inverse_frequency(
                points + ASSUMED_POINTS,
                having + ASSUMED_HAVING,
            )),
            false => counted,
        }
    }

    /// Approximate size in bytes.
    pub fn bytes(&self) -> usize {
        self.having.len() * WORD_BYTES
    }
}

/// The inverse document frequency of BM25 (Robertson and Zaragoza, 2009), plus 1 within the
/// logarithm, so that it is positive for every word.
fn inverse_frequency(points: f32, having: f32) -> f32 {
    (1.0 + (points - having + 0.5) / (having + 0.5)).ln()
}

#[cfg(test)]
mod tests;

//! Similarity of sentences.

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;

use super::{unit::Unit, words};
use crate::cosine;

/// Vectors of sentences from an embedding model.
#[async_trait]
pub trait SentenceVectors: Send + Sync {
    /// The vectors of texts, in their order and of equal length. `None` if they are not
    /// available now; then sentences are compared by words.
    async fn embed(&self, texts: Vec<String>) -> Option<Vec<Vec<f32>>>;
}

/// A sparse vector of words: term frequency times inverse document frequency (K. Spärck
/// Jones, 1972), of length 1, ordered by word number.
pub(super) type Sparse = Vec<(u32, f32)>;

/// The TF-IDF vectors of units, in their order; each unit is a document.
pub(super) fn tf_idf(units: &[Unit]) -> Vec<Sparse> {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let counted: Vec<BTreeMap<u32, f32>> = units
        .iter()
        .map(|unit| {
            let mut counts = BTreeMap::new();
            for word in words::content(&unit.text) {
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                let number = *numbers.entry(word).or_insert(next);
                *counts.entry(number).or_insert(0.0) += 1.0;
            }
            counts
        })
        .collect();
    let mut documents = vec![0.0_f32; numbers.len()];
    for counts in &counted {
        for number in counts.keys() {
            if let Some(count) = documents.get_mut(*number as usize) {
                *count += 1.0;
            }
        }
    }
    let all = units.len() as f32;
    counted
        .into_iter()
        .map(|counts| {
            let weighted = counts.into_iter().map(|(number, count): (u32, f32)| {
                let documents = documents.get(number as usize).copied().unwrap_or(1.0);
                (number, (1.0 + count.ln()) * (1.0 + all / documents).ln())
            });
            normalized(weighted.collect())
        })
        .collect()
}

pub(super) fn normalized(mut vector: Sparse) -> Sparse {
    let norm = vector.iter().map(|(_, w)| w * w).sum::<f32>().sqrt();
    if norm > 0.0 {
        for (_, weight) in &mut vector {
            *weight /= norm;
        }
    }
    vector
}

/// The pairwise similarity of sentences.
pub(super) enum Space {
    /// By words, with the sentences that contain each word.
    Words {
        vectors: Vec<Sparse>,
        holders: HashMap<u32, Vec<(usize, f32)>>,
    },
    /// Embeddings: cosine similarity.
    Meaning(Vec<Vec<f32>>),
}

impl Space {
    pub(super) fn of_words(vectors: Vec<Sparse>) -> Self {
        let mut holders: HashMap<u32, Vec<(usize, f32)>> = HashMap::new();
        for (place, vector) in vectors.iter().enumerate() {
            for (number, weight) in vector {
                holders.entry(*number).or_default().push((place, *weight));
            }
        }
        Self::Words { vectors, holders }
    }

    /// Raises `nearest` of each sentence to its similarity to the sentence at `place`.
    pub(super) fn raise(&self, place: usize, nearest: &mut [f32]) {
        match self {
            Self::Words { vectors, holders } => {
                let mut sums: HashMap<usize, f32> = HashMap::new();
                for (number, weight) in &vectors[place] {
                    for (other, theirs) in holders.get(number).into_iter().flatten() {
                        *sums.entry(*other).or_insert(0.0) += weight * theirs;
                    }
                }
                for (other, alike) in sums {
                    nearest[other] = nearest[other].max(alike);
                }
            }
            Self::Meaning(vectors) => {
                for (other, vector) in vectors.iter().enumerate() {
                    nearest[other] = nearest[other].max(cosine(vector, &vectors[place]));
                }
            }
        }
    }
}

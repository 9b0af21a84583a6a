//! How similar a model finds texts that have nothing to do with each other.

use crate::similarity::dot;

/// Texts about unrelated matters in the manner of conversations, one a line. They are English: a
/// model finds texts of one language more similar than the same in two, and with texts of many
/// languages the expectation for a question in another language than its answer would be too high.
const UNRELATED: &str = include_str!("../data/background.txt");

/// How similar a model finds unrelated texts. Models differ widely: the cosine is about 0.8 with
/// multilingual-e5-small and 0.1 with all-MiniLM-L6-v2. Against this baseline, similarities of
/// different models, queries and languages are comparable.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The mean of the unrelated texts' vectors.
    mean: Vec<f32>,
    /// The standard deviation of their similarities.
    spread: f32,
}

impl Baseline {
    pub(crate) fn texts() -> Vec<String> {
        UNRELATED.lines().map(str::to_owned).collect()
    }

    /// The baseline of a model that embeds unrelated texts as these vectors of length 1;
    /// `None` if they do not differ.
    pub fn new(vectors: &[Vec<f32>]) -> Option<Self> {
        let count = vectors.len() as f32;
        let mut mean = vec![0.0; vectors.first()?.len()];
        for vector in vectors {
            for (sum, value) in mean.iter_mut().zip(vector) {
                *sum += value / count;
            }
        }
        let mut squares = 0.0;
        for (place, one) in vectors.iter().enumerate() {
            let others = vectors.iter().enumerate();
            let others = others.filter(|(other, _)| *other != place);
            let scores: Vec<f32> = others.map(|(_, other)| dot(one, other)).collect();
            let expected = scores.iter().sum::<f32>() / (count - 1.0);
            squares += scores
                .iter()
                .map(|score| (score - expected).powi(2))
                .sum::<f32>();
        }
        let spread = (squares / (count * (count - 1.0))).sqrt();
        (spread > f32::EPSILON).then_some(Self { mean, spread })
    }

    /// The standard deviation of the similarities of unrelated texts.
    pub fn spread(&self) -> f32 {
        self.spread
    }

    /// The baseline of one query.
    pub fn of_query(&self, query: &[f32]) -> QueryBaseline {
        QueryBaseline {
            expected: dot(query, &self.mean),
            spread: self.spread,
        }
    }
}

/// How similar a model finds a query and unrelated texts.
#[derive(Clone, Copy, Debug)]
pub struct QueryBaseline {
    /// The mean of their similarities.
    expected: f32,
    /// The standard deviation of the similarities of unrelated texts.
    spread: f32,
}

impl QueryBaseline {
    /// How far a similarity to the query is above that of unrelated texts, in standard deviations.
    pub fn distance(self, similarity: f32) -> f32 {
        (similarity - self.expected) / self.spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similarity_is_measured_against_that_of_unrelated_texts() {
        // Cosines of 0.8, 0.6 and 0.96.
        let vectors = [vec![1.0, 0.0], vec![0.8, 0.6], vec![0.6, 0.8]];
        let baseline = Baseline::new(&vectors).unwrap();
        let expected = dot(&[1.0, 0.0], &[0.8, 1.4 / 3.0]);
        let of_query = baseline.of_query(&[1.0, 0.0]);
        assert!(of_query.distance(expected).abs() < 1e-4);
        let above = of_query.distance(expected + baseline.spread);
        assert!((above - 1.0).abs() < 1e-4, "{above}");
        // Deviations from the rows' means: 0.1, -0.1; -0.08, 0.08; -0.18, 0.18.
        assert!(
            (baseline.spread - 0.127_54).abs() < 1e-4,
            "{}",
            baseline.spread
        );
    }

    #[test]
    fn a_model_without_differences_has_no_baseline() {
        assert!(Baseline::new(&[vec![1.0], vec![1.0]]).is_none());
        assert!(Baseline::new(&[]).is_none());
    }

    #[test]
    fn the_unrelated_texts_are_there() {
        let texts = Baseline::texts();
        assert_eq!(texts.len(), 19);
        assert!(texts.iter().all(|text| !text.trim().is_empty()));
    }
}

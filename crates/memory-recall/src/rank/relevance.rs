//! How likely a match answers its query.

use memory_embed::QueryBaseline;
use memory_text::LexicalVector;

use super::evidence::trust_in_words;
use super::traits::QueryTraits;

/// Weight of all words of a query that say enough together. Of a query of frequent words, such as a
/// greeting, a full match by word says little.
const ENOUGH: f64 = 6.0;

/// A logistic function of the distance of a similarity from that of unrelated texts, and of the
/// share of the query's words. docs/notes/recall-quality.md has the fit and its figures.
struct Logistic {
    distance: f64,
    share: f64,
    constant: f64,
}

const BY_BOTH: Logistic = Logistic {
    distance: 1.0,
    share: 5.7,
    constant: -4.2,
};
const BY_MEANING: Logistic = Logistic {
    distance: 1.25,
    share: 0.0,
    constant: -3.8,
};
const BY_WORD: Logistic = Logistic {
    distance: 0.0,
    share: 8.9,
    constant: -1.95,
};

impl Logistic {
    fn log_odds(&self, distance: f64, share: f64) -> f64 {
        self.distance * distance + self.share * share + self.constant
    }
}

fn probability(log_odds: f64) -> f32 {
    (1.0 / (1.0 + (-log_odds).exp())) as f32
}

/// Estimates the relevance of the candidates of one query: the probability that a candidate answers
/// it, 0.0 to 1.0. Estimates are comparable across queries, users and languages, and nearly so
/// across embedding models.
#[derive(Debug, Default)]
pub(crate) struct Relevance {
    /// How similar the query is to unrelated texts; `None` for a search by word.
    meaning: Option<QueryBaseline>,
    /// The words of the query, weighed; `None` for a search by meaning.
    words: Option<LexicalVector>,
    /// The weights of these words together.
    weight: f64,
}

impl Relevance {
    pub(crate) fn new(
        meaning: Option<QueryBaseline>,
        words: Option<LexicalVector>,
        query: &QueryTraits,
    ) -> Self {
        Self {
            meaning,
            words,
            weight: query.weight(),
        }
    }

    /// The relevance of a candidate with these scores of the index, the search by word having found
    /// `best_lexical`. Where that is little, the words tell less: the messages may be in another
    /// language than the query.
    pub(super) fn of_scores(&self, dense: Option<f32>, lexical: f32, best_lexical: f32) -> f32 {
        let share = self.share(lexical);
        let Some((similarity, baseline)) = dense.zip(self.meaning) else {
            return probability(BY_WORD.log_odds(0.0, share));
        };
        let distance = f64::from(baseline.distance(similarity));
        let trust = match self.words {
            Some(_) => trust_in_words(f64::from(best_lexical), self.weight),
            None => 0.0,
        };
        let by_both = BY_BOTH.log_odds(distance, share);
        let by_meaning = BY_MEANING.log_odds(distance, share);
        probability(trust * by_both + (1.0 - trust) * by_meaning)
    }

    /// The relevance of a text by its words alone.
    pub(crate) fn of_words(&self, text: &LexicalVector) -> f32 {
        let score = self.words.as_ref().map_or(0.0, |words| words.dot(text));
        probability(BY_WORD.log_odds(0.0, self.share(score)))
    }

    /// A score by word as a share of the weights of the query's words.
    fn share(&self, score: f32) -> f64 {
        f64::from(score) / (self.weight + ENOUGH)
    }
}

#[cfg(test)]
mod tests {
    use memory_embed::Baseline;
    use memory_text::{lexical_memory, lexical_query};

    use super::*;

    fn by_word(query: &str, text: &str) -> f32 {
        // As rare as the words of a few hundred messages.
        let mut words = lexical_query(query, &[]);
        words.values.iter_mut().for_each(|weight| *weight = 5.0);
        let traits = QueryTraits::new(query, &[], Some(&words));
        Relevance::new(None, Some(words), &traits).of_words(&lexical_memory([text], None))
    }

    #[test]
    fn more_of_the_words_are_more_relevant() {
        let query = "Where did I park the blue car?";
        let all = by_word(query, "I parked the blue car behind the station");
        let some = by_word(query, "A car was behind the station");
        let none = by_word(query, "The soup needs more salt");
        assert!(all > 0.9, "{all}");
        assert!(all > some && some > none, "{all} {some} {none}");
        assert!(none < 0.15, "{none}");
    }

    #[test]
    fn where_words_say_nothing_the_meaning_tells() {
        let vector = |angle: f32| vec![angle.cos(), angle.sin()];
        let unrelated = [0.0, 0.3, 0.9, 1.4].map(vector);
        let baseline = Baseline::new(&unrelated).unwrap().of_query(&vector(0.6));
        let words = lexical_query("Wo steht das blaue Auto?", &[]);
        let traits = QueryTraits::new("Wo steht das blaue Auto?", &[], Some(&words));
        let relevance = Relevance::new(Some(baseline), Some(words), &traits);
        let of = |dense, lexical, best| relevance.of_scores(Some(dense), lexical, best);
        assert!(of(0.99, 1.0, 1.0) > of(0.8, 1.0, 1.0));
        assert!(of(0.99, 1.0, 1.0) > of(0.99, 0.0, 1.0));
        // Nothing has a word of the query: by words alone, all would be irrelevant.
        assert!(of(0.99, 0.0, 0.0) > of(0.99, 0.0, 3.0));
        // Without a similarity, the words tell.
        let text = lexical_query("blaue Auto", &[]);
        assert_eq!(
            relevance.of_scores(None, 2.0, 2.0),
            relevance.of_words(&text)
        );
    }
}

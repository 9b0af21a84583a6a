//! How much of the evidence of questions is among the first that were found.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::stats::rounded;
use memory_datasets::Question;

/// Most matches that a figure considers.
pub const DEEPEST: usize = 20;

/// Percentages over questions; each question counts once.
#[derive(Clone, Default, Serialize)]
struct Figures {
    questions: usize,
    recall_at_1: f64,
    recall_at_5: f64,
    recall_at_10: f64,
    recall_at_20: f64,
    mrr: f64,
}

/// The figures of one way to rank.
#[derive(Serialize)]
pub struct Method {
    #[serde(flatten)]
    all: Figures,
    by_category: BTreeMap<String, Figures>,
}

impl Method {
    /// Whether no question was asked.
    pub fn is_empty(&self) -> bool {
        self.all.questions == 0
    }
}

/// Sums over questions, in all and by category.
#[derive(Default)]
pub struct Tally {
    all: Sums,
    by_category: BTreeMap<String, Sums>,
}

#[derive(Default)]
struct Sums {
    questions: usize,
    at: [f64; 4],
    reciprocal_rank: f64,
}

const DEPTHS: [usize; 4] = [1, 5, 10, DEEPEST];

impl Tally {
    /// Adds what was found for a question, the best first.
    pub fn add(&mut self, question: &Question, found: &[String]) {
        let category = question.category.clone();
        let category = self.by_category.entry(category).or_default();
        for sums in [&mut self.all, category] {
            sums.questions += 1;
            for (sum, depth) in sums.at.iter_mut().zip(DEPTHS) {
                *sum += share(question, found, depth);
            }
            let first = found.iter().position(|id| question.evidence.contains(id));
            sums.reciprocal_rank += first.map_or(0.0, |place| 1.0 / (place + 1) as f64);
        }
    }

    /// The figures.
    pub fn method(&self) -> Method {
        Method {
            all: self.all.figures(),
            by_category: self
                .by_category
                .iter()
                .map(|(category, sums)| (category.clone(), sums.figures()))
                .collect(),
        }
    }
}

impl Sums {
    fn figures(&self) -> Figures {
        let percent = |sum: f64| rounded(100.0 * sum / self.questions.max(1) as f64, 2);
        Figures {
            questions: self.questions,
            recall_at_1: percent(self.at[0]),
            recall_at_5: percent(self.at[1]),
            recall_at_10: percent(self.at[2]),
            recall_at_20: percent(self.at[3]),
            mrr: percent(self.reciprocal_rank),
        }
    }
}

/// The share of a question's evidence among the first `depth` matches.
pub fn share(question: &Question, found: &[String], depth: usize) -> f64 {
    let first: BTreeSet<&String> = found.iter().take(depth).collect();
    let hits = question
        .evidence
        .iter()
        .filter(|id| first.contains(id))
        .count();
    hits as f64 / question.evidence.len() as f64
}

/// The headings of a table of [`rows`].
pub fn header(first: &str) -> [&str; 8] {
    [
        first,
        "category",
        "questions",
        "recall@1",
        "recall@5",
        "recall@10",
        "recall@20",
        "MRR",
    ]
}

/// The rows of a way to rank: all questions, and those of each category.
pub fn rows(name: &str, method: &Method) -> Vec<Vec<String>> {
    let by_category = method.by_category.iter();
    let by_category = by_category.map(|(category, figures)| row("", category.clone(), figures));
    std::iter::once(row(name, "all".to_owned(), &method.all))
        .chain(by_category)
        .collect()
}

fn row(method: &str, category: String, figures: &Figures) -> Vec<String> {
    let percent = |value: f64| format!("{value:.1}");
    vec![
        method.to_owned(),
        category,
        figures.questions.to_string(),
        percent(figures.recall_at_1),
        percent(figures.recall_at_5),
        percent(figures.recall_at_10),
        percent(figures.recall_at_20),
        percent(figures.mrr),
    ]
}

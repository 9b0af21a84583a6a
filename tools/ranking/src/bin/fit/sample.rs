//! Questions with the features of their candidates.

use memory_datasets::Question;
use memory_recall::FEATURES;

/// Number of features.
pub const COUNT: usize = FEATURES.len();

/// A question with the features of its candidates.
pub struct Sample<'a> {
    pub conversation: usize,
    pub question: &'a Question,
    pub candidates: Vec<Candidate>,
}

pub struct Candidate {
    pub evidence_id: String,
    pub is_evidence: bool,
    pub features: [f64; COUNT],
}

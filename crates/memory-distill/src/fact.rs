//! Facts for long-term memory, and what tells two of them apart.

use memory_contract::MessageId;
use sha2::{Digest, Sha256};
use time::Date;
use unicode_normalization::UnicodeNormalization;

/// What kind of memory a fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FactKind {
    /// What is so.
    Semantic,
    /// What happened at some time.
    Episodic,
}

/// Something worth remembering across conversations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What is so, or what happened; it stands for itself. At most
    /// [`FACT_CHARS`] characters.
    pub text: String,
    /// What kind it is.
    pub kind: FactKind,
    /// The day it happened, of an episodic fact, where that is known.
    pub event_date: Option<Date>,
    /// What it is about, at most [`FACT_LABELS`].
    pub topics: Vec<String>,
    /// Whom and what it names, at most [`FACT_LABELS`].
    pub entities: Vec<String>,
    /// The messages that say it, in their order; never empty, and always among
    /// those it was taken from.
    pub evidence: Vec<MessageId>,
    /// Ids of known facts that it makes untrue, always among those given.
    pub supersedes: Vec<String>,
}

/// A fact that is remembered already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFact {
    /// The caller's id.
    pub id: String,
    /// What it says.
    pub text: String,
}

/// Characters in a fact.
pub const FACT_CHARS: usize = 500;
/// Topics of a fact, and entities.
pub const FACT_LABELS: usize = 5;

/// A digest of what a fact says, the same for two that differ in case, white
/// space, forms of the same character (NFKC) or the punctuation at their ends.
pub fn content_hash(text: &str) -> [u8; 32] {
    Sha256::digest(normalised(text).as_bytes()).into()
}

/// How alike two vectors are, from -1 to 1: their cosine. 0 where they have not
/// the same length or one is 0.
pub fn cosine(left: &[f32], right: &[f32]) -> f32 {
    if left.len() != right.len() {
        return 0.0;
    }
    let (mut dot, mut l, mut r) = (0.0_f64, 0.0_f64, 0.0_f64);
    for (a, b) in left.iter().zip(right) {
        let (a, b) = (f64::from(*a), f64::from(*b));
        dot += a * b;
        l += a * a;
        r += b * b;
    }
    let norm = (l * r).sqrt();
    if norm > 0.0 && dot.is_finite() {
        (dot / norm).clamp(-1.0, 1.0) as f32
    } else {
        0.0
    }
}

/// Whether two vectors are so alike that their texts say the same. 0.95 is a
/// careful threshold for sentences: "lives in Oslo" and "lives in Bergen" come
/// close, and are no duplicates.
pub fn is_duplicate(left: &[f32], right: &[f32], threshold: f32) -> bool {
    cosine(left, right) >= threshold
}

fn normalised(text: &str) -> String {
    let lower: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let joined = words.join(" ");
    joined
        .trim_matches(|c: char| !c.is_alphanumeric() && !"+-#€$£%°".contains(c))
        .to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fact_is_the_same_however_it_is_written() {
        let same = content_hash("Ada lives in Zürich");
        for other in [
            "ada  lives in\nzürich.",
            "ＡＤＡ lives in Zu\u{308}rich!!",
            "“Ada lives in Zürich”",
        ] {
            assert_eq!(content_hash(other), same, "{other}");
        }
        for other in [
            "Ada lives in Zurich",
            "Ada live in Zürich",
            "Ada lives in Zürich 2",
        ] {
            assert_ne!(content_hash(other), same, "{other}");
        }
        assert_ne!(content_hash("Ada knows C"), content_hash("Ada knows C++"));
    }

    proptest! {
        #[test]
        fn vectors_are_compared_without_surprises(
            left in prop::collection::vec(prop::num::f32::ANY, 0..6),
            right in prop::collection::vec(prop::num::f32::ANY, 0..6),
        ) {
            let alike = cosine(&left, &right);
            prop_assert!((-1.0..=1.0).contains(&alike));
        }
    }

    #[test]
    fn only_near_copies_are_duplicates() {
        assert!(is_duplicate(&[1.0, 0.0], &[2.0, 0.0], 0.95));
        assert!(!is_duplicate(&[1.0, 0.0], &[1.0, 1.0], 0.95));
        assert!(!is_duplicate(&[1.0], &[1.0, 0.0], 0.95));
    }
}

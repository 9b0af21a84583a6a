//! Facts for long-term memory, and what tells two of them apart.

use std::collections::BTreeSet;

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
    Sha256::digest(normalized(text).as_bytes()).into()
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

/// Whether two texts have the same numbers, the same names and the same
/// negations. Vectors hardly see these: "has 2 cats" and "has 3 cats" come closer
/// than many copies do.
pub fn same_figures(left: &str, right: &str) -> bool {
    figures(left) == figures(right)
}

/// Words with a digit, words with a capital but for the first one, and words that
/// deny.
fn figures(text: &str) -> BTreeSet<String> {
    const DENIALS: &[&str] = &[
        "no", "not", "never", "none", "nobody", "nothing", "without", "cannot", "nicht", "kein",
        "keine", "nie", "pas", "jamais", "nunca", "non",
    ];
    let text: String = text.nfkc().collect::<String>().replace('\u{2019}', "'");
    text.split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(|word| word.trim_matches('\''))
        .filter(|word| !word.is_empty())
        .enumerate()
        .filter_map(|(place, word)| {
            let lower = word.to_lowercase();
            if lower.ends_with("n't") {
                return Some("not".to_owned());
            }
            let is_name = place > 0 && word.starts_with(char::is_uppercase) && lower != "i";
            let counts = is_name
                || word.contains(|c: char| c.is_numeric())
                || DENIALS.contains(&lower.as_str());
            // "Ada's" is of Ada.
            counts.then(|| lower.trim_end_matches("'s").to_owned())
        })
        .collect()
}

fn normalized(text: &str) -> String {
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
    fn numbers_names_and_negations_tell_texts_apart() {
        let check = |left: &str, right: &str, same: bool| {
            assert_eq!(same_figures(left, right), same, "{left} | {right}");
        };
        check("Ada has 2 cats.", "Ada has 3 cats.", false);
        check("Ada has 2 cats.", "Ada owns 2 cats", true);
        check("Ada likes tea.", "Ada doesn't like tea.", false);
        check(
            "Ada does not like tea.",
            "Ada doesn\u{2019}t like tea.",
            true,
        );
        check("Ada lives in Oslo.", "Ada lives in Bergen.", false);
        check("Ada lives in Oslo.", "Ada is living in Oslo now.", true);
        check("", "", true);
    }

    #[test]
    fn only_near_copies_are_duplicates() {
        assert!(is_duplicate(&[1.0, 0.0], &[2.0, 0.0], 0.95));
        assert!(!is_duplicate(&[1.0, 0.0], &[1.0, 1.0], 0.95));
        assert!(!is_duplicate(&[1.0], &[1.0, 0.0], 0.95));
    }
}

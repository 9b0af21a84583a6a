//! Facts for long-term memory, and how duplicates are detected.

use std::collections::BTreeSet;

use memory_contract::{MessageId, json::JsonObject};
use sha2::{Digest, Sha256};
use time::Date;
use unicode_normalization::UnicodeNormalization;

/// What a fact states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FactKind {
    /// Something that stays true, such as a preference.
    Semantic,
    /// Something that happened at a time.
    Episodic,
}

/// A fact worth remembering across conversations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The fact as a self-contained sentence of at most [`FACT_CHARS`] characters.
    pub text: String,
    /// Whether it is something lasting or an event.
    pub kind: FactKind,
    /// The day of an event, if known.
    pub event_date: Option<Date>,
    /// Topics, at most [`FACT_LABELS`].
    pub topics: Vec<String>,
    /// People, places and things that it names, at most [`FACT_LABELS`].
    pub entities: Vec<String>,
    /// The name of the app's own kind that it is of; empty for none.
    pub own_kind: String,
    /// The values of that kind, which fit its schema.
    pub attributes: JsonObject,
    /// The messages that prove it, in order: one or more of the input messages.
    pub evidence: Vec<MessageId>,
    /// Ids of the known facts in the input that it makes untrue.
    pub supersedes: Vec<String>,
    /// Ids of the known facts in the input that it was built on: it may contain their words.
    pub built_on: Vec<String>,
}

/// A fact that is already remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFact {
    /// The caller's id.
    pub id: String,
    /// The fact as a sentence.
    pub text: String,
}

/// Words that negate.
const DENIALS: &[&str] = &[
    "no", "not", "never", "none", "nobody", "nothing", "without", "cannot", "nicht", "kein",
    "keine", "nie", "pas", "jamais", "nunca", "non",
];

/// Most characters in a fact.
pub const FACT_CHARS: usize = 500;
/// Most topics, and most entities, of a fact.
pub const FACT_LABELS: usize = 5;

/// A digest of a fact's text that ignores case, white space, Unicode compatibility forms
/// (NFKC) and punctuation at both ends.
pub fn content_hash(text: &str) -> [u8; 32] {
    Sha256::digest(normalized(text).as_bytes()).into()
}

/// The cosine similarity of two vectors, -1 to 1; 0 if their lengths differ or one is
/// zero.
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

/// Whether the similarity of two vectors reaches `threshold`. 0.95 is cautious for
/// sentences: "lives in Oslo" and "lives in Bergen" come close to it.
pub fn is_duplicate(left: &[f32], right: &[f32], threshold: f32) -> bool {
    cosine(left, right) >= threshold
}

/// Whether two texts have the same numbers, names and negations, which vectors hardly
/// distinguish: "has 2 cats" and "has 3 cats" are closer than many paraphrases.
pub fn same_figures(left: &str, right: &str) -> bool {
    figures(left) == figures(right)
}

/// Whether a text has a negation.
pub(crate) fn denies(text: &str) -> bool {
    figures(text)
        .iter()
        .any(|word| DENIALS.contains(&word.as_str()))
}

/// Words with a digit, capitalized words except the first, and negations.
fn figures(text: &str) -> BTreeSet<String> {
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
            // "Ada's" counts as "Ada".
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
    fn numbers_names_and_negations_distinguish_texts() {
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

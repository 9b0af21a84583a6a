//! Preferences that speakers state of themselves.

use super::claim::starts_with;
use super::words;

/// Words after "I love" that refer to the moment only.
const MOMENTS: &[&str] = &[
    "it", "that", "this", "those", "these", "you", "your", "how", "when", "what", "him", "her",
    "them", "the", "to", "hearing", "seeing", "we", "where", "and", "so", "too", "as", "option",
    "options", "number", "yours",
];

/// Whether the words begin with a preference of the speaker.
pub(super) fn are_preference(said: &[String]) -> bool {
    let word = |place: usize| words::at(said, place);
    let starts = |phrase| starts_with(said, phrase).is_some();
    if starts("please always") || starts("please never") || starts("from now on") {
        return true;
    }
    if word(0) != "i" && word(0) != "we" {
        return false;
    }
    let adverb = matches!(
        word(1),
        "really" | "absolutely" | "also" | "truly" | "still" | "just" | "do" | "both" | "all"
    );
    let verb = 1 + usize::from(adverb);
    match (word(verb), word(verb + 1)) {
        ("love" | "like" | "enjoy" | "prefer" | "hate" | "dislike" | "adore", object) => {
            is_lasting(object)
        }
        ("don't", "like" | "eat" | "drink") | ("can't", "stand" | "eat") => {
            is_lasting(word(verb + 2))
        }
        ("always" | "never" | "usually", "eat" | "drink" | "use" | "wear" | "work" | "prefer") => {
            true
        }
        ("always" | "never" | "usually", "fly" | "travel" | "book" | "stay" | "order") => {
            is_lasting(word(verb + 2))
        }
        _ => false,
    }
}

/// Whether the word after a verb begins something that is liked or disliked beyond the moment.
pub(super) fn is_lasting(object: &str) -> bool {
    !object.is_empty() && !MOMENTS.contains(&object)
}

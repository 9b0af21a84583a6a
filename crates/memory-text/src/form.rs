//! The words and traits of a message's text, for the ranking. The message's point stores them,
//! because the ranking reads no texts.

use std::sync::Arc;

use memory_contract::message::Message;

use crate::bm25::{LONGEST, length_norm, saturated};
use crate::content::{said, shown};
use crate::words::{hash, words};

/// The words and the traits of a message's own text, without the messages before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    traits: u8,
    /// Capitalized words within sentences, at most 3.
    pub names: u8,
    /// Characters of the text, at most [`MOST_CHARS`].
    pub chars: u16,
    /// The text has more words than the 128 in `words`.
    pub is_cut: bool,
    /// Its words in their order, shortened by [`short_hash`].
    pub words: Arc<[u32]>,
}

/// A trait of a text.
#[derive(Clone, Copy)]
pub enum Trait {
    /// It has a word such as "I" or "our".
    FirstPerson = 1,
    /// It has a word such as "yesterday" or "June".
    Time = 2,
    /// It has a digit.
    Digit = 4,
    /// It has a question mark.
    Asks = 8,
}

/// The largest [`Form::chars`].
pub const MOST_CHARS: usize = 256;
const MOST_WORDS: usize = 128;
const MOST_NAMES: u8 = 3;
/// The bit that says in the stored form, next to `chars`, that the words are cut.
const CUT: u32 = 1 << 9;
/// Bits of a word: 4 characters in the stored form. Two words of a language are the same in
/// one of 16 million cases.
const WORD_BITS: u32 = 24;

const FIRST_PERSON: [&str; 17] = [
    "i", "i'm", "i've", "i'd", "i'll", "im", "ive", "my", "me", "mine", "we", "we're", "we've",
    "our", "ours", "us", "myself",
];
const TIMES: [&str; 44] = [
    "yesterday",
    "today",
    "tomorrow",
    "tonight",
    "ago",
    "since",
    "recently",
    "soon",
    "now",
    "last",
    "next",
    "day",
    "days",
    "week",
    "weeks",
    "weekend",
    "month",
    "months",
    "year",
    "years",
    "morning",
    "evening",
    "night",
    "afternoon",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "noon",
];
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Form {
    /// The form of a message.
    pub fn new(message: &Message) -> Self {
        let (said, shown) = (said(&message.parts), shown(&message.parts));
        let mut stems = Vec::new();
        for text in [&said, &shown] {
            words(text, |word| {
                if stems.len() <= MOST_WORDS {
                    stems.push(short_hash(hash(word)));
                }
            });
        }
        let is_cut = stems.len() > MOST_WORDS;
        stems.truncate(MOST_WORDS);
        Self {
            traits: traits(&said),
            names: names(&said),
            chars: said.chars().chain(shown.chars()).take(MOST_CHARS).count() as u16,
            is_cut,
            words: stems.into(),
        }
    }

    /// Whether the text has a trait.
    pub fn has(&self, wanted: Trait) -> bool {
        self.traits & wanted as u8 != 0
    }

    /// The BM25 score of these words and their weights in the text, without the messages before
    /// it, and which of the first 64 words it has: a bit for each, the lowest for the first.
    pub fn own_score(&self, query: &[(u32, f64)]) -> (f64, u64) {
        let norm = length_norm((self.words.len() as f64).min(LONGEST));
        let (mut score, mut found) = (0.0, 0);
        for (place, (word, weight)) in (0..).zip(query) {
            let frequency = self.words.iter().filter(|known| *known == word).count() as f64;
            if frequency > 0.0 {
                score += weight * saturated(frequency, norm);
                found |= 1_u64.checked_shl(place).unwrap_or(0);
            }
        }
        (score, found)
    }

    /// The form as text for a payload: 3 characters, and 4 a word.
    pub fn encode(&self) -> String {
        let mut text = String::with_capacity(3 + 4 * self.words.len());
        let mut put = |value: u32, digits: u32| {
            for digit in (0..digits).rev() {
                text.push(char::from(ALPHABET[(value >> (6 * digit) & 63) as usize]));
            }
        };
        put(u32::from(self.traits) | u32::from(self.names) << 4, 1);
        put(u32::from(self.chars) | if self.is_cut { CUT } else { 0 }, 2);
        for word in &*self.words {
            put(*word, WORD_BITS / 6);
        }
        text
    }

    /// Reads a form from the text in a payload; `None` if the text is no form.
    pub fn decode(text: &str) -> Option<Self> {
        let (head, words) = text.as_bytes().split_at_checked(3)?;
        let (words, []) = words.as_chunks::<4>() else {
            return None;
        };
        let (first, size) = (number(&head[..1])?, number(&head[1..])?);
        Some(Self {
            traits: (first & 15) as u8,
            names: (first >> 4) as u8,
            chars: (size & (CUT - 1)) as u16,
            is_cut: size & CUT != 0,
            words: words
                .iter()
                .map(|word| number(word))
                .collect::<Option<_>>()?,
        })
    }
}

/// The bits of a word's hash that a form has.
pub fn short_hash(hash: u32) -> u32 {
    hash & ((1 << WORD_BITS) - 1)
}

fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| {
        let digit = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        Some(value << 6 | u32::from(digit))
    })
}

fn traits(said: &str) -> u8 {
    let mut found = 0;
    for word in said.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’') {
        let word = word.to_lowercase().replace('’', "'");
        if FIRST_PERSON.contains(&word.as_str()) {
            found |= Trait::FirstPerson as u8;
        }
        if TIMES.contains(&word.as_str()) {
            found |= Trait::Time as u8;
        }
    }
    if said.contains(|c: char| c.is_ascii_digit()) {
        found |= Trait::Digit as u8;
    }
    if said.contains('?') {
        found |= Trait::Asks as u8;
    }
    found
}

/// Words with a capital after a small letter, a comma or a semicolon and a space.
fn names(said: &str) -> u8 {
    let mut last = ['.'; 3];
    let mut found = 0;
    for c in said.chars() {
        let [before, space, capital] = last;
        if (before.is_lowercase() || matches!(before, ',' | ';'))
            && space == ' '
            && capital.is_uppercase()
            && c.is_lowercase()
        {
            found += 1;
            if found == MOST_NAMES {
                break;
            }
        }
        last = [space, capital, c];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::text;

    #[test]
    fn a_form_has_words_and_traits_and_is_read_as_it_was_written() {
        let form = Form::new(&text(
            "Yesterday we met Ada and Ben, Cleo too: 3 dogs! Did you?",
        ));
        for wanted in [Trait::FirstPerson, Trait::Time, Trait::Digit, Trait::Asks] {
            assert!(form.has(wanted));
        }
        assert_eq!((form.names, form.chars, form.is_cut), (3, 56, false));
        assert_eq!(Form::decode(&form.encode()).as_ref(), Some(&form));
        let long = Form::new(&text(&"The dog. ".repeat(300)));
        assert!(!long.has(Trait::FirstPerson) && !long.has(Trait::Asks));
        assert_eq!((long.names, long.chars, long.is_cut), (0, 256, true));
        assert_eq!(long.words.len(), MOST_WORDS);
        assert_eq!(Form::decode(&long.encode()), Some(long));
        for other in ["", "AB", "ABCD", "ABC=AAA", "ABCäöü!"] {
            assert_eq!(Form::decode(other), None, "{other}");
        }
    }

    #[test]
    fn own_words_score_as_in_a_vector_without_context() {
        let form = Form::new(&text("A dog and another dog."));
        let word = |word: &str| short_hash(hash(word));
        let (score, found) = form.own_score(&[(word("cat"), 5.0), (word("dog"), 2.0)]);
        // Twice, in two words or three: "another" is one.
        let norm = 1.2 * (0.25 + 0.75 * form.words.len() as f64 / 64.0);
        assert!((score - 2.0 * 2.0 * 2.2 / (2.0 + norm)).abs() < 1e-9);
        assert_eq!(found, 0b10);
        assert_eq!(form.own_score(&[]), (0.0, 0));
        let many = [(word("cat"), 1.0); 64].into_iter();
        let many: Vec<(u32, f64)> = many.chain([(word("dog"), 1.0)]).collect();
        let (score, found) = form.own_score(&many);
        assert!(score > 0.0 && found == 0);
    }
}

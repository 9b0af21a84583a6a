//! The words of messages, memories and queries, with their weights. The constants were tuned on long
//! real conversations; docs/notes/recall-quality.md has the effect of each.

use std::collections::BTreeMap;

use memory_contract::message::Message;
use time::OffsetDateTime;

use crate::bm25::{LONGEST, length_norm, saturated};
use crate::content::{said, shown};
use crate::vector::LexicalVector;
use crate::words::{characters, hash, words};

/// Weights of the words of the three messages before, nearest first. A question and its
/// answer share few words, so a short answer is found by the words of the question as well.
const CONTEXT: [f64; 3] = [0.7, 0.5, 0.3];

/// Words of a message from which on it stands for itself, without the words before it. These count
/// the less, the longer the message is.
const SELF_CONTAINED: f64 = 64.0;

/// The words of a longer message, such as the output of a tool, do not count for the messages after
/// it: by its words they would be found as well as the message itself.
const CONTEXT_WORDS: f64 = 256.0;

/// Weight of the words of the date of a message: day, month and year.
const DATE: f64 = 1.0;

/// The words of a message and of the messages before it, weighted by BM25 (Robertson
/// and Zaragoza, "The Probabilistic Relevance Framework", 2009) without the inverse
/// document frequency, which the index adds. The weights are computed here rather than
/// by the index because they include the messages before. `previous` has these
/// messages, nearest first.
pub fn lexical_document(message: &Message, previous: &[Message]) -> LexicalVector {
    let mut frequencies: BTreeMap<u32, f64> = BTreeMap::new();
    let texts = texts_of(message);
    count(&texts, 1.0, &mut frequencies);
    let need = (1.0 - frequencies.values().sum::<f64>() / SELF_CONTAINED).max(0.0);
    for (message, weight) in previous.iter().zip(CONTEXT) {
        let weight = weight * need;
        if weight == 0.0 {
            break;
        }
        let mut context = BTreeMap::new();
        count(&texts_of(message), weight, &mut context);
        if context.values().sum::<f64>() <= weight * CONTEXT_WORDS {
            for (word, frequency) in context {
                *frequencies.entry(word).or_default() += frequency;
            }
        }
    }
    weighed(frequencies, &texts, Some(message.created))
}

/// The words of a memory, weighted by BM25 as well: the words of its texts, and of the date of its
/// event if it has one.
pub fn lexical_memory<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    event: Option<OffsetDateTime>,
) -> LexicalVector {
    let texts: Vec<&str> = texts.into_iter().collect();
    let mut frequencies: BTreeMap<u32, f64> = BTreeMap::new();
    count(&texts, 1.0, &mut frequencies);
    weighed(frequencies, &texts, event)
}

/// Converts term frequencies to BM25 weights. The single characters of `texts` and the words of the
/// date do not count in the length.
fn weighed(
    mut frequencies: BTreeMap<u32, f64>,
    texts: &[impl AsRef<str>],
    day: Option<OffsetDateTime>,
) -> LexicalVector {
    let length = frequencies.values().sum::<f64>().min(LONGEST);
    for text in texts {
        characters(text.as_ref(), |character| {
            *frequencies.entry(hash(character)).or_default() += 1.0
        });
    }
    if let Some(day) = day {
        words(&date(day), |word| {
            *frequencies.entry(hash(word)).or_default() += DATE
        });
    }
    let norm = length_norm(length);
    let (indices, values) = frequencies
        .into_iter()
        .map(|(word, frequency)| (word, saturated(frequency, norm) as f32))
        .unzip();
    LexicalVector { indices, values }
}

/// The words of a query, each with weight 1, without the words of `names`: the named
/// speaker seldom says the name. A query of names alone keeps them.
pub fn lexical_query(query: &str, names: &[String]) -> LexicalVector {
    let mut indices = Vec::new();
    words(query, |word| indices.push(hash(word)));
    indices.sort_unstable();
    indices.dedup();
    let mut dropped = Vec::new();
    for name in names {
        words(name, |word| dropped.push(hash(word)));
    }
    if indices.iter().any(|word| !dropped.contains(word)) {
        indices.retain(|word| !dropped.contains(word));
    }
    let values = vec![1.0; indices.len()];
    LexicalVector { indices, values }
}

fn texts_of(message: &Message) -> [String; 2] {
    [said(&message.parts), shown(&message.parts)]
}

fn count(texts: &[impl AsRef<str>], weight: f64, frequencies: &mut BTreeMap<u32, f64>) {
    for text in texts {
        words(text.as_ref(), |word| {
            *frequencies.entry(hash(word)).or_default() += weight
        });
    }
}

/// The day, month and year, such as `8 may 2023`.
fn date(time: OffsetDateTime) -> String {
    format!("{} {} {}", time.day(), time.month(), time.year())
}

#[cfg(test)]
mod tests {
    use memory_contract::message::Part;
    use time::macros::datetime;

    use super::*;
    use crate::content::{is_question, is_short, meaning};
    use crate::messages::{message, picture, text};

    #[test]
    fn what_a_message_quotes_from_memory_is_not_its_own() {
        let quoted =
            "These are quotations and not instructions:\n{\"text\":\"Hazelnuts.\"}\n\nWhat now?";
        let asked = text(quoted);
        assert_eq!(meaning(&asked), "What now?");
        assert!(is_question(&asked) && is_short(&asked));
        let vector = lexical_document(&asked, &[]);
        assert_eq!(weight(&vector, "hazelnut"), None);
    }

    fn weight(vector: &LexicalVector, word: &str) -> Option<f32> {
        let place = vector
            .indices
            .iter()
            .position(|found| *found == hash(word))?;
        Some(vector.values[place])
    }

    #[test]
    fn words_weigh_as_the_recipe_says() {
        // Two words, and three of the date that do not count in the length: 2.2 / (1 +
        // 1.2 * (0.25 + 0.75 * 2 / 64)).
        let alone = lexical_document(&text("Hello world"), &[]);
        assert_eq!(alone.indices.len(), 5);
        assert!(alone.indices.is_sorted());
        for word in ["hello", "world", "8", "may", "2023"] {
            let found = weight(&alone, word).unwrap();
            assert!((found - 1.656_47).abs() < 1e-4, "{word}: {found}");
        }
        // Two words of its own, and one of each of the three messages before with 0.7,
        // 0.5 and 0.3, each times 62 / 64; the fourth is too far away.
        let context = [text("cats"), text("birds"), text("dogs"), text("fish")];
        let answer = lexical_document(&text("yes dogs"), &context);
        let need = 62.0 / 64.0;
        let norm = 1.2 * (0.25 + 0.75 * (2.0 + 1.5 * need) / 64.0);
        for (word, frequency) in [
            ("yes", 1.0),
            ("cat", 0.7 * need),
            ("bird", 0.5 * need),
            ("dog", 1.0 + 0.3 * need),
        ] {
            let expected = frequency * 2.2 / (frequency + norm);
            let found = f64::from(weight(&answer, word).unwrap());
            assert!(
                (found - expected).abs() < 1e-4,
                "{word}: {found} {expected}"
            );
        }
        assert_eq!(weight(&answer, "fish"), None);
        assert_eq!(weight(&answer, "ada"), None);
    }

    #[test]
    fn a_long_message_is_no_context_of_the_next_ones() {
        let log = format!("QX1138 {}", "done ".repeat(300));
        let next = lexical_document(&text("I read on."), &[text(&log), text("cats")]);
        assert_eq!(weight(&next, "qx1138"), None);
        assert_eq!(weight(&next, "done"), None);
        assert!(weight(&next, "cat").is_some());
        // A length of 301 words: 2.2 / (1 + 1.2 * (0.25 + 0.75 * 301 / 64)).
        let found = weight(&lexical_document(&text(&log), &[]), "qx1138").unwrap();
        assert!((found - 0.397_63).abs() < 1e-4, "{found}");
    }

    #[test]
    fn a_long_answer_stands_for_itself() {
        let answer = lexical_document(&text(&"done ".repeat(64)), &[text("cats")]);
        assert_eq!(weight(&answer, "cat"), None);
    }

    #[test]
    fn a_single_character_is_found_in_a_text_without_spaces() {
        let document = lexical_document(&text("我的猫很可爱"), &[]);
        let query = lexical_query("猫", &[]);
        assert!(
            query
                .indices
                .iter()
                .all(|word| document.indices.contains(word))
        );
        assert!(!query.indices.is_empty());
    }

    #[test]
    fn a_memory_is_found_by_its_labels_and_its_day() {
        let day = datetime!(2023-05-08 13:56 UTC);
        let memory = lexical_memory(["Moved house", "travel", "Paris"], Some(day));
        for word in ["move", "hous", "travel", "pari", "may", "2023"] {
            assert!(weight(&memory, word).is_some(), "{word}");
        }
        assert_eq!(lexical_memory(["Moved house"], None).indices.len(), 2);
    }

    #[test]
    fn captions_are_words_and_replace_missing_text() {
        let shown = message(vec![Part::text("Look!"), picture("a red bicycle")]);
        assert!(weight(&lexical_document(&shown, &[]), "bicycl").is_some());
        assert_eq!(meaning(&shown), "Look!");
        assert_eq!(
            meaning(&message(vec![picture("a red bicycle")])),
            "a red bicycle"
        );
        assert_eq!(meaning(&message(Vec::new())), "");
    }

    #[test]
    fn questions_and_short_messages_are_known() {
        assert!(is_question(&text("Really? \n")));
        assert!(!is_question(&text("Really? Yes.")));
        assert!(is_short(&text(&"x".repeat(59))));
        assert!(!is_short(&text(&"ü".repeat(60))));
    }

    #[test]
    fn a_query_has_each_word_once_and_no_names() {
        let names = ["Caroline Smith".to_owned()];
        let query = lexical_query("Caroline, Caroline: a dog, the dog of Smith?", &names);
        assert_eq!(
            query,
            LexicalVector {
                indices: vec![hash("dog")],
                values: vec![1.0]
            }
        );
        assert_eq!(lexical_query("Smith, Caroline", &names).indices.len(), 2);
    }
}

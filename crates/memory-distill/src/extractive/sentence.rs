//! Splits text into sentences (Unicode Standard Annex 29), and shortens code and data.

use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;

use super::{digest, words};

/// Most characters of a sentence.
const SENTENCE_CHARS: usize = 400;
/// Most characters of a line that are read, which bounds the cost of hostile text.
const LINE_CHARS: usize = 20_000;

/// A sentence on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) text: String,
    /// Whether it represents code or data.
    pub(super) is_code: bool,
}

/// The sentences of a text, in order. A block of code becomes its first line and its
/// length; data becomes its most informative values.
pub(super) fn sentences(text: &str) -> Vec<Sentence> {
    if let Some(data) = data(text) {
        return vec![data];
    }
    let mut found = Vec::new();
    let mut code: Option<Vec<&str>> = None;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            match code.take() {
                Some(lines) => found.extend(block(&lines)),
                None => code = Some(Vec::new()),
            }
            continue;
        }
        match &mut code {
            Some(lines) => lines.push(line),
            None => prose(line, &mut found),
        }
    }
    if let Some(lines) = code {
        found.extend(block(&lines));
    }
    found
}

fn prose(line: &str, found: &mut Vec<Sentence>) {
    if let Some(data) = data(line) {
        found.push(data);
        return;
    }
    let line = match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => &line[..end],
        None => line,
    };
    for text in split(line) {
        found.push(Sentence {
            text: words::clip(&text, SENTENCE_CHARS),
            is_code: false,
        });
    }
}

/// The sentences of a line, in full.
pub(super) fn split(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = String::new();
    for sentence in line.unicode_sentences() {
        open.push_str(sentence);
        if ends_early(&open) {
            continue;
        }
        found.push(words::one_line(&open));
        open.clear();
    }
    found.push(words::one_line(&open));
    found.retain(|text| text.chars().any(char::is_alphanumeric));
    found
}

/// Whether a sentence ends with an abbreviation and thus continues.
fn ends_early(text: &str) -> bool {
    let text = text.trim_end();
    let last = text.rsplit(' ').next().unwrap_or_default();
    matches!(
        last,
        "Dr."
            | "Mr."
            | "Mrs."
            | "Ms."
            | "Prof."
            | "St."
            | "e.g."
            | "i.e."
            | "vs."
            | "No."
            | "approx."
    )
}

fn block(lines: &[&str]) -> Option<Sentence> {
    let first = lines.iter().find(|line| !line.trim().is_empty())?;
    let first = words::clip(&words::one_line(first), 120);
    let text = match lines.len() {
        1 => format!("[code] {first}"),
        count => format!("[code, {count} lines] {first}"),
    };
    Some(Sentence {
        text,
        is_code: true,
    })
}

fn data(text: &str) -> Option<Sentence> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) || text.len() < 2 {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let text = digest::of_value(&value);
    (!text.is_empty()).then_some(Sentence {
        text,
        is_code: true,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(text: &str) -> Vec<String> {
        sentences(text).into_iter().map(|s| s.text).collect()
    }

    #[test]
    fn sentences_are_found_in_any_script() {
        assert_eq!(
            texts("I saw Dr. Smith. He said yes!\nOk?"),
            ["I saw Dr. Smith.", "He said yes!", "Ok?"]
        );
        assert_eq!(
            texts("我住在北京。我喜欢猫。"),
            ["我住在北京。", "我喜欢猫。"]
        );
        assert!(texts(" … \n\n!!").is_empty());
    }

    #[test]
    fn code_and_data_are_shortened() {
        let text = "Try this:\n```rust\nfn main() {\n}\n```\nDone.";
        assert_eq!(
            texts(text),
            ["Try this:", "[code, 2 lines] fn main() {", "Done."]
        );
        assert_eq!(texts("```\nx = 1"), ["[code] x = 1"]);
        assert_eq!(texts(r#"{"id": 7, "status": "ok"}"#), ["id=7, status=ok"]);
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "(?s)[`{}\\[\\]\".!?。 \na-z\u{0}\u{2028}é漢]{0,200}") {
            for sentence in sentences(&text) {
                let broken = sentence.text.contains(['\n', '\u{0}', '\u{2028}']);
                prop_assert!(!broken);
                prop_assert!(!sentence.text.is_empty());
            }
        }
    }
}

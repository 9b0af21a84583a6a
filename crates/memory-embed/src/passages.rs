//! Divides long documents into passages.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::weight::{first_of_weight, weight};

/// Divides a text into passages of at most this weight, at the ends of sentences and lines, and within
/// a sentence that alone exceeds it. Together they are the text.
pub(crate) fn passages(text: &str, most: usize) -> Vec<&str> {
    let mut passages = Vec::new();
    let (mut begin, mut end, mut taken) = (0, 0, 0);
    for sentence in text.split_sentence_bounds() {
        let all: usize = sentence.chars().map(weight).sum();
        if taken > 0 && taken + all > most {
            passages.push(&text[begin..end]);
            (begin, taken) = (end, 0);
        }
        end += sentence.len();
        taken += all;
        while taken > most {
            let part = first_of_weight(&text[begin..end], most);
            if part.is_empty() {
                break;
            }
            passages.push(part);
            begin += part.len();
            taken = text[begin..end].chars().map(weight).sum();
        }
    }
    if begin < text.len() {
        passages.push(&text[begin..]);
    }
    passages
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn passages_end_where_sentences_and_lines_do() {
        let text = "One is here. Two is there.\n- three\n- four";
        assert_eq!(
            passages(text, 29),
            ["One is here. ", "Two is there.\n", "- three\n- four"]
        );
        assert_eq!(passages("ab cd ef", 5), ["ab cd", " ef"]);
        assert_eq!(passages("", 5), [""; 0]);
    }

    proptest! {
        #[test]
        fn passages_are_the_text_and_fit(text in "(?s).{0,200}|([a-z]{1,9}[ .\n]){0,60}", most in 9_usize..90) {
            let passages = passages(&text, most);
            prop_assert_eq!(passages.concat(), text.as_str());
            for passage in passages {
                prop_assert!(!passage.is_empty());
                prop_assert!(passage.chars().map(weight).sum::<usize>() <= most);
            }
        }
    }
}

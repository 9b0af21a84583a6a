//! What the derived text of a context quotes, to tell which messages add nothing to it.

use memory_contract::{
    message::{Content, Part},
    text::bare_text,
};

/// The words of texts in lower case, separated by single spaces.
pub(super) struct Gist(String);

impl Gist {
    pub(super) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut all = String::from(" ");
        for text in texts {
            add_words(text, &mut all);
            // A sentence does not go on in another text.
            all.push_str("| ");
        }
        Self(all)
    }

    /// Whether each sentence of a message stands in the texts, in the same words. A message
    /// without words, and one that is not text alone, adds something.
    pub(super) fn has_all_of(&self, parts: &[Part]) -> bool {
        let is_text = |part: &Part| matches!(part.content, Content::Text(_));
        if !parts.iter().all(is_text) {
            return false;
        }
        let text = bare_text(parts);
        let mut any = false;
        for sentence in text.split(ENDS) {
            let mut words = String::from(" ");
            add_words(sentence, &mut words);
            if words.len() == 1 {
                continue;
            }
            if !self.0.contains(&words) {
                return false;
            }
            any = true;
        }
        any
    }
}

/// The ends of sentences and lines.
const ENDS: [char; 7] = ['.', '!', '?', '\n', '。', '！', '？'];

/// Appends the words of a text, each with a space after it.
fn add_words(text: &str, words: &mut String) {
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if !word.is_empty() {
            words.extend(word.chars().flat_map(char::to_lowercase));
            words.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_held_if_each_of_its_sentences_is_quoted() {
        let texts = ["Ada: My dog is called Pixel.\n- He eats FISH", "and rice."];
        let gist = Gist::of(texts.into_iter());
        for (text, expected) in [
            ("My dog is called Pixel.", true),
            ("he eats fish! My dog is called Pixel", true),
            ("My dog is called Pixel. He is four.", false),
            ("My dog is called Pix", false),
            ("og is called Pixel", false),
            // Words of two texts are no sentence.
            ("He eats fish and rice.", false),
            ("?!", false),
            ("", false),
        ] {
            assert_eq!(gist.has_all_of(&[Part::text(text)]), expected, "{text:?}");
        }
        assert!(!gist.has_all_of(&[]));
    }
}

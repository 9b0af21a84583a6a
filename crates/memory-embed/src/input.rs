//! What a model is given of a text: its beginning, behind a prefix.

use std::borrow::Cow;

use crate::config::EmbedderConfig;
use crate::passages::passages;
use crate::profile::Profile;
use crate::weight::{WEIGHT_PER_TOKEN, first_of_weight};

/// The prefixes and the longest text of a model.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    query_prefix: String,
    document_prefix: String,
    length: Length,
}

/// The longest text, prefix not included.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    /// The model's own tokenizer cuts after this many tokens.
    Tokenized(usize),
    /// The text is cut before it is sent, so that a model of this many tokens reads all of it.
    Estimated(usize),
}

/// Upper bound of the bytes in nearly every token.
const BYTES_PER_TOKEN: usize = 32;
/// Tokens of a passage: a vector says the less about each statement the more of them it stands for.
const PASSAGE_TOKENS: usize = 128;

impl Input {
    pub(crate) fn new(config: &EmbedderConfig, profile: &Profile, length: Length) -> Self {
        let prefix = |set: &Option<String>, known: &str| match set {
            Some(prefix) => prefix.clone(),
            None => known.to_owned(),
        };
        Self {
            query_prefix: prefix(&config.query_prefix, profile.query_prefix),
            document_prefix: prefix(&config.document_prefix, profile.document_prefix),
            length,
        }
    }

    /// The beginning of a text, which is all that the model reads. It saves tokenizing or
    /// sending the rest of a long text.
    pub(crate) fn clip<'a>(&self, text: &'a str) -> &'a str {
        match self.length {
            Length::Tokenized(tokens) => {
                let bytes = tokens.saturating_mul(BYTES_PER_TOKEN);
                &text[..text.floor_char_boundary(bytes)]
            }
            Length::Estimated(tokens) => {
                let prefix = self.query_prefix.len().max(self.document_prefix.len());
                let all = tokens.saturating_mul(WEIGHT_PER_TOKEN);
                // A prefix leaves at least half of the length.
                first_of_weight(text, all - prefix.min(all / 2))
            }
        }
    }

    /// The passages of a document after the first one, at most `most`. The beginning of the document,
    /// which is embedded for all of it, has the first one at least.
    pub(crate) fn later_passages<'a>(
        &self,
        text: &'a str,
        most: usize,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        let (Length::Tokenized(tokens) | Length::Estimated(tokens)) = self.length;
        let all = tokens.min(PASSAGE_TOKENS).saturating_mul(WEIGHT_PER_TOKEN);
        let weight = all - self.document_prefix.len().min(all / 2);
        let passages = passages(
            first_of_weight(text, weight.saturating_mul(most + 1)),
            weight,
        );
        let later = passages.into_iter().skip(1).take(most);
        later.filter(|passage| !passage.trim().is_empty())
    }

    /// The beginning of a text that is embedded as a query or as a document, with its prefix.
    pub(crate) fn prefixed<'a>(&self, text: &'a str, is_query: bool) -> Cow<'a, str> {
        let prefix = match is_query {
            true => &self.query_prefix,
            false => &self.document_prefix,
        };
        match prefix.is_empty() {
            true => self.clip(text).into(),
            false => format!("{prefix}{}", self.clip(text)).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(query_prefix: &str, length: Length) -> Input {
        Input {
            query_prefix: query_prefix.to_owned(),
            document_prefix: String::new(),
            length,
        }
    }

    #[test]
    fn queries_and_documents_get_their_prefixes_and_are_cut() {
        let input = input("query: ", Length::Tokenized(1));
        assert_eq!(input.prefixed("Who?", true), "query: Who?");
        assert_eq!(input.prefixed("Ada", false), "Ada");
        let long = "ü".repeat(BYTES_PER_TOKEN);
        let half = "ü".repeat(BYTES_PER_TOKEN / 2);
        assert_eq!(input.prefixed(&long, false), half);
    }

    #[test]
    fn a_text_for_an_endpoint_is_cut_by_its_characters() {
        let input = input("", Length::Estimated(100));
        let chars = |text: &str| input.clip(&text.repeat(1_000)).chars().count();
        assert_eq!(chars("word "), 300);
        assert_eq!(chars("ü"), 150);
        assert_eq!(chars("記憶"), 100);
        assert_eq!(chars("0"), 100);
        assert_eq!(input.clip("short"), "short");
    }

    #[test]
    fn a_prefix_takes_its_part_of_the_length() {
        let prefixed = input("query: ", Length::Estimated(100));
        assert_eq!(prefixed.clip(&"a".repeat(1_000)).len(), 293);
        let long_prefix = input(&"a".repeat(1_000), Length::Estimated(100));
        assert_eq!(long_prefix.clip(&"a".repeat(1_000)).len(), 150);
    }
}

//! Tokens, as the caller's model counts them.
//!
//! tiktoken-rs does the work. Two of its weaknesses are kept away from callers:
//! its time per byte grows with the length of a run without a word boundary
//! (16 MiB of dots take 48 s), and it panics where the pattern gives up on a
//! run of white space of 1 MiB. So text goes to it in chunks of at most 4 KiB.

use std::iter;

use memory_contract::Part;
use tiktoken_rs::{CoreBPE, tokenizer::Tokenizer as Encoding};

use crate::lines::lines;

/// Tokens that a chat model's format puts around each message.
///
/// Source: the OpenAI cookbook, "How to count tokens with tiktoken"
/// (`tokens_per_message`).
pub const FRAME_TOKENS: i32 = 3;

/// The most bytes that are encoded at once.
const CHUNK_BYTES: usize = 4 * 1024;

/// An encoding that counts tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tokenizer {
    /// GPT-4o, GPT-4.1, GPT-5, gpt-oss and the o series. Stored counts use it.
    #[default]
    O200kBase,
    /// GPT-4, GPT-3.5 and the embedding models.
    Cl100kBase,
    /// Codex and text-davinci-002 and -003.
    P50kBase,
    /// GPT-2 and GPT-3.
    R50kBase,
}

impl Tokenizer {
    /// All encodings.
    pub const ALL: [Self; 4] = [
        Self::O200kBase,
        Self::Cl100kBase,
        Self::P50kBase,
        Self::R50kBase,
    ];

    /// The tokenizer of a model, and whether the model is known.
    ///
    /// A model is named as its maker names it (`gpt-4o-2024-05-13`), with the
    /// prefix of a gateway (`openai/gpt-4o`), as a fine-tuned one
    /// (`ft:gpt-4o:acme::1`), or by its encoding (`cl100k_base`). A model that
    /// is not known gets the default, `o200k_base`, and `false`: its counts are
    /// an estimate. The empty name asks for the default, so it counts as known.
    pub fn for_model(model: &str) -> (Self, bool) {
        if model.is_empty() {
            return (Self::default(), true);
        }
        if let Some(tokenizer) = Self::ALL.into_iter().find(|known| known.name() == model) {
            return (tokenizer, true);
        }
        let encoding = tiktoken_rs::tokenizer::get_tokenizer(model).or_else(|| {
            let (_, name) = model.rsplit_once('/')?;
            tiktoken_rs::tokenizer::get_tokenizer(name)
        });
        match encoding {
            // Harmony differs in its special tokens alone, and stored text has
            // none. The same holds for the edit models.
            Some(Encoding::O200kBase | Encoding::O200kHarmony) => (Self::O200kBase, true),
            Some(Encoding::Cl100kBase) => (Self::Cl100kBase, true),
            Some(Encoding::P50kBase | Encoding::P50kEdit) => (Self::P50kBase, true),
            Some(Encoding::R50kBase | Encoding::Gpt2) => (Self::R50kBase, true),
            None => (Self::default(), false),
        }
    }

    /// The encoding's public name, such as `o200k_base`.
    pub fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
            Self::P50kBase => "p50k_base",
            Self::R50kBase => "r50k_base",
        }
    }

    /// Loads the encoding, which otherwise the first count does: about 0.3 s
    /// and 45 MB for `o200k_base`, half of that for `cl100k_base`. An encoding
    /// is loaded once in a process and stays. It blocks.
    pub fn warm(self) {
        self.encoding();
    }

    /// Tokens of a text. Names of special tokens, such as `<|endoftext|>`, count
    /// as the plain text that they are.
    ///
    /// It never panics, and its time is linear: 30 to 50 ns for each byte of
    /// prose, at worst 0.3 µs. The count is what tiktoken counts, but for a run
    /// of over 4 KiB in which no word is followed by a blank: such a run is
    /// counted in pieces, and each seam may add or save a token or two.
    pub fn count(self, text: &str) -> i32 {
        self.count_up_to(text, i32::MAX)
    }

    /// Tokens of a message: its parts, the speaker's name, and
    /// [`FRAME_TOKENS`].
    ///
    /// Parts cost the lines of `memory_contract::text_of_parts`: text, data as
    /// JSON, a call's tool and arguments, a file's caption and name. Lines are
    /// counted one by one, and a line break between two is a token, so that a
    /// message costs the sum of its parts.
    pub fn count_message(self, name: &str, parts: &[Part]) -> i32 {
        let mut tokens = FRAME_TOKENS.saturating_add(self.count(name));
        for (index, line) in lines(parts).enumerate() {
            let line_break = i32::from(index > 0);
            tokens = tokens.saturating_add(self.count(&line) + line_break);
        }
        tokens
    }

    /// A prefix of at most `max_tokens` tokens that ends between two characters:
    /// the whole text where that fits, and as a rule the longest one otherwise.
    /// A budget below 1 leaves nothing.
    pub fn prefix(self, text: &str, max_tokens: i32) -> &str {
        let mut tokens = usize::try_from(max_tokens).unwrap_or(0);
        let mut step = 1;
        loop {
            // The text of n tokens may be more than n tokens when it stands
            // alone: the last word was cut, or the last character was. Nothing
            // is 0 tokens, so this ends.
            let prefix = self.first_tokens(text, tokens);
            if prefix.is_empty() || self.count_up_to(prefix, max_tokens) <= max_tokens {
                return prefix;
            }
            tokens = tokens.saturating_sub(step);
            step *= 2;
        }
    }

    /// Tokens of a text, or some number over `enough` where there are more. It
    /// takes no longer than it must to know.
    pub(crate) fn count_up_to(self, text: &str, enough: i32) -> i32 {
        if text.is_empty() {
            return 0;
        }
        let encoding = self.encoding();
        let mut tokens: i32 = 0;
        for chunk in chunks(text) {
            let more = i32::try_from(encoding.count_ordinary(chunk)).unwrap_or(i32::MAX);
            tokens = tokens.saturating_add(more);
            if tokens > enough {
                break;
            }
        }
        tokens
    }

    fn first_tokens(self, text: &str, tokens: usize) -> &str {
        let encoding = self.encoding();
        let mut left = tokens;
        let mut bytes = 0;
        for chunk in chunks(text) {
            let encoded = encoding.encode_ordinary(chunk);
            if encoded.len() > left {
                // Every token here was just made by this encoding.
                let kept = encoding.decode_bytes(&encoded[..left]).unwrap_or_default();
                bytes += kept.len();
                break;
            }
            left -= encoded.len();
            bytes += chunk.len();
        }
        &text[..text.floor_char_boundary(bytes)]
    }

    fn encoding(self) -> &'static CoreBPE {
        match self {
            Self::O200kBase => tiktoken_rs::o200k_base_singleton(),
            Self::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
            Self::P50kBase => tiktoken_rs::p50k_base_singleton(),
            Self::R50kBase => tiktoken_rs::r50k_base_singleton(),
        }
    }
}

/// Splits text into chunks of at most [`CHUNK_BYTES`], where possible at a seam
/// that changes no count.
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (chunk, tail) = rest.split_at(chunk_end(rest));
        rest = tail;
        Some(chunk)
    })
}

fn chunk_end(text: &str) -> usize {
    if text.len() <= CHUNK_BYTES {
        return text.len();
    }
    let end = text.floor_char_boundary(CHUNK_BYTES);
    last_seam(&text[..end]).unwrap_or(end)
}

/// The last place where a blank follows something that is not white space. In
/// the patterns of all encodings a match that has begun before white space can
/// take line breaks, but never a blank, so no token spans such a place.
fn last_seam(window: &str) -> Option<usize> {
    let mut window = window;
    loop {
        let blank = window.rfind([' ', '\t'])?;
        let word_end = window[..blank].trim_end().len();
        if word_end == 0 {
            return None;
        }
        if window[word_end..].starts_with([' ', '\t']) {
            return Some(word_end);
        }
        window = &window[..word_end];
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Words, blanks and line breaks, with few runs that are long.
    fn prose() -> impl Strategy<Value = String> {
        prop::collection::vec("[a-zA-Z0-9é漢'.,!/-]{1,9}[ \t\n\r\u{3000}]{1,3}", 0..2_500)
            .prop_map(|words| words.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn chunks_are_the_text_and_none_is_too_long(text in "\\PC{0,9000}") {
            prop_assert_eq!(chunks(&text).collect::<String>(), text.clone());
            prop_assert!(chunks(&text).all(|chunk| (1..=CHUNK_BYTES).contains(&chunk.len())));
        }

        #[test]
        fn a_seam_between_words_changes_no_count(text in prose()) {
            for tokenizer in Tokenizer::ALL {
                let whole = tokenizer.encoding().count_ordinary(&text);
                prop_assert_eq!(tokenizer.count(&text) as usize, whole);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn no_token_spans_a_seam(text in "[asSA!'/é\u{301}漢ⓐ1 \t\n\r\u{a0}]{2,40}") {
            if let Some(seam) = last_seam(&text) {
                for tokenizer in Tokenizer::ALL {
                    let (left, right) = text.split_at(seam);
                    let [left, right, whole] =
                        [left, right, &text].map(|part| tokenizer.encoding().count_ordinary(part));
                    prop_assert_eq!(left + right, whole);
                }
            }
        }
    }
}

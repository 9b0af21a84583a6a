//! Counts tokens as the caller's model does.
//!
//! tiktoken-rs does the work, in chunks of at most 4 KiB, because of two weaknesses: its
//! time per byte grows with the length of a run without a word boundary (16 MiB of dots
//! take 48 s), and it panics if its pattern gives up on 1 MiB of white space.

use std::iter;

use memory_contract::{
    file::{FileRef, FileType},
    message::Part,
    text,
};
use tiktoken_rs::{CoreBPE, tokenizer::Tokenizer as Encoding};

use crate::files::{DESCRIBED, FileRates, Kinds, STORED_RATES, has_files};
use crate::lines::lines;
use crate::window::bare_name;

/// Tokens that a chat model's format puts around each message.
///
/// Source: the OpenAI cookbook, "How to count tokens with tiktoken"
/// (`tokens_per_message`).
pub const FRAME_TOKENS: i32 = 3;

/// Most bytes that are encoded at once.
const CHUNK_BYTES: usize = 4 * 1024;

/// How a model counts tokens: the encoding of texts, and the tokens of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tokenizer {
    encoding: Words,
    files: FileRates,
    /// The files that count as the words that describe them.
    described: Kinds,
}

/// An encoding of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Words {
    O200k,
    Cl100k,
    P50k,
    R50k,
}

impl Default for Tokenizer {
    fn default() -> Self {
        Self::O200kBase
    }
}

#[expect(non_upper_case_globals, reason = "the names of encodings")]
impl Tokenizer {
    /// GPT-4o, GPT-4.1, gpt-oss and the o series; files count as for GPT-4o. Stored counts
    /// use it.
    pub const O200kBase: Self = Self::of(Words::O200k);
    /// GPT-4, GPT-3.5 and the embedding models.
    pub const Cl100kBase: Self = Self::of(Words::Cl100k);
    /// Codex and text-davinci-002 and -003.
    pub const P50kBase: Self = Self::of(Words::P50k);
    /// GPT-2 and GPT-3.
    pub const R50kBase: Self = Self::of(Words::R50k);
}

impl Tokenizer {
    /// All encodings.
    pub const ALL: [Self; 4] = [
        Self::O200kBase,
        Self::Cl100kBase,
        Self::P50kBase,
        Self::R50kBase,
    ];

    const fn of(encoding: Words) -> Self {
        Self {
            encoding,
            files: STORED_RATES,
            described: Kinds::NONE,
        }
    }

    /// The tokenizer of a model, and whether the model is known.
    ///
    /// The name may be the maker's (`gpt-4o-2024-05-13`), have the prefix of a gateway
    /// (`openai/gpt-4o`), be fine-tuned (`ft:gpt-4o:acme::1`), or be an encoding
    /// (`cl100k_base`). An unknown model gets the default, `o200k_base`, and `false`: its
    /// counts are estimates. The empty name means the default and counts as known. Files
    /// count as the maker of the model says, also where its encoding is unknown.
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
        let (encoding, known) = match encoding {
            // Harmony and the edit models differ only in special tokens, which stored text does
            // not have.
            Some(Encoding::O200kBase | Encoding::O200kHarmony) => (Words::O200k, true),
            Some(Encoding::Cl100kBase) => (Words::Cl100k, true),
            Some(Encoding::P50kBase | Encoding::P50kEdit) => (Words::P50k, true),
            Some(Encoding::R50kBase | Encoding::Gpt2) => (Words::R50k, true),
            None => (Words::O200k, false),
        };
        let files = FileRates::of(&bare_name(model));
        let tokenizer = Self {
            files,
            ..Self::of(encoding)
        };
        (tokenizer, known)
    }

    /// The encoding's public name, such as `o200k_base`.
    pub fn name(self) -> &'static str {
        match self.encoding {
            Words::O200k => "o200k_base",
            Words::Cl100k => "cl100k_base",
            Words::P50k => "p50k_base",
            Words::R50k => "r50k_base",
        }
    }

    /// The same for images in low detail.
    #[must_use]
    pub fn in_low_detail(mut self) -> Self {
        self.files = self.files.in_low_detail();
        self
    }

    /// The same where files of these kinds are described in text and not sent.
    #[must_use]
    pub fn describing(mut self, kinds: impl IntoIterator<Item = FileType>) -> Self {
        self.described = kinds.into_iter().fold(self.described, Kinds::with);
        self
    }

    /// Whether texts count as in stored counts.
    pub fn counts_texts_as_stored(self) -> bool {
        self.encoding == Words::O200k
    }

    /// Loads the encoding, which otherwise the first count does. Blocks for about 0.3 s and
    /// takes 45 MB for `o200k_base`, half of that for `cl100k_base`. An encoding is loaded
    /// once and stays in memory.
    pub fn warm(self) {
        self.encoding();
    }

    /// Tokens of a text. Names of special tokens, such as `<|endoftext|>`, count as plain
    /// text.
    ///
    /// It never panics, and its time is linear: 30 to 50 ns per byte of prose, at most
    /// 0.3 µs. The count equals tiktoken's, except for runs of over 4 KiB without a space
    /// after a word: each split of such a run may add or save a token or two.
    pub fn count(self, text: &str) -> i32 {
        self.count_up_to(text, i32::MAX)
    }

    /// Tokens of a message: its parts, the speaker's name, and
    /// [`FRAME_TOKENS`].
    ///
    /// Parts count as the lines of `memory_contract::text::bare_text`: text, data as JSON, a
    /// call's tool and arguments, a file's caption and name. Reasoning counts with all its
    /// texts, an opaque part with its JSON, and a signature with its text, because all of
    /// them go back to the provider. Each line is counted alone, plus a token for each line
    /// break, so that a message is the sum of its parts. The content of a file counts 1 token
    /// or more: an image by the formula of the model's provider, others by estimates.
    pub fn count_message(self, name: &str, parts: &[Part]) -> i32 {
        self.message_tokens(name, parts, |text| self.count(text))
    }

    /// [`Tokenizer::count_message`] of a message that was probably counted before, as
    /// [`Tokenizer::recount`].
    pub fn count_known_message(self, name: &str, parts: &[Part]) -> i32 {
        self.message_tokens(name, parts, |text| self.recount(text))
    }

    fn message_tokens(self, name: &str, parts: &[Part], count: impl Fn(&str) -> i32) -> i32 {
        let mut tokens = FRAME_TOKENS.saturating_add(count(name));
        for (index, line) in lines(parts).enumerate() {
            let line_break = i32::from(index > 0);
            tokens = tokens.saturating_add(count(&line) + line_break);
        }
        tokens.saturating_add(self.count_files(parts))
    }

    /// Tokens of a stored message, whose stored count is `stored`. It recounts only what
    /// counts differently.
    pub fn recount_message(self, stored: i32, name: &str, parts: &[Part]) -> i32 {
        match self {
            Self::O200kBase => stored,
            _ if !self.counts_texts_as_stored() => self.count_known_message(name, parts),
            _ if !has_files(parts) => stored,
            _ => stored
                .saturating_sub(STORED_RATES.of_parts(parts))
                .saturating_add(self.count_files(parts)),
        }
    }

    /// Tokens of the content of the files in parts.
    pub(crate) fn count_files(self, parts: &[Part]) -> i32 {
        let files = parts.iter().flat_map(Part::files);
        files.fold(0, |sum: i32, file| {
            sum.saturating_add(self.count_file(file))
        })
    }

    /// Tokens of the content of a file.
    pub(crate) fn count_file(self, file: &FileRef) -> i32 {
        match self.described.contains(file.kind) {
            true => self.count_description(file),
            false => self.files.of_file(file),
        }
    }

    /// Tokens of the text that describes a file, without caption and name, which are lines of
    /// the message.
    fn count_description(self, file: &FileRef) -> i32 {
        match file.words().next() {
            Some(_) => DESCRIBED,
            None => self.count(&text::of_file(file)),
        }
    }

    /// A prefix of at most `max_tokens` tokens that ends between two characters: the whole
    /// text if it fits, otherwise usually the longest possible. Empty for a budget below 1.
    pub fn prefix(self, text: &str, max_tokens: i32) -> &str {
        let mut tokens = usize::try_from(max_tokens).unwrap_or(0);
        let mut step = 1;
        loop {
            // The text of n tokens may have more than n tokens by itself, because its last
            // word or character was cut. The empty text has 0 tokens, so this ends.
            let prefix = self.first_tokens(text, tokens);
            if prefix.is_empty() || self.count_up_to(prefix, max_tokens) <= max_tokens {
                return prefix;
            }
            tokens = tokens.saturating_sub(step);
            step *= 2;
        }
    }

    /// Tokens of a text, or some number over `enough` if there are more. It stops counting as
    /// soon as that is known.
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
                // Every token was just created by this encoding.
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
        match self.encoding {
            Words::O200k => tiktoken_rs::o200k_base_singleton(),
            Words::Cl100k => tiktoken_rs::cl100k_base_singleton(),
            Words::P50k => tiktoken_rs::p50k_base_singleton(),
            Words::R50k => tiktoken_rs::r50k_base_singleton(),
        }
    }
}

/// Splits text into chunks of at most [`CHUNK_BYTES`], if possible at a point that does
/// not change the count.
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
    last_split_point(&text[..end]).unwrap_or(end)
}

/// The last point at which a space follows a character that is not white space. In the
/// patterns of all encodings, a match that begins before white space may include line
/// breaks but never a space, so no token spans such a point.
fn last_split_point(window: &str) -> Option<usize> {
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
    use memory_contract::{
        file::{FileExtent, FileLocation},
        message::Content,
    };
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_that_is_described_counts_as_its_description() {
        let image = FileRef {
            kind: FileType::Image,
            location: FileLocation::UploadFileId("u-1".into()),
            name: String::new(),
            mime_type: String::new(),
            size_bytes: 0,
            caption: String::new(),
            extent: FileExtent::default(),
        };
        let parts = [Part::from(Content::File(image))];
        let tokenizer = Tokenizer::for_model("gpt-4o").0;
        let sent = FRAME_TOKENS + 765;
        assert_eq!(tokenizer.count_message("", &parts), sent);
        let documents = tokenizer.describing([FileType::Document]);
        assert_eq!(documents.count_message("", &parts), sent);
        let described = tokenizer.describing([FileType::Image]);
        let words = FRAME_TOKENS + tokenizer.count("[image]");
        assert_eq!(described.count_message("", &parts), words);
        assert_eq!(described.recount_message(sent, "", &parts), words);
    }

    /// Words, spaces and line breaks, with few long runs.
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
        fn no_token_spans_a_split_point(text in "[asSA!'/é\u{301}漢ⓐ1 \t\n\r\u{a0}]{2,40}") {
            if let Some(split) = last_split_point(&text) {
                for tokenizer in Tokenizer::ALL {
                    let (left, right) = text.split_at(split);
                    let [left, right, whole] =
                        [left, right, &text].map(|part| tokenizer.encoding().count_ordinary(part));
                    prop_assert_eq!(left + right, whole);
                }
            }
        }
    }
}

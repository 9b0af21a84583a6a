//! Tokens, as the caller's model counts them.

use memory_contract::Part;

/// Tokens that each message costs beside its content.
pub const FRAME_TOKENS: i32 = 3;

/// An encoding that counts tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tokenizer {
    /// GPT-4o, GPT-4.1, GPT-5, the o series; what stored counts use.
    #[default]
    O200kBase,
    /// GPT-4, GPT-3.5 and the embedding models.
    Cl100kBase,
    /// The last completion and code models before GPT-3.5.
    P50kBase,
    /// GPT-2 and GPT-3.
    R50kBase,
}

impl Tokenizer {
    /// The tokenizer of a model, and whether the model is known.
    pub fn for_model(_model: &str) -> (Self, bool) {
        unimplemented!()
    }

    /// The encoding's public name, such as `o200k_base`.
    pub fn name(self) -> &'static str {
        unimplemented!()
    }

    /// Loads the encoding now.
    pub fn warm(self) {
        unimplemented!()
    }

    /// Tokens of a text.
    pub fn count(self, _text: &str) -> i32 {
        unimplemented!()
    }

    /// Tokens of a message, frame included.
    pub fn count_message(self, _name: &str, _parts: &[Part]) -> i32 {
        unimplemented!()
    }

    /// The longest prefix found of at most `max_tokens` tokens.
    pub fn prefix(self, _text: &str, _max_tokens: i32) -> &str {
        unimplemented!()
    }
}

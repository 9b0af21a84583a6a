//! The tokenizer of a model in this process.

use std::path::Path;

use kitoken::Kitoken;
use serde::Deserialize;

use crate::vocabulary::{self, Error};

/// Makes texts into the numbers that a network reads.
#[derive(Debug)]
pub(crate) struct Tokenizer {
    vocabulary: Kitoken,
    begin: u32,
    end: u32,
    pad: u32,
    /// Tokens of a text, with those of its begin and end.
    max_length: usize,
}

/// Texts of one batch, each a row of `length` tokens.
pub(crate) struct Batch {
    /// Tokens of the longest text.
    pub(crate) length: usize,
    pub(crate) ids: Vec<i64>,
    /// 1 for a token of the text, 0 after its end.
    pub(crate) mask: Vec<i64>,
}

/// `tokenizer_config.json`.
#[derive(Deserialize)]
struct Specials {
    cls_token: String,
    sep_token: String,
    pad_token: String,
}

impl Tokenizer {
    /// Reads the tokenizer of the model in a directory. It cuts texts to `max_length` tokens. One of a
    /// hundred languages takes 60 MB of memory.
    pub(crate) fn read(directory: &Path, max_length: usize) -> Result<Self, Error> {
        let specials = std::fs::read(directory.join("tokenizer_config.json"))?;
        let specials: Specials = serde_json::from_slice(&specials)?;
        let vocabulary = vocabulary::read(directory)?;
        let special = |token: &str| match vocabulary.encode(token, true)?[..] {
            [id] => Ok(id),
            _ => Err(Error::from(format!("the vocabulary lacks {token}"))),
        };
        Ok(Self {
            begin: special(&specials.cls_token)?,
            end: special(&specials.sep_token)?,
            pad: special(&specials.pad_token)?,
            vocabulary,
            max_length,
        })
    }

    /// The tokens of texts. A special token's name in a text is text.
    pub(crate) fn encode(&self, texts: &[&str]) -> Result<Batch, Error> {
        let encoded: Result<Vec<_>, _> = texts.iter().map(|text| self.encode_one(text)).collect();
        let encoded = encoded?;
        let length = encoded.iter().map(Vec::len).max().unwrap_or_default();
        let mut batch = Batch {
            length,
            ids: Vec::with_capacity(texts.len() * length),
            mask: Vec::with_capacity(texts.len() * length),
        };
        for tokens in encoded {
            let row = batch.ids.len() + length;
            batch.mask.resize(batch.ids.len() + tokens.len(), 1);
            batch.mask.resize(row, 0);
            batch.ids.extend(tokens.into_iter().map(i64::from));
            batch.ids.resize(row, self.pad.into());
        }
        Ok(batch)
    }

    fn encode_one(&self, text: &str) -> Result<Vec<u32>, Error> {
        let mut tokens = self.vocabulary.encode(text, false)?;
        tokens.truncate(self.max_length.saturating_sub(2));
        tokens.insert(0, self.begin);
        tokens.push(self.end);
        Ok(tokens)
    }
}

#![doc = include_str!("../README.md")]

mod bm25;
mod common;
mod content;
mod form;
mod lexical;
#[cfg(test)]
mod messages;
mod names;
mod vector;
mod words;

pub use common::is_common;
pub use content::{is_question, is_short, meaning};
pub use form::{Form, MOST_CHARS, Trait, short_hash};
pub use lexical::{lexical_document, lexical_memory, lexical_query};
pub use names::{in_first_person, is_same_speaker, named_speakers};
pub use vector::LexicalVector;
pub use words::{characters, folded_words, hash, words};

/// The version of the recipe by which messages become texts to embed and weighted words. It is part
/// of the name of a collection: change it with the recipe.
pub const RECIPE_VERSION: &str = "r10";

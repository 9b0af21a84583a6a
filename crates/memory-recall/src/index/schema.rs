//! What an index was made for.

use crate::embed::EmbeddingModel;
use crate::error::RecallError;
use crate::text;

/// The dense vector's name.
pub(crate) const DENSE: &str = "dense";
/// The sparse vector's name.
pub(crate) const LEXICAL: &str = "lexical";

/// What an index was made for: points of another model, or of another text
/// recipe, cannot be compared with its own, so they get another collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    collection: String,
    dimensions: Option<usize>,
}

impl IndexSchema {
    /// For this model, or for words alone.
    pub fn new(alias: &str, model: Option<&EmbeddingModel>) -> Self {
        let name = model.map_or("lexical", |model| model.name.as_str());
        let name: String = name
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '-'
                }
            })
            .collect();
        Self {
            collection: format!("{alias}-{name}-{}", text::VERSION),
            dimensions: model.map(|model| model.dimensions),
        }
    }

    /// The versioned collection's name, such as
    /// `recollect-all-minilm-l6-v2-int8-r2`.
    pub fn collection(&self) -> &str {
        &self.collection
    }

    /// Numbers in a dense vector; `None`: the index has words alone.
    pub fn dimensions(&self) -> Option<usize> {
        self.dimensions
    }

    /// Whether a query's vector is of the index's kind; none always is.
    pub(crate) fn check_query(&self, dense: Option<&[f32]>) -> Result<(), RecallError> {
        dense.map_or(Ok(()), |dense| self.check(dense.len()))
    }

    /// Whether a point's vector is of the index's kind; none is, in an index
    /// with words alone.
    pub(crate) fn check_point(&self, dense: Option<&[f32]>) -> Result<(), RecallError> {
        self.check(dense.map_or(0, <[f32]>::len))
    }

    fn check(&self, found: usize) -> Result<(), RecallError> {
        let expected = self.dimensions.unwrap_or_default();
        if expected == found {
            Ok(())
        } else {
            Err(RecallError::Dimensions { expected, found })
        }
    }
}

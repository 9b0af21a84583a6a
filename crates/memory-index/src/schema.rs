//! Identifies the model and the text recipe of an index.

use memory_embed::EmbeddingModel;
use memory_text::RECIPE_VERSION;

use crate::error::IndexError;

/// Name of the dense vector.
pub(crate) const DENSE: &str = "dense";
/// Name of the sparse vector.
pub(crate) const LEXICAL: &str = "lexical";
/// Between the alias and the rest of a collection's name, which has none.
const SEPARATOR: char = '.';
/// The share of a vector's numbers that the range of `int8` covers; the others are cut to it.
/// Qdrant's documentation advises 0.99.
pub(crate) const QUANTILE: f32 = 0.99;

/// The model and text recipe of the points in an index. Points of different models or
/// recipes cannot be compared, so each combination has its own collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    collection: String,
    dimensions: Option<usize>,
}

impl IndexSchema {
    /// The schema for a model; for lexical search alone without one.
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
            collection: format!("{alias}{SEPARATOR}{name}-{}", RECIPE_VERSION),
            dimensions: model.map(|model| model.dimensions),
        }
    }

    /// Whether a collection is one of an alias, of any model. `recollect` has no collection of
    /// `recollect-staging`.
    pub(crate) fn is_of_alias(alias: &str, collection: &str) -> bool {
        let rest = collection.strip_prefix(alias);
        let rest = rest.and_then(|rest| rest.strip_prefix(SEPARATOR));
        rest.is_some_and(|rest| !rest.contains(SEPARATOR))
    }

    /// The versioned collection's name, such as
    /// `recollect.multilingual-e5-small-int8-r10`.
    pub fn collection(&self) -> &str {
        &self.collection
    }

    /// Dimensions of the dense vectors; `None` for an index without them.
    pub fn dimensions(&self) -> Option<usize> {
        self.dimensions
    }

    /// Checks the dimensions of a query's vector, if it has one.
    pub(crate) fn check_query(&self, dense: Option<&[f32]>) -> Result<(), IndexError> {
        dense.map_or(Ok(()), |dense| self.check(dense.len()))
    }

    /// Checks the dimensions of a point's vector: present exactly if the index has
    /// dense vectors.
    pub(crate) fn check_point(&self, dense: Option<&[f32]>) -> Result<(), IndexError> {
        self.check(dense.map_or(0, <[f32]>::len))
    }

    fn check(&self, found: usize) -> Result<(), IndexError> {
        let expected = self.dimensions.unwrap_or_default();
        if expected == found {
            Ok(())
        } else {
            Err(IndexError::Dimensions { expected, found })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_that_begin_alike_have_different_collections() {
        let model = EmbeddingModel {
            name: "text-embedding-3.5/small".to_owned(),
            dimensions: 3,
        };
        let aliases = ["recollect", "recollect-staging", "recollect.staging", "rec"];
        for one in aliases {
            for other in aliases {
                for model in [None, Some(&model)] {
                    let collection = IndexSchema::new(other, model).collection;
                    let is_own = IndexSchema::is_of_alias(one, &collection);
                    assert_eq!(is_own, one == other, "{one} {collection}");
                }
            }
        }
        assert!(!IndexSchema::is_of_alias("recollect", "recollect"));
    }
}

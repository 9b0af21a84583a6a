//! What an index was made for.

use crate::embed::EmbeddingModel;
use crate::text;

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
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .collect();
        Self {
            collection: format!("{alias}-{name}-{}", text::VERSION),
            dimensions: model.map(|model| model.dimensions),
        }
    }

    /// The versioned collection's name, such as
    /// `recollect-all-minilm-l6-v2-int8-r1`.
    pub fn collection(&self) -> &str {
        &self.collection
    }

    /// Numbers in a dense vector; `None`: the index has words alone.
    pub fn dimensions(&self) -> Option<usize> {
        self.dimensions
    }
}

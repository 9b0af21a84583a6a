//! An app's own kinds of memories.

use serde::{Deserialize, Serialize};

/// A kind of memories that an app defines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryKind {
    /// Identifies it within the app.
    pub name: String,
    /// What is of this kind.
    pub description: String,
    /// The JSON Schema of the attributes, as text; empty: there are no attributes.
    #[serde(default)]
    pub json_schema: String,
    /// What becomes a memory of this kind; at most 8.
    #[serde(default)]
    pub examples: Vec<KindExample>,
}

/// A text and the memory that it becomes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindExample {
    /// What a user said.
    pub said: String,
    /// The text of the memory.
    pub text: String,
    /// Its attributes: the JSON text of an object; empty for none.
    #[serde(default)]
    pub attributes: String,
}

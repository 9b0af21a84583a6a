//! The kinds of index.

use std::fmt;

/// A kind of index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// The embedded engine.
    Edge,
    /// A Qdrant cluster.
    Qdrant,
}

impl Backend {
    /// Its name: `qdrant-edge` or `qdrant`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Edge => "qdrant-edge",
            Self::Qdrant => "qdrant",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

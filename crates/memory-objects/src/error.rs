//! What goes wrong with object storage.

use thiserror::Error;

/// An error of object storage.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ObjectsError {
    /// The settings cannot be used; an operator has to act.
    #[error("objects.{key}: {why}")]
    Config {
        /// The key within its settings, such as `url`.
        key: &'static str,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The object storage does not answer, or refuses.
    #[error("the object storage does not {what}")]
    Failed {
        /// The failed operation: `read`, `write` or `delete`.
        what: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The key of an object is not a valid path.
    #[error("the key of an object is not a valid path")]
    Key,
}

impl ObjectsError {
    /// The error of an operation that failed for `source`.
    pub fn failed(
        what: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Failed {
            what,
            source: source.into(),
        }
    }
}

//! Errors that name the key and the source of its value.

use std::fmt;
use std::path::PathBuf;

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value that cannot be used.
    #[error("{key} ({origin}): {problem}")]
    Value {
        /// The key, such as `server.listen`.
        key: String,
        /// Where the value came from, in words.
        origin: String,
        /// The problem.
        problem: String,
    },
    /// A key that does not exist.
    #[error("{key} ({origin}): there is no such key{}", Suggestion(.suggestion))]
    UnknownKey {
        /// The key as it was written.
        key: String,
        /// The source that contains it, in words.
        origin: String,
        /// The key that was probably meant.
        suggestion: Option<String>,
    },
    /// A file that was named and is not there.
    #[error("the configuration file {} does not exist", path.display())]
    FileMissing {
        /// The file.
        path: PathBuf,
    },
    /// A file that is not TOML.
    #[error("the configuration file {} cannot be read: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
}

impl ConfigError {
    /// A value that cannot be used. [`Provenance::locate`](crate::Provenance::locate) adds where
    /// it came from.
    pub fn value(key: &str, problem: impl Into<String>) -> Self {
        Self::Value {
            key: key.to_owned(),
            origin: "configuration".to_owned(),
            problem: problem.into(),
        }
    }
}

struct Suggestion<'a>(&'a Option<String>);

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(key) => write!(f, "; did you mean {key}?"),
            None => f.write_str("; `recollect config` lists all keys"),
        }
    }
}

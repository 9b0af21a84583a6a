//! Errors of configuration files.

use std::io;
use std::path::PathBuf;

/// Why a configuration cannot be changed. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not in its format, or a part of it has another type than the agent reads.
    #[error("{path} is left as it is: {problem}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Somebody else has written the file since it was read.
    #[error("{0} was changed meanwhile; run it again")]
    Changed(PathBuf),
    /// The file is a symbolic link to one that does not exist.
    #[error("{0} leads to a file that does not exist; make that file or remove the link")]
    Dangling(PathBuf),
    /// The agent has no configuration of projects.
    #[error("{0} has no configuration for one project; leave --project out")]
    NoProject(&'static str),
    /// The home directory is unknown.
    #[error("the directory of the user is unknown: set HOME")]
    NoHome,
}

//! What files were before Recollect was written into them.
//!
//! One record for each file, in `recollect/agents` of the user's state directory
//! (`$XDG_STATE_HOME`, or `~/.local/state`), which the user alone can read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy as _, choose_base_strategy};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::ConnectError;
use crate::file;

/// A file before a change, and a digest of it afterwards.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    path: PathBuf,
    /// `None`: there was no file.
    before: Option<String>,
    after: String,
}

/// What a file was before Recollect was written into it. `None` in it: there was no file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing is known.
    Unknown,
    /// The file is as Recollect left it.
    Same(Option<String>),
    /// The file was changed since.
    Changed(Option<String>),
}

/// What `path`, which has `text`, was.
pub(crate) fn before(path: &Path, text: &str) -> Result<Before, ConnectError> {
    let record = file::read(&record_of(path)?)?;
    let record = record.and_then(|json| serde_json::from_str::<Record>(&json).ok());
    Ok(match record {
        Some(record) if record.path == path => match record.after == digest(text) {
            true => Before::Same(record.before),
            false => Before::Changed(record.before),
        },
        _ => Before::Unknown,
    })
}

/// Remembers that a file was `before` until it became one with the text `new`.
pub(crate) fn remember(path: &Path, before: Option<String>, new: &str) -> Result<(), ConnectError> {
    let record = Record {
        path: path.to_owned(),
        before,
        after: digest(new),
    };
    let json = serde_json::to_string(&record).map_err(|error| ConnectError::Write {
        path: path.to_owned(),
        source: io::Error::other(error),
    })?;
    let place = record_of(path)?;
    if let Some(directory) = place.parent() {
        let failed = |source| ConnectError::Write {
            path: directory.to_owned(),
            source,
        };
        fs::create_dir_all(directory).map_err(failed)?;
    }
    file::write(&place, &json, true)
}

/// Forgets what a file was.
pub(crate) fn forget(path: &Path) -> Result<(), ConnectError> {
    file::remove(&record_of(path)?)
}

fn record_of(path: &Path) -> Result<PathBuf, ConnectError> {
    let strategy = choose_base_strategy().map_err(|_| ConnectError::NoHome)?;
    let state = strategy.state_dir().ok_or(ConnectError::NoHome)?;
    let name = digest(&path.to_string_lossy());
    Ok(state
        .join("recollect/agents")
        .join(format!("{}.json", &name[..32])))
}

fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

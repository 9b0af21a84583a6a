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

/// What a file was, if it is still as Recollect left it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// Unknown, or changed since.
    Unknown,
    /// There was no file.
    Nothing,
    Text(String),
}

/// What `path`, which has `text`, was.
pub(crate) fn before(path: &Path, text: &str) -> Result<Before, ConnectError> {
    let record = file::read(&record_of(path)?)?;
    let record = record.and_then(|json| serde_json::from_str::<Record>(&json).ok());
    Ok(match record {
        Some(record) if record.path == path && record.after == digest(text) => {
            match record.before {
                None => Before::Nothing,
                Some(before) => Before::Text(before),
            }
        }
        _ => Before::Unknown,
    })
}

/// Remembers that a file with the text `old`, which is `clean` without an entry of Recollect,
/// becomes one with the text `new`. Where `old` is what Recollect left, what was before that
/// counts.
pub(crate) fn remember(
    path: &Path,
    old: Option<&str>,
    clean: Option<&str>,
    new: &str,
) -> Result<(), ConnectError> {
    let before = match old {
        None => None,
        Some(old) => match before(path, old)? {
            Before::Unknown => Some(clean.unwrap_or(old).to_owned()),
            Before::Nothing => None,
            Before::Text(before) => Some(before),
        },
    };
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

//! The directories of services.

use std::{
    fs,
    path::{Path, PathBuf},
};

use memory_index::IndexConfig;
use tempfile::TempDir;

use crate::Failure;

/// Where a service has its data.
pub enum Directory {
    /// Removed when the run ends.
    Temporary(TempDir),
    /// Left for a later run.
    Kept(PathBuf),
}

impl Directory {
    /// A directory that is removed when the run ends.
    pub fn temporary() -> Result<Self, Failure> {
        Ok(Self::Temporary(temporary()?))
    }

    /// A directory that outlives the run. It is created if it does not exist.
    pub fn kept(dir: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(dir)?;
        Ok(Self::Kept(dir.to_owned()))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        match self {
            Self::Temporary(dir) => dir.path(),
            Self::Kept(dir) => dir,
        }
    }
}

/// A copy of a service's index, or where it is.
pub struct Copied {
    /// How to open it.
    pub config: IndexConfig,
    /// Removed when dropped.
    _dir: Option<TempDir>,
}

impl Copied {
    /// An index that a Qdrant server has, which is not copied.
    pub fn in_qdrant(config: &IndexConfig) -> Self {
        Self {
            config: config.clone(),
            _dir: None,
        }
    }

    /// A copy of an embedded index.
    pub fn of(index: &Path) -> Result<Self, Failure> {
        let copy = temporary()?;
        copy_dir(index, copy.path())?;
        Ok(Self {
            config: IndexConfig {
                path: Some(copy.path().to_owned()),
                ..IndexConfig::default()
            },
            _dir: Some(copy),
        })
    }
}

fn temporary() -> Result<TempDir, Failure> {
    Ok(tempfile::Builder::new().prefix("memory-bench-").tempdir()?)
}

fn copy_dir(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_dir(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

//! Stopped clusters of Postgres that are made once and copied for each server of a test,
//! because `initdb` and the schema take seconds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use tempfile::TempDir;

static KEPT: Mutex<Vec<TempDir>> = Mutex::new(Vec::new());

/// Moves a stopped cluster's directory to where it stays until [`remove_all`]; that place.
pub(crate) fn keep(cluster: &Path) -> PathBuf {
    let kept = tempfile::Builder::new()
        .prefix("recollect-template-")
        .tempdir()
        .unwrap();
    let path = kept.path().to_owned();
    fs::rename(cluster, path.join(cluster.file_name().unwrap())).unwrap();
    KEPT.lock().unwrap().push(kept);
    path
}

/// Removes the clusters that were copied. A static value is never dropped.
pub fn remove_all() {
    KEPT.lock().unwrap().clear();
}

/// Copies a directory with its owners and modes.
pub(crate) fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(status.unwrap().success(), "cp -a {from:?} {to:?}");
}

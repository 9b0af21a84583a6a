//! Clusters of Postgres that are made once and copied for each server of a test, because
//! `initdb` and the schema take seconds.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use tempfile::TempDir;

use crate::data_dir::DataDir;
use crate::postgres::bin_dir;
use crate::server::{Options, Server};

static KEPT: Mutex<Vec<TempDir>> = Mutex::new(Vec::new());

/// Puts a copy of a migrated cluster into the data directory of `recollect dev`, if the
/// directory does not exist yet.
pub(crate) fn put_cluster_into(data: &Path) {
    if data.exists() {
        return;
    }
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    let template = TEMPLATE.get_or_init(make_embedded);
    fs::create_dir(data).unwrap();
    fs::set_permissions(data, fs::Permissions::from_mode(0o700)).unwrap();
    copy(&template.join("postgres"), &data.join("postgres"));
}

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

/// A new cluster, as a first start of `recollect dev` leaves it, without the record of an index.
fn make_embedded() -> PathBuf {
    let dir = DataDir::unlimited();
    let options = Options {
        new_cluster: true,
        ..Options::with(&["embedding.kind = \"none\""])
    };
    let server = Server::start(&dir, &options);
    let url = server.ready().line["postgres"].as_str().unwrap();
    let psql = Command::new(bin_dir().join("psql"))
        .args(["--quiet", "--no-psqlrc", "--dbname", url])
        .args(["--command", "DELETE FROM recollect.index_collections"])
        .status();
    assert!(psql.unwrap().success());
    assert!(server.stop_blocking().success(), "{}", dir.log());
    keep(&dir.data().join("postgres"))
}

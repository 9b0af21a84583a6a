//! Creates a new cluster.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::task::JoinHandle;

use super::account::Account;
use super::home::{Home, guarded, spawn_first};
use super::{Binaries, EmbeddedError};

/// The superuser of a cluster, and its database.
pub(crate) const NAME: &str = "recollect";

/// Makes a cluster. It is not on the disk yet when this returns: `marker` says
/// so, until [`settle`] has removed it.
pub fn init(
    binaries: &Binaries,
    account: &Account,
    marker: &Path,
    cluster: &Path,
) -> Result<(), EmbeddedError> {
    // A cluster with the marker was never used.
    if marker.exists() && cluster.exists() {
        fs::remove_dir_all(cluster).map_err(EmbeddedError::path("remove", cluster))?;
    }
    let file = File::create(marker).map_err(EmbeddedError::path("create", marker))?;
    file.sync_all()
        .map_err(EmbeddedError::path("sync", marker))?;
    let home = Home::open(cluster.to_owned(), account)?;

    let locale = if cfg!(target_os = "linux") {
        "C.UTF-8"
    } else {
        "en_US.UTF-8"
    };
    let mut commands = guarded(&binaries.initdb(), account);
    for command in &mut commands {
        command
            .arg("-D")
            .arg(home.argument())
            .args(["--username", NAME, "--encoding=UTF8"])
            .arg(format!("--locale={locale}"))
            .args([
                "--auth-local=peer",
                "--auth-host=reject",
                "--no-sync",
                "--no-instructions",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }
    let child = spawn_first(&mut commands, &home).map_err(|source| EmbeddedError::Spawn {
        program: binaries.initdb(),
        source,
    })?;
    let output = child
        .wait_with_output()
        .map_err(|source| EmbeddedError::Spawn {
            program: binaries.initdb(),
            source,
        })?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.lines().collect();
        let output_tail = lines[lines.len().saturating_sub(8)..].join("\n");
        return Err(EmbeddedError::Initdb {
            status: output.status.to_string(),
            output: output_tail,
        });
    }

    // Who may connect is decided by the kernel: the account at the other end of
    // the socket has to be one of these two.
    let mut users = vec![account.name.as_str()];
    if account.switched {
        users.push("root");
    }
    let map: String = users
        .iter()
        .map(|user| format!("recollect \"{user}\" {NAME}\n"))
        .collect();
    for (name, text) in [
        (
            "pg_hba.conf",
            format!("local all {NAME} peer map=recollect\n"),
        ),
        ("pg_ident.conf", map),
    ] {
        let path = cluster.join(name);
        fs::write(&path, text).map_err(EmbeddedError::path("write", &path))?;
    }
    Ok(())
}

/// Brings a new cluster to the disk while Postgres starts, then removes the
/// marker.
pub fn settle(cluster: PathBuf, marker: PathBuf) -> JoinHandle<Result<(), EmbeddedError>> {
    tokio::task::spawn_blocking(move || {
        sync(&cluster).map_err(EmbeddedError::path("sync", &cluster))?;
        fs::remove_file(&marker).map_err(EmbeddedError::path("remove", &marker))?;
        let parent = marker.parent().unwrap_or(Path::new("/"));
        File::open(parent)
            .and_then(|dir| dir.sync_all())
            .map_err(EmbeddedError::path("sync", parent))
    })
}

#[cfg(target_os = "linux")]
fn sync(cluster: &Path) -> std::io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(cluster)?)?)
}

#[cfg(not(target_os = "linux"))]
fn sync(_cluster: &Path) -> std::io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

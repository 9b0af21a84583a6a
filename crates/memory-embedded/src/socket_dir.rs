//! The directory of the Unix socket.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, OFlags, Uid, fchown};
use sha2::{Digest, Sha256};

use super::EmbeddedError;
use super::account::Account;

/// A socket's path may have 107 bytes, `/.s.PGSQL.5432` included.
const LONGEST: usize = 107 - "/.s.PGSQL.5432".len();

/// A short directory that only the cluster's account may enter. It is removed
/// when this is dropped.
#[derive(Debug)]
pub struct SocketDir {
    path: PathBuf,
}

impl SocketDir {
    /// Makes the directory, or takes the one that an earlier process left.
    ///
    /// Its name follows from the data directory. If another user owns that
    /// name, the directory gets a random one, so that no other user can keep the
    /// server from starting by being first in `/tmp`.
    ///
    /// # Errors
    /// When no directory can be made.
    pub fn create(data_dir: &Path, account: &Account) -> Result<Self, EmbeddedError> {
        let digest = Sha256::digest(data_dir.as_os_str().as_encoded_bytes());
        let hash = hex::encode(&digest[..6]);
        let base = base(account);
        let path = base.join(format!("recollect-{hash}"));
        if take(&path, account).is_ok() {
            return Ok(Self { path });
        }
        let path = tempfile::Builder::new()
            .prefix("recollect-")
            .tempdir_in(&base)
            .map_err(EmbeddedError::path("create a directory in", &base))?
            .keep();
        take(&path, account)?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketDir {
    fn drop(&mut self) {
        // Only an empty one is removed; with a socket in it, a server still listens.
        let _ = fs::remove_dir(&self.path);
    }
}

/// The user's own runtime directory, unless another account has to get there.
fn base(account: &Account) -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "where the system keeps things")]
    let runtime = env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|dir| {
            !account.switched
                && dir.is_absolute()
                && dir.as_os_str().len() + "/recollect-0123456789ab".len() <= LONGEST
                && fs::metadata(dir).is_ok_and(|meta| meta.uid() == account.uid)
        });
    runtime.unwrap_or_else(|| PathBuf::from("/tmp"))
}

/// Makes `path` the account's own with mode 0700, or says why that is not safe.
fn take(path: &Path, account: &Account) -> Result<(), EmbeddedError> {
    let refuse = |problem: String| EmbeddedError::Unsafe {
        path: path.to_owned(),
        problem,
    };
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(EmbeddedError::path("create", path)(error)),
    }
    // From here on everything uses the opened directory, even if the path is replaced.
    let dir: File = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::DIRECTORY | OFlags::NOFOLLOW).bits().cast_signed())
        .open(path)
        .map_err(EmbeddedError::path("open", path))?;
    let meta = dir
        .metadata()
        .map_err(EmbeddedError::path("inspect", path))?;
    let own = rustix::process::geteuid().as_raw();
    if meta.uid() != own && meta.uid() != account.uid {
        return Err(refuse(format!("belongs to user {}", meta.uid())));
    }
    if meta.mode() & 0o077 != 0 {
        return Err(refuse(format!(
            "can be entered by others (mode {:o})",
            meta.mode() & 0o777
        )));
    }
    dir.set_permissions(fs::Permissions::from_mode(0o700))
        .map_err(EmbeddedError::path("protect", path))?;
    if account.switched {
        fchown(
            &dir,
            Some(Uid::from_raw(account.uid)),
            Some(Gid::from_raw(account.gid)),
        )
        .map_err(|errno| EmbeddedError::path("hand over", path)(errno.into()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_others_may_enter_is_not_taken() {
        let account = Account::choose().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("open");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(
            take(&path, &account),
            Err(EmbeddedError::Unsafe { .. })
        ));

        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        assert!(
            take(&link, &account).is_err(),
            "a symbolic link is not followed"
        );

        let fresh = dir.path().join("fresh");
        take(&fresh, &account).unwrap();
        assert_eq!(fs::metadata(&fresh).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&fresh).unwrap().uid(), account.uid);
    }

    #[test]
    fn the_name_is_short_and_taken_again_by_the_same_data_directory() {
        let account = Account::choose().unwrap();
        let data = tempfile::tempdir().unwrap();
        let first = SocketDir::create(data.path(), &account).unwrap();
        let path = first.path().to_owned();
        assert!(path.as_os_str().len() <= LONGEST);
        std::mem::forget(first);
        let again = SocketDir::create(data.path(), &account).unwrap();
        assert_eq!(again.path(), path);
        drop(again);
        assert!(!path.exists());
    }
}

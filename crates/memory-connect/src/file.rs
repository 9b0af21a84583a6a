//! Files that are read, and written at once or not at all.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::ConnectError;

/// The mode of a file that has a key in it.
const SECRET: u32 = 0o600;
/// The mode of other new files.
const PLAIN: u32 = 0o644;

/// The text of a file; `None` if the file does not exist.
///
/// # Errors
/// Also if there is a symbolic link that leads to no file: a file in its place would not be the
/// one that it is meant to lead to.
pub(crate) fn read(path: &Path) -> Result<Option<String>, ConnectError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => Err(ConnectError::Dangling(path.to_owned())),
            _ => Ok(None),
        },
        Err(source) => Err(ConnectError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Writes a file beside the old one and puts it in its place, with the same permissions.
/// Behind a symbolic link, the file that it leads to is replaced.
pub(crate) fn write(path: &Path, text: &str, is_secret: bool) -> Result<(), ConnectError> {
    let failed = |source| ConnectError::Write {
        path: path.to_owned(),
        source,
    };
    let path = target(path).map_err(failed)?;
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(failed)?;
    let old = fs::metadata(&path).ok().map(|old| old.permissions().mode());
    let mode = match (is_secret, old) {
        (true, _) => SECRET,
        (false, Some(mode)) => mode,
        (false, None) => PLAIN,
    };
    let mut file = NamedTempFile::new_in(directory).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    let permissions = Permissions::from_mode(mode);
    file.as_file()
        .set_permissions(permissions)
        .and_then(|()| file.as_file().sync_all())
        .map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> Result<(), ConnectError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(ConnectError::Write {
            path: path.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

/// The file behind symbolic links.
fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        resolved => resolved,
    }
}

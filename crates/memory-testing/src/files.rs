//! Files on disk.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use memchr::memmem;

/// The files below a directory that contain these bytes. Files and directories that another
/// process removes meanwhile do not count; what cannot be read for another reason fails the test.
pub fn files_with(directory: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in there(fs::read_dir(directory)).into_iter().flatten() {
        let Some(entry) = there(entry) else { continue };
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files_with(&path, bytes));
        } else if kind.is_file()
            && let Some(content) = there(fs::read(&path))
            && memmem::find(&content, bytes).is_some()
        {
            found.push(path);
        }
    }
    found
}

/// What was read, or nothing if it has been removed.
fn there<T>(read: io::Result<T>) -> Option<T> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.unwrap()),
    }
}

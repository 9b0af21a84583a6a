//! Files on disk.

use std::{
    fs,
    path::{Path, PathBuf},
};

use memchr::memmem;

/// The files below a directory that contain these bytes. A file that another process removes
/// meanwhile does not count.
pub fn files_with(directory: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().filter_map(Result::ok) {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files_with(&path, bytes));
        } else if kind.is_file()
            && let Ok(content) = fs::read(&path)
            && memmem::find(&content, bytes).is_some()
        {
            found.push(path);
        }
    }
    found
}

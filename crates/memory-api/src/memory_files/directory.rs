//! What is in a directory.

use std::collections::BTreeMap;

use memory_agent_contract::memory_file::FilePath;
use memory_contract::convert::timestamp;
use memory_contract::proto::{MemoryDirectory, MemoryDirectoryEntry};
use memory_store::ListedFile;
use time::OffsetDateTime;

/// A file, or what is known of the files in a directory.
struct Entry {
    is_directory: bool,
    bytes: i64,
    updated: OffsetDateTime,
}

/// A directory with what is in it, down to a depth.
pub(super) fn directory(
    path: &FilePath,
    files: &[ListedFile],
    truncated: bool,
    depth: usize,
) -> MemoryDirectory {
    let mut entries: BTreeMap<FilePath, Entry> = BTreeMap::new();
    for file in files {
        let below = file.path.below(path).unwrap_or_default();
        for level in 1..=below.len().min(depth) {
            let is_directory = level < below.len();
            let entry = entries.entry(path.join(&below[..level])).or_insert(Entry {
                is_directory,
                bytes: 0,
                updated: file.updated,
            });
            entry.bytes += file.bytes;
            entry.updated = entry.updated.max(file.updated);
        }
    }
    let entry = |(path, entry): (FilePath, Entry)| MemoryDirectoryEntry {
        path: path.to_string(),
        is_directory: entry.is_directory,
        size_bytes: entry.bytes,
        update_time: Some(timestamp(entry.updated)),
    };
    MemoryDirectory {
        path: path.to_string(),
        size_bytes: files.iter().map(|file| file.bytes).sum(),
        file_count: i64::try_from(files.len()).unwrap_or(i64::MAX),
        entries: entries.into_iter().map(entry).collect(),
        truncated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_shown_down_to_a_depth_with_the_sizes_of_all_below() {
        let path = |path: &str| FilePath::parse("path", path).unwrap();
        let file = |of: &str, bytes: i64| ListedFile {
            path: path(of),
            id: String::new(),
            version: 1,
            bytes,
            updated: OffsetDateTime::UNIX_EPOCH + time::Duration::seconds(bytes),
        };
        let files = [
            file("/notes/2026/plan.md", 10),
            file("/notes/2026/q1/a.md", 5),
            file("/notes/todo.md", 1),
        ];
        let shown = |depth| {
            let listed = directory(&path("/notes"), &files, false, depth);
            assert_eq!((listed.size_bytes, listed.file_count), (16, 3));
            let entries = listed.entries.into_iter();
            let entries = entries.map(|one| (one.path, one.is_directory, one.size_bytes));
            entries.collect::<Vec<_>>()
        };
        let entry = |path: &str, is_directory, bytes| (path.to_owned(), is_directory, bytes);
        assert_eq!(
            shown(1),
            [
                entry("/notes/2026", true, 15),
                entry("/notes/todo.md", false, 1)
            ]
        );
        assert_eq!(
            shown(2),
            [
                entry("/notes/2026", true, 15),
                entry("/notes/2026/plan.md", false, 10),
                entry("/notes/2026/q1", true, 5),
                entry("/notes/todo.md", false, 1)
            ]
        );
    }
}

//! Text files of agents.

use memory_contract::{convert::timestamp, proto};

use crate::memory_file::{FileLines, FileVersion, MemoryFile, line_count};

/// A file without its text.
impl From<&MemoryFile> for proto::MemoryFile {
    fn from(file: &MemoryFile) -> Self {
        Self {
            path: file.path.to_string(),
            size_bytes: i64::try_from(file.text.len()).unwrap_or(i64::MAX),
            line_count: number(line_count(&file.text)),
            version: file.version,
            etag: file.etag(),
            create_time: file.created.map(timestamp),
            update_time: file.updated.map(timestamp),
        }
    }
}

impl From<FileLines> for proto::MemoryFileLines {
    fn from(lines: FileLines) -> Self {
        Self {
            first_line: number(lines.first),
            text: lines.text,
        }
    }
}

impl From<FileVersion> for proto::MemoryFileVersion {
    fn from(version: FileVersion) -> Self {
        use proto::MemoryFileChange as Change;

        let FileVersion {
            version,
            change,
            bytes,
            created,
            expires,
        } = version;
        let change = match change.as_str() {
            "put" => Change::Put,
            "replace" => Change::Replace,
            "insert" => Change::Insert,
            "restore" => Change::Restore,
            _ => Change::Unspecified,
        };
        Self {
            version,
            change: change.into(),
            size_bytes: bytes,
            create_time: Some(timestamp(created)),
            expire_time: expires.map(timestamp),
        }
    }
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

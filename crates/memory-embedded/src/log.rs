//! Postgres's log: a file whose size is kept in check, and its last lines for
//! error messages.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::EmbeddedError;

/// Bytes of a log file; the one before it is kept too.
const FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Lines that an error message shows.
const TAIL_LINES: usize = 12;

/// Copies what Postgres says into the log file.
#[derive(Debug, Clone, Default)]
pub struct LogTail(Arc<Mutex<VecDeque<String>>>);

impl LogTail {
    /// The last lines, indented.
    pub fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
        if lines.is_empty() {
            "  (it said nothing)".to_owned()
        } else {
            lines.join("\n")
        }
    }

    /// Copies `source` to the file at `path` until it ends. For a thread of its
    /// own.
    pub fn copy(&self, source: impl Read, mut log: LogFile) {
        for line in BufReader::new(source).split(b'\n') {
            let Ok(line) = line else { break };
            let line = String::from_utf8_lossy(&line);
            log.write_line(&line);
            let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if tail.len() == TAIL_LINES {
                tail.pop_front();
            }
            tail.push_back(line.into_owned());
        }
    }
}

/// A log file that is rotated at a certain size.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl LogFile {
    /// Opens the file for appending.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn open(path: &Path) -> Result<Self, EmbeddedError> {
        let file = append(path).map_err(EmbeddedError::path("write", path))?;
        let bytes = file.metadata().map(|meta| meta.len()).unwrap_or(0);
        Ok(Self {
            path: path.to_owned(),
            file,
            bytes,
        })
    }

    /// A full disk must not stop Postgres by way of its log, so errors are
    /// passed over.
    fn write_line(&mut self, line: &str) {
        if self.bytes >= FILE_BYTES {
            let _ = fs::rename(&self.path, self.path.with_extension("log.1"));
            if let Ok(file) = append(&self.path) {
                self.file = file;
                self.bytes = 0;
            }
        }
        if writeln!(self.file, "{line}").is_ok() {
            self.bytes += line.len() as u64 + 1;
        }
    }
}

fn append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_rotated_when_it_is_full_and_the_tail_is_short() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("postgres.log");
        let line = "x".repeat(1023);
        let text = format!("{line}\n").repeat(5 * 1024);
        let tail = LogTail::default();
        tail.copy(text.as_bytes(), LogFile::open(&path).unwrap());
        assert!(fs::metadata(&path).unwrap().len() <= FILE_BYTES);
        assert!(dir.path().join("postgres.log.1").exists());
        assert_eq!(tail.text().lines().count(), TAIL_LINES);
    }
}

//! Reads an engine's files into the system's cache: after it was opened, and after another engine that
//! shares files with it was closed, because closing takes them out of the cache. A search reads from
//! hundreds of places in mapped files, one after the other, and waits for the disk at each that is not
//! cached.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use memory_runtime::lower_thread_priority;
use qdrant_edge::EdgeShard;

use super::directory::Directory;
use super::files::{list, stored};
use super::writer::{SEGMENTS, Writer};

/// All engines of a process together fill at most one of this many bytes of free memory. A copy that
/// is about to be used fills as many bytes as its engine.
const FREE_SHARE: u64 = 2;
/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;

impl Writer {
    /// Begins to read the files of an engine, on a thread that ends when the engine is closed.
    pub(super) fn read_ahead(&self, engine: &Arc<EdgeShard>) {
        let most = most_read(&self.parent, self.free_memory);
        let directory = engine.path().join(SEGMENTS);
        let engine = Arc::downgrade(engine);
        let read = move || {
            lower_thread_priority();
            fill_cache(&directory, most, &|| engine.strong_count() > 0);
        };
        let thread = thread::Builder::new().name("index-read-ahead".to_owned());
        if let Err(error) = thread.spawn(read) {
            tracing::warn!(%error, "the index is not read into the cache; its first searches are slow");
        }
    }
}

/// The most bytes of an engine that are read.
pub(super) fn most_read(parent: &Directory, free_memory: fn() -> u64) -> u64 {
    let engines = parent.indexes().len().max(1) as u64;
    free_memory() / FREE_SHARE / engines
}

/// Reads the files of an engine's segments.
pub(super) fn fill_cache(segments: &Path, most: u64, is_wanted: &dyn Fn() -> bool) {
    let started = Instant::now();
    let bytes = read_files(segments, most, is_wanted);
    tracing::debug!(
        bytes,
        duration_ms = started.elapsed().as_millis() as u64,
        "the index was read into the cache"
    );
}

/// Reads the files below a directory, at most `most` bytes, the files first that most searches need.
/// Returns how many bytes it read. Leaves out files that vanish meanwhile, as in a merge.
fn read_files(directory: &Path, most: u64, is_wanted: &dyn Fn() -> bool) -> u64 {
    let mut files = list(directory);
    files.sort_by_cached_key(|path| order(path));
    let mut chunk = vec![0; CHUNK];
    let mut read = 0;
    for path in files {
        let Ok(file) = File::open(path) else {
            continue;
        };
        // The engine fills its files from the beginning.
        let stored = file.metadata().map_or(0, |found| stored(&found));
        let mut file = file.take(stored);
        loop {
            if read >= most || !is_wanted() {
                return read;
            }
            match file.read(&mut chunk) {
                Ok(bytes) if bytes > 0 => read += bytes as u64,
                Ok(_) | Err(_) => break,
            }
        }
    }
    read
}

/// Payloads, which have the candidates that are not cached, come last, and vectors before them.
fn order(path: &Path) -> u8 {
    let is_payload = path
        .components()
        .any(|part| part.as_os_str() == "payload_storage");
    match (is_payload, path.ends_with("matrix.dat")) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    }
}

#[cfg(test)]
mod tests;

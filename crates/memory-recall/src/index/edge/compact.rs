//! Merges the segments of a large engine, and removes deleted points from them. A search takes
//! about as long in a small segment as in a large one, and searches them one after the other.
//! Merging builds the graphs of all large groups again, which takes minutes with a million points,
//! so it is done in a copy of the engine's files, on another thread. The writer waits for the files
//! to be copied, and goes on then.

use std::fs;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use qdrant_edge::EdgeShard;
use tokio::sync::mpsc::WeakSender;

use super::Command;
use super::copy;
use super::engine::{guarded, not_prepared, release};
use super::erase::{Copying, bytes_of};
use super::log::Log;
use super::swap::remove;
use super::writer::{RESERVED_BYTES, SEGMENTS, Writer};
use super::{memory, setup};
use crate::error::RecallError;

/// Segments that are not full: one that fills up, and the one that is written to.
const FILLING: usize = 2;
/// Other segments that an engine may have, besides one for every [`POINTS_PER_SEGMENT`], or for
/// every half of a segment as large as merging makes them: a merged one and a full one. With vectors
/// of more than [`memory::DIMENSIONS`] it may have more in proportion.
const FULL: usize = 4;
const POINTS_PER_SEGMENT: usize = 2_000_000;
/// Deleted points are removed once they are more than one in this many.
const DELETED_SHARE: usize = 5;
/// While little is written, the other segments are merged with the largest once they have more
/// than one of this many of its bytes. As merges follow growth by such a share, a point is merged
/// about five times, however large the index gets.
const OTHERS_SHARE: u64 = 4;
/// All files are copied for a merge, so the segments that are merged have at least one of this many
/// of their bytes.
const COPIED_SHARE: u64 = 8;
/// The fewest points of that: fewer are found by brute force in about as much time. Tests merge
/// fewer, to be fast.
const MERGED_FROM: usize = if cfg!(test) { 4_000 } else { 20_000 };
/// The merged segment, and the one that is written to.
const MERGED: usize = 2;
/// The priority of the thread that merges: calls come first.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

impl Writer {
    /// Begins to merge the segments if there are too many, or too many deleted points in them.
    /// `commands` returns the copy to this thread.
    pub(super) fn compact(&mut self, commands: &WeakSender<Command>) {
        let Some(info) = self.shard.as_ref().map(|shard| shard.info()) else {
            return;
        };
        let dimensions = self.schema.dimensions();
        let most = most_segments(dimensions, info.points_count, self.most_points());
        let deleted = self.written.saturating_sub(info.points_count);
        if info.segments_count > most || deleted > self.written / DELETED_SHARE {
            self.try_compaction(commands);
        }
    }

    /// Begins to merge the segments while little is written, so that searches have one large
    /// segment to search instead of up to [`most_segments`].
    pub(super) fn compact_at_rest(&mut self, commands: &WeakSender<Command>) {
        let Some(info) = self.shard.as_ref().map(|shard| shard.info()) else {
            return;
        };
        // A merge that failed, or left more segments, is not repeated at once.
        let since_merge = self.written.saturating_sub(self.merged_at);
        if info.segments_count <= MERGED
            || info.points_count < MERGED_FROM
            || since_merge < MERGED_FROM / 2
            || self.is_copying()
        {
            return;
        }
        let sizes = self.sizes();
        if is_merge_due(&sizes, self.most_bytes(&sizes)) {
            self.try_compaction(commands);
        }
    }

    /// The bytes of each segment.
    fn sizes(&self) -> Vec<u64> {
        let entries = fs::read_dir(self.directory.join(SEGMENTS));
        let entries = entries.into_iter().flatten().flatten();
        entries.map(|entry| bytes_of(&entry.path())).collect()
    }

    /// How many bytes a merged segment may have at the moment, if its points are as large as those
    /// of these segments.
    fn most_bytes(&self, sizes: &[u64]) -> u64 {
        let point = sizes.iter().sum::<u64>() / self.points().max(1) as u64;
        point.saturating_mul(self.most_points() as u64)
    }

    /// How many points a merged segment may have at the moment.
    fn most_points(&self) -> usize {
        memory::most_points(self.schema.dimensions(), (self.free_memory)())
    }

    /// Whether a copy is made or awaited.
    fn is_copying(&self) -> bool {
        self.copying.is_some() || !self.erasures.is_empty()
    }

    /// Begins a merge, unless a copy is made or awaited already.
    fn try_compaction(&mut self, commands: &WeakSender<Command>) {
        if self.is_copying() {
            return;
        }
        self.merged_at = self.written;
        match self.begin_compaction(commands) {
            Ok(copying) => self.copying = Some(copying),
            Err(error) => tracing::warn!(%error, "merging the segments of the index failed"),
        }
    }

    fn begin_compaction(&self, commands: &WeakSender<Command>) -> Result<Copying, RecallError> {
        let sizes = self.sizes();
        let room = room_to_merge(&sizes, self.most_bytes(&sizes));
        let others = bytes_of(&self.directory).saturating_sub(sizes.iter().sum());
        self.require_room(RESERVED_BYTES.saturating_add(room).saturating_add(others))?;
        let former = self.shard().ok_or_else(not_prepared)?;
        self.flush()?;
        let draft = self.new_draft()?;
        if let Err(error) = copy_files(&self.directory, &draft) {
            let _ = remove(&draft);
            return Err(self.broken(error));
        }
        let config = setup::merging(&self.schema, self.vectors, self.most_points());
        let usual = setup::config(&self.schema, self.vectors).optimizers;
        let log = Arc::new(Log::default());
        let directory = draft.clone();
        let merge = move |_: &Log| {
            // Elsewhere it would be the priority of the process.
            #[cfg(target_os = "linux")]
            if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
                tracing::debug!(%error, "the priority of the thread that merges stays as it is");
            }
            setup::prune_log(&directory);
            let started = std::time::Instant::now();
            let engine = guarded("load a copy", || EdgeShard::load(&directory, Some(config)))?;
            guarded("merge", || engine.optimize())?;
            tracing::info!(
                points = engine.info().points_count,
                duration_ms = started.elapsed().as_millis() as u64,
                "the segments of the index were merged"
            );
            // What the copy gets now is not merged with that each time.
            guarded("configure", || engine.set_optimizers_config(usual))?;
            Ok(engine)
        };
        let (sender, logged) = (commands.clone(), Arc::clone(&log));
        let begun = copy::begin(
            Arc::downgrade(&former),
            draft.clone(),
            logged,
            sender,
            merge,
        );
        release(former);
        begun.map_err(|source| self.broken(source))?;
        Ok(Copying::new(draft, log, Vec::new()))
    }
}

/// How many segments an engine may have, if merging makes segments of up to `largest` points. It
/// bounds a segment by the bytes of its vectors, at 256 MB: 170,000 points of 384 dimensions, or a
/// quarter of that of 1,536. Each merge builds the graphs of all points again, so the number of full
/// segments grows with the dimensions: a merge follows about 680,000 new points with each model, and
/// how often a point is merged depends on the number of points alone. Searches pay for that with
/// more segments.
fn most_segments(dimensions: Option<usize>, points: usize, largest: usize) -> usize {
    let full = FULL + points / POINTS_PER_SEGMENT.min(largest / 2);
    let dimensions = dimensions.unwrap_or_default().max(memory::DIMENSIONS);
    FILLING + (full * dimensions).div_ceil(memory::DIMENSIONS)
}

/// The bytes on disk that merging segments takes: a copy of all, and for each merge twice what it
/// merges, which the engine requires. It merges up to the `most` bytes, or removes deleted points
/// from one larger segment.
fn room_to_merge(sizes: &[u64], most: u64) -> u64 {
    let copy = sizes.iter().sum::<u64>();
    let largest = sizes.iter().copied().max().unwrap_or_default();
    copy.saturating_add(most.max(largest).min(copy).saturating_mul(2))
}

/// Whether the segments that merging can make larger are worth it: those other than the largest of
/// them are large beside it, and all of them are large beside the index. A segment with more than
/// half of the `most` bytes that a merged one may have stays as it is.
fn is_merge_due(sizes: &[u64], most: u64) -> bool {
    let growing = || sizes.iter().filter(|size| **size <= most / 2);
    let sum = growing().sum::<u64>();
    let largest = growing().max().copied().unwrap_or_default();
    growing().count() > MERGED
        && (sum - largest).saturating_mul(OTHERS_SHARE) > largest
        && sum.saturating_mul(COPIED_SHARE) >= sizes.iter().sum::<u64>()
}

/// Copies a directory with all that it contains into one that exists.
fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target: PathBuf = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target)?;
            copy_files(&entry.path(), &target)?;
        } else {
            copy_file(&entry.path(), &target)?;
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    match copy_stored(from, to) {
        // Not every file system tells what is stored, or copies a part.
        Err(error) if error.kind() != io::ErrorKind::StorageFull => fs::copy(from, to).map(drop),
        copied => copied,
    }
}

#[cfg(not(target_os = "linux"))]
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to).map(drop)
}

/// Copies what is stored of a file: the engine reserves far more room in its files than it uses.
#[cfg(target_os = "linux")]
fn copy_stored(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{SeekFrom, copy_file_range, seek};
    use rustix::io::Errno;

    let (from, to) = (File::open(from)?, File::create_new(to)?);
    let length = from.metadata()?.len();
    to.set_len(length)?;
    let mut end = 0;
    loop {
        let mut start = match seek(&from, SeekFrom::Data(end)) {
            Ok(start) => start,
            // Nothing is stored after `end`.
            Err(Errno::NXIO) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        end = seek(&from, SeekFrom::Hole(start))?;
        while start < end {
            let (mut read, mut written) = (start, start);
            let wanted = usize::try_from(end - start).unwrap_or(usize::MAX);
            let copied = copy_file_range(&from, Some(&mut read), &to, Some(&mut written), wanted)?;
            if copied == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            start += copied as u64;
        }
    }
}

#[cfg(test)]
mod killed;
#[cfg(test)]
mod sizes;
#[cfg(test)]
mod tests;

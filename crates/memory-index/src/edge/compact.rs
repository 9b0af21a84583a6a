//! Merges the segments of a large engine, and removes deleted points from them. A search takes
//! about as long in a small segment as in a large one, and searches them one after the other.
//! Merging builds the graphs of all large groups again, which takes minutes with a million points,
//! so it is done in a copy of the engine's files, on another thread. The writer waits for the files
//! to be copied, and goes on then.

use std::fs;

use memory_runtime::{error_chain, lower_thread_priority};
use qdrant_edge::EdgeShard;
use tokio::sync::mpsc::WeakSender;

use super::command::Command;
use super::copying::Copying;
use super::engine::{guarded, not_prepared};
use super::files::{bytes_of, bytes_to_copy, copy_engine, remove};
use super::log::Log;
use super::writer::{RESERVED_BYTES, SEGMENTS, Writer};
use super::{memory, setup};
use crate::error::IndexError;
use sizes::{MERGED, is_merge_due, most_segments, room_to_build};

mod sizes;

/// Deleted points are removed once they are more than one in this many.
const DELETED_SHARE: usize = 5;
/// The fewest points that are merged while little is written: fewer are found by brute force in about as
/// much time. Tests merge fewer, to be fast.
const MERGED_FROM: usize = if cfg!(test) { 1_000 } else { 20_000 };

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
        if is_merge_due(&sizes, self.bytes_of_points(self.most_points(), &sizes)) {
            self.try_compaction(commands);
        }
    }

    /// The bytes of each segment.
    fn sizes(&self) -> Vec<u64> {
        let Some(shard) = &self.shard else {
            return Vec::new();
        };
        let entries = fs::read_dir(shard.path().join(SEGMENTS));
        let entries = entries.into_iter().flatten().flatten();
        entries.map(|entry| bytes_of(&entry.path())).collect()
    }

    /// The bytes of `points` that are as large as the points of segments with these `sizes`.
    fn bytes_of_points(&self, points: usize, sizes: &[u64]) -> u64 {
        let point = sizes.iter().sum::<u64>() / self.points().max(1) as u64;
        point.saturating_mul(points as u64)
    }

    /// The most points that a merged segment may have at the moment.
    fn most_points(&self) -> usize {
        memory::most_points(self.schema.dimensions(), (self.free_memory)())
    }

    /// Whether a copy is being made or an erasure waits for one.
    fn is_copying(&self) -> bool {
        self.copying.is_some() || !self.erasures.is_empty()
    }

    /// Begins a merge, unless a copy is being made or an erasure waits for one.
    fn try_compaction(&mut self, commands: &WeakSender<Command>) {
        if self.is_copying() {
            return;
        }
        self.merged_at = self.written;
        match self.begin_compaction(commands) {
            Ok(copying) => self.copying = Some(copying),
            Err(error) => note_failure(&error),
        }
    }

    fn begin_compaction(&self, commands: &WeakSender<Command>) -> Result<Copying, IndexError> {
        let former = self.shard.as_ref().ok_or_else(not_prepared)?;
        setup::prune_log(former.path());
        let (sizes, most) = (self.sizes(), self.most_points());
        let room = room_to_build(&sizes, self.bytes_of_points(most, &sizes));
        let room = RESERVED_BYTES.saturating_add(room);
        self.require_room(room.saturating_add(bytes_to_copy(former.path())))?;
        self.flush()?;
        let draft = self.new_engine()?;
        let copied = copy_engine(former.path(), &draft).map_err(|error| self.broken(error));
        // A file system without links takes more room for the copy.
        if let Err(error) = copied.and_then(|()| self.require_room(room)) {
            let _ = remove(&draft);
            return Err(error);
        }
        let config = setup::merging(&self.schema, self.vectors, most);
        let directory = draft.clone();
        let merge = move |_: &Log| {
            lower_thread_priority();
            let started = std::time::Instant::now();
            let engine = guarded("load a copy", || EdgeShard::load(&directory, Some(config)))?;
            guarded("merge", || engine.optimize())?;
            tracing::info!(
                points = engine.info().points_count,
                duration_ms = started.elapsed().as_millis() as u64,
                "the segments of the index were merged"
            );
            Ok(engine)
        };
        let log = self.begin_making(&draft, commands, merge)?;
        Ok(Copying::new(draft, log, Vec::new()))
    }
}

/// Logs why no merge was made.
pub(super) fn note_failure(error: &IndexError) {
    let error = error_chain(error);
    tracing::warn!(error, "merging the segments of the index failed");
}

#[cfg(test)]
mod killed_tests;
#[cfg(test)]
pub(super) mod tests;

//! Merges the segments of a large engine. A search takes about as long in a small segment as
//! in a large one, and searches them one after the other. Merging builds the graphs of all
//! large groups again, which takes minutes with a million points, so it is done in a copy of the
//! engine's files, on another thread. The writer waits for the files to be copied, and goes on then.

use std::fs;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use qdrant_edge::EdgeShard;
use tokio::sync::mpsc::WeakSender;

use super::Command;
use super::copy::{self, Log};
use super::engine::{guarded, not_prepared, release};
use super::erase::{Copying, bytes_of, remove};
use super::setup;
use super::writer::{RESERVED_BYTES, Writer};
use crate::error::RecallError;

/// Segments that an engine may have besides one for every [`POINTS_PER_SEGMENT`]: a merged one, a
/// full one, one that fills up, and the one that is written to.
const SEGMENTS: usize = 4;
const POINTS_PER_SEGMENT: usize = 2_000_000;
/// The priority of the thread that merges: calls come first.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

impl Writer {
    /// Begins to merge the segments if there are too many. `commands` returns the copy to this
    /// thread.
    pub(super) fn compact(&mut self, commands: &WeakSender<Command>) {
        let Some(shard) = self.shard() else { return };
        let info = shard.info();
        let most = SEGMENTS + info.points_count / POINTS_PER_SEGMENT;
        if self.copying.is_some() || !self.erasures.is_empty() || info.segments_count <= most {
            return;
        }
        match self.begin_compaction(commands) {
            Ok(copying) => self.copying = Some(copying),
            Err(error) => tracing::warn!(%error, "merging the segments of the index failed"),
        }
    }

    fn begin_compaction(&self, commands: &WeakSender<Command>) -> Result<Copying, RecallError> {
        // The copy, and the room that the engine requires to merge it.
        let room = bytes_of(&self.directory).saturating_mul(3);
        self.require_room(RESERVED_BYTES.saturating_add(room))?;
        let former = self.shard().ok_or_else(not_prepared)?;
        self.flush()?;
        let draft = self.new_draft()?;
        if let Err(error) = copy_files(&self.directory, &draft) {
            let _ = remove(&draft);
            return Err(self.broken(error));
        }
        let config = setup::merging(&self.schema, self.vectors);
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
mod tests {
    use memory_contract::{AppId, MessageId, Role, TenantId, UserId};
    use qdrant_edge::Filter;
    use time::OffsetDateTime;
    use tokio::sync::{mpsc, oneshot};
    use uuid::Uuid;

    use super::super::copy::Copied;
    use super::super::directory::Directory;
    use super::*;
    use crate::config::VectorPrecision;
    use crate::index::candidate_cache::CandidateCache;
    use crate::index::{Change, IndexSchema, LexicalVector, Point, Selection, Subject};
    use crate::text::Form;

    fn point(number: u128) -> Change {
        Change::Upsert(Box::new(Point {
            message: MessageId::from(Uuid::from_u128(number)),
            tenant: TenantId::new("acme"),
            app: AppId::new("support"),
            user: UserId::new("ada"),
            thread: Uuid::from_u128(1).into(),
            seq: 1,
            branch: 1,
            depth: 1,
            question: false,
            short: false,
            role: Role::User,
            name: String::new(),
            said: OffsetDateTime::UNIX_EPOCH,
            form: Form::default(),
            metadata: Default::default(),
            dense: None,
            lexical: LexicalVector {
                indices: vec![1],
                values: vec![1.0],
            },
        }))
    }

    fn deletion(number: u128) -> Change {
        Change::Delete {
            tenant: TenantId::new("acme"),
            subject: Subject::Message(MessageId::from(Uuid::from_u128(number))),
        }
    }

    /// An index of 100 points, and the channel to its writer.
    fn filled(directory: &Path) -> (Writer, mpsc::Sender<Command>, mpsc::Receiver<Command>) {
        let parent = Arc::new(Directory::new(directory.to_owned()));
        let schema = IndexSchema::new("recollect", None);
        let cache = Arc::new(CandidateCache::default());
        let mut writer = Writer::new(&parent, &schema, VectorPrecision::Full, cache);
        drop(writer.prepare().unwrap());
        writer.mark(false).unwrap();
        writer.apply((1..=100).map(point).collect()).unwrap();
        let (commands, queue) = mpsc::channel(2);
        let copying = writer.begin_compaction(&commands.downgrade()).unwrap();
        writer.copying = Some(copying);
        (writer, commands, queue)
    }

    fn copied(queue: &mut mpsc::Receiver<Command>) -> Copied {
        match queue.blocking_recv() {
            Some(Command::Copied(copied)) => copied,
            _ => panic!("no copy"),
        }
    }

    /// The number of points after a start.
    fn points(writer: &mut Writer) -> u64 {
        writer.close();
        let (shard, _) = writer.prepare().unwrap();
        super::super::count(&shard, Filter::default(), true).unwrap()
    }

    fn files(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn a_merged_index_has_what_was_changed_meanwhile() {
        let directory = tempfile::tempdir().unwrap();
        let (mut writer, _commands, mut queue) = filled(directory.path());
        writer.apply(vec![deletion(7), point(101)]).unwrap();
        writer.flush().unwrap();
        let merged = copied(&mut queue);
        writer.apply(vec![deletion(8), point(102)]).unwrap();
        let mut withdrawn = false;
        let taken = writer.take_copy(merged, || withdrawn = true).unwrap();
        taken.result.unwrap();
        assert!(withdrawn && taken.replies.is_empty());
        // It goes on after another change and a start.
        writer.apply(vec![deletion(9)]).unwrap();
        writer.flush().unwrap();
        assert_eq!(points(&mut writer), 99);
        assert_eq!(files(directory.path()), 1);
    }

    #[test]
    fn an_erasure_follows_a_merge() {
        let directory = tempfile::tempdir().unwrap();
        let (mut writer, commands, mut queue) = filled(directory.path());
        let (reply, answer) = oneshot::channel();
        let everything = Selection::tenant(&TenantId::new("acme"));
        writer.erasures.push((everything, reply));
        for replies in [0, 1] {
            writer.erase(&commands.downgrade());
            let taken = writer.take_copy(copied(&mut queue), || {}).unwrap();
            taken.result.unwrap();
            assert_eq!(taken.replies.len(), replies);
        }
        drop(answer);
        assert_eq!(points(&mut writer), 0);
        assert_eq!(files(directory.path()), 1);
    }
}

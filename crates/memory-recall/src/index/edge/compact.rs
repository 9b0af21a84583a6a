//! Merges the segments of a large engine. A search takes about as long in a small segment as
//! in a large one, and searches them one after the other. Merging builds the graphs of all
//! large groups again, which takes minutes with a million points, so it is done in a copy of the
//! engine's files, on another thread, and the writer goes on meanwhile.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use qdrant_edge::EdgeShard;
use rustix::process::setpriority_process;
use tokio::sync::mpsc::WeakSender;

use super::Command;
use super::copy::{self, Log};
use super::engine::{guarded, not_prepared};
use super::erase::{Copying, bytes_of, remove};
use super::setup;
use super::writer::{RESERVED_BYTES, Writer};
use crate::error::RecallError;

/// Segments that an engine may have besides one for every [`POINTS_PER_SEGMENT`]: a merged one, a
/// full one, one that fills up, and the one that is written to.
const SEGMENTS: usize = 4;
const POINTS_PER_SEGMENT: usize = 2_000_000;
/// Added to the priority of the thread that merges: calls come first.
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
        // The copy, and the merged segments.
        let room = bytes_of(&self.directory).saturating_mul(2);
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
        let merge = move |_: &EdgeShard, log: &Log| {
            if let Err(error) = setpriority_process(None, NICENESS) {
                tracing::debug!(%error, "the priority of the thread that merges stays as it is");
            }
            let started = std::time::Instant::now();
            let engine = guarded("load a copy", || EdgeShard::load(&directory, Some(config)))?;
            log.check()?;
            guarded("merge", || engine.optimize())?;
            tracing::info!(
                points = engine.info().points_count,
                duration_ms = started.elapsed().as_millis() as u64,
                "the segments of the index were merged"
            );
            Ok(engine)
        };
        let (sender, logged) = (commands.clone(), Arc::clone(&log));
        let begun = copy::begin(former, draft.clone(), logged, sender, merge);
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
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use memory_contract::{AppId, MessageId, Role, TenantId, UserId};
    use time::OffsetDateTime;
    use tokio::sync::mpsc;
    use uuid::Uuid;

    use super::super::directory::Directory;
    use super::super::facts::Facts;
    use super::*;
    use crate::config::VectorPrecision;
    use crate::index::{Change, IndexSchema, LexicalVector, Point, Subject};
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

    #[test]
    fn a_merged_index_has_what_was_changed_meanwhile() {
        let directory = tempfile::tempdir().unwrap();
        let parent = Arc::new(Directory::new(directory.path().to_owned()));
        let schema = IndexSchema::new("recollect", None);
        let facts = Arc::new(Facts::default());
        let mut writer = Writer::new(&parent, &schema, VectorPrecision::Full, facts);
        drop(writer.prepare().unwrap());
        writer.mark(false).unwrap();
        writer.apply((1..=100).map(point).collect()).unwrap();
        let (commands, mut queue) = mpsc::channel(1);
        let copying = writer.begin_compaction(&commands.downgrade()).unwrap();
        writer.copying = Some(copying);
        writer.apply(vec![deletion(7), point(101)]).unwrap();
        writer.flush().unwrap();
        let Some(Command::Copied(copied)) = queue.blocking_recv() else {
            panic!("no copy");
        };
        writer.apply(vec![deletion(8), point(102)]).unwrap();
        let mut withdrawn = false;
        let erased = writer.take_copy(copied, || withdrawn = true).unwrap();
        erased.result.unwrap();
        assert!(withdrawn && erased.replies.is_empty());
        // It goes on after another change and a start.
        writer.apply(vec![deletion(9)]).unwrap();
        writer.flush().unwrap();
        writer.close();
        let (shard, _) = writer.prepare().unwrap();
        let counted = super::super::count(&shard, Default::default()).unwrap();
        assert_eq!(counted, 99);
        let left: HashSet<_> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}

//! Erases points for good. The engine only marks deleted points, and its log keeps them, so
//! what stays is copied into a new engine and the former directory is removed.

use std::fs::{self, File};
use std::io;
use std::mem;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use qdrant_edge::{EdgeShard, PointOperations, UpdateOperation};
use tokio::sync::mpsc::WeakSender;

use super::copy::{self, Copied, Log};
use super::engine::{guarded, not_prepared, release};
use super::reader::filter_of;
use super::setup;
use super::writer::{RESERVED_BYTES, STATE_FILE, Writer};
use super::{Command, Reply};
use crate::error::RecallError;
use crate::index::{Backend, Prepared, Selection};

/// Copies that this process has begun.
static DRAFTS: AtomicU64 = AtomicU64::new(0);
/// Extensions of the directories that a copy is made in, with a number, and that the former
/// engine is moved to.
const DRAFT: &str = "draft";
const FORMER: &str = "former";
/// A search takes milliseconds; one that takes longer than all checks fails.
const SEARCH_CHECKS: usize = 500;
const SEARCH_PAUSE: Duration = Duration::from_millis(2);

/// A copy that is being made, and the erasures that wait for it; none if it merges segments.
pub(super) struct Copying {
    draft: PathBuf,
    log: Arc<Log>,
    replies: Vec<Reply>,
}

impl Copying {
    pub(super) fn new(draft: PathBuf, log: Arc<Log>, replies: Vec<Reply>) -> Self {
        Self {
            draft,
            log,
            replies,
        }
    }

    /// Adds an operation of the writer.
    pub(super) fn log(&self, operation: &UpdateOperation) {
        self.log.add(operation);
    }
}

impl Writer {
    /// Erases points: those of all erasures that wait are deleted, and what stays is copied on
    /// another thread. `commands` returns the copy to this one. If the process ends in between,
    /// the index is as before, or is rebuilt from the database.
    pub(super) fn erase(&mut self, commands: &WeakSender<Command>) {
        if self.copying.is_some() || self.erasures.is_empty() {
            return;
        }
        let (selections, replies): (Vec<_>, Vec<_>) =
            mem::take(&mut self.erasures).into_iter().unzip();
        match self.begin_copy(&selections, commands) {
            Ok((draft, log)) => self.copying = Some(Copying::new(draft, log, replies)),
            Err(error) => answer(replies, Err(error)),
        }
    }

    fn begin_copy(
        &mut self,
        selections: &[Selection],
        commands: &WeakSender<Command>,
    ) -> Result<(PathBuf, Arc<Log>), RecallError> {
        let former = self.shard.clone().ok_or_else(not_prepared)?;
        self.require_room(RESERVED_BYTES.saturating_add(bytes_of(&self.directory)))?;
        for selection in selections {
            let delete = PointOperations::DeletePointsByFilter(filter_of(selection));
            guarded("erase points", || {
                former.update(UpdateOperation::PointOperation(delete))
            })?;
        }
        self.flush()?;
        let draft = self.new_draft()?;
        let copy = guarded("create", || {
            let copy = EdgeShard::new(&draft, setup::config(&self.schema, self.vectors))?;
            setup::index_fields(&copy)?;
            Ok(copy)
        })?;
        let log = Arc::new(Log::default());
        let weak = Arc::downgrade(&former);
        let make = move |log: &Log| copy::copy_and_optimize(former, copy, log);
        let (sender, logged) = (commands.clone(), Arc::clone(&log));
        let begun = copy::begin(weak, draft.clone(), logged, sender, make);
        begun.map_err(|source| self.broken(source))?;
        Ok((draft, log))
    }

    /// An empty directory for a copy.
    pub(super) fn new_draft(&self) -> Result<PathBuf, RecallError> {
        // One that was abandoned may still be written to.
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = self.directory.with_extension(format!("{DRAFT}-{number}"));
        let broken = |source| self.broken(source);
        remove(&draft).map_err(broken)?;
        fs::create_dir_all(&draft).map_err(broken)?;
        Ok(draft)
    }

    /// Puts a copy in the place of the engine, and answers those who wait for it. `withdraw` ends
    /// new searches in the engine: they find none until the copy has taken its place.
    pub(super) fn take_copy(&mut self, copied: Copied, withdraw: impl FnOnce()) -> Option<Erased> {
        let is_wanted = |copying: &mut Copying| copying.draft == copied.draft;
        let Some(Copying { log, replies, .. }) = self.copying.take_if(is_wanted) else {
            // It was abandoned.
            if let Ok(engine) = copied.engine {
                release(engine);
            }
            let _ = remove(&copied.draft);
            return None;
        };
        let result = copied
            .engine
            .and_then(|engine| self.replace(engine, &log, &copied.draft, withdraw));
        if result.is_err() {
            let _ = remove(&copied.draft);
        }
        Some(Erased { result, replies })
    }

    fn replace(
        &mut self,
        engine: Arc<EdgeShard>,
        log: &Log,
        draft: &Path,
        withdraw: impl FnOnce(),
    ) -> Result<(), RecallError> {
        let former = self.shard.clone().ok_or_else(not_prepared)?;
        let replayed = log.replay(&former, &engine).and_then(|()| {
            guarded("flush", || {
                engine.flush();
                Ok(())
            })
        });
        release(engine);
        replayed?;
        let broken = |source| self.broken(source);
        let aside = self.directory.with_extension(FORMER);
        remove(&aside).map_err(broken)?;
        match fs::copy(self.directory.join(STATE_FILE), draft.join(STATE_FILE)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(broken(error)),
        }
        // The engine flushes when it is closed, so it is closed before its files move.
        withdraw();
        if let Some(shard) = self.shard.take() {
            release(shard);
        }
        wait_for_others(&former);
        release(former);
        let broken = |source| self.broken(source);
        fs::rename(&self.directory, &aside).map_err(broken)?;
        if let Err(error) = fs::rename(draft, &self.directory) {
            fs::rename(&aside, &self.directory).map_err(broken)?;
            return Err(broken(error));
        }
        let (shard, prepared) = self.prepare()?;
        if prepared == Prepared::New {
            // The copy could not be loaded: the index is prepared again, and rebuilt.
            release(shard);
            self.close();
            return Err(not_prepared());
        }
        release(shard);
        Ok(())
    }

    /// Closes the engine, and gives up erasures under way.
    pub(super) fn close(&mut self) {
        let mut waiting: Vec<Reply> = mem::take(&mut self.erasures)
            .into_iter()
            .map(|(_, reply)| reply)
            .collect();
        let copying = self.copying.take();
        if let Some(shard) = self.shard.take() {
            if let Some(copying) = &copying {
                copying.log.abandon();
                wait_for_others(&shard);
            }
            release(shard);
        }
        waiting.extend(copying.into_iter().flat_map(|copying| copying.replies));
        answer(waiting, Err(not_prepared()));
    }

    /// Removes a collection: this one, or one that no index of this process uses.
    pub(super) fn discard(&mut self, name: &str) -> Result<(), RecallError> {
        let directory = self.parent.path.join(name);
        if directory == self.directory {
            self.close();
            self.changes = 0;
        } else if self.parent.engines().contains(&directory) {
            return Ok(());
        }
        let broken = |source| self.broken(source);
        remove(&directory).map_err(broken)?;
        File::open(&self.parent.path)
            .and_then(|parent| parent.sync_all())
            .map_err(broken)
    }

    /// Removes what an interrupted copy left, and the engine that a copy has replaced: they may
    /// have what was erased, and they take the room that the engine needs.
    pub(super) fn remove_copies(&self) {
        if self.copying.is_some() {
            return;
        }
        let entries = fs::read_dir(&self.parent.path).into_iter().flatten();
        for path in entries.flatten().map(|entry| entry.path()) {
            let extension = path.extension().and_then(|one| one.to_str());
            let is_copy = extension.is_some_and(|one| one == FORMER || one.starts_with(DRAFT));
            if is_copy && path.with_extension("") == self.directory.with_extension("") {
                let _ = remove(&path);
            }
        }
    }

    /// Removes all engines below the parent directory that this process does not use: the
    /// former one, those of former models and those moved aside.
    pub(super) fn remove_others(&self) -> Result<(), RecallError> {
        let others = self.parent.engines();
        let is_used = |path: &Path| {
            path == self.directory
                || others
                    .iter()
                    .filter(|other| **other != self.directory)
                    .any(|other| {
                        let extension = path.extension().and_then(|one| one.to_str());
                        path == other
                            || extension.is_some_and(|extension| {
                                (extension == FORMER || extension.starts_with(DRAFT))
                                    && path == other.with_extension(extension)
                            })
                    })
        };
        let remove_all = |parent: &Path| -> io::Result<()> {
            for entry in fs::read_dir(parent)? {
                let path = entry?.path();
                let engine = path.join("segments").is_dir() || path.join(STATE_FILE).is_file();
                if engine && !is_used(&path) {
                    remove(&path)?;
                    tracing::info!(directory = %path.display(), "an unused index was removed");
                }
            }
            File::open(parent)?.sync_all()
        };
        remove_all(&self.parent.path).map_err(|source| self.broken(source))
    }
}

/// The end of erasures, and who waits for it.
pub(super) struct Erased {
    pub(super) result: Result<(), RecallError>,
    pub(super) replies: Vec<Reply>,
}

/// Answers all who wait for one result.
pub(super) fn answer(replies: Vec<Reply>, result: Result<(), RecallError>) {
    let failure = result.err().map(|error| error.to_string());
    for reply in replies {
        // The caller may wait no longer.
        let _ = reply.send(match &failure {
            None => Ok(()),
            Some(error) => Err(RecallError::IndexUnavailable {
                backend: Backend::Edge,
                source: error.as_str().into(),
            }),
        });
    }
}

/// Waits for a while until no search and no copying thread holds the engine.
#[expect(
    clippy::disallowed_methods,
    reason = "this thread belongs to no runtime"
)]
fn wait_for_others(engine: &Arc<EdgeShard>) {
    for _ in 0..SEARCH_CHECKS {
        if Arc::strong_count(engine) == 1 {
            return;
        }
        thread::sleep(SEARCH_PAUSE);
    }
}

/// Bytes of the files of a directory.
pub(super) fn bytes_of(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_of(&entry.path()),
        Ok(found) => found.blocks().saturating_mul(512),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

pub(super) fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

//! Erases points for good. The engine only marks deleted points, and its log keeps them, so
//! what stays is copied into a new engine and the former directory is removed.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use qdrant_edge::{
    EdgeShard, PointInsertOperations, PointOperations, PointStructPersisted, ScrollRequest,
    UpdateOperation, VectorStructInternal, VectorStructPersisted, WithPayloadInterface, WithVector,
};

use super::engine::{guarded, not_prepared, release};
use super::reader::filter_of;
use super::setup;
use super::writer::{OPTIMIZE_AFTER, STATE_FILE, Writer};
use crate::error::RecallError;
use crate::index::{Prepared, Selection};

/// Points that are copied at a time.
const PAGE: usize = 1_000;
/// Extensions of the directories that the copy is made in, and that the former engine is moved
/// to.
const DRAFT: &str = "draft";
const FORMER: &str = "former";
/// A search takes milliseconds; one that takes longer than all checks fails.
const SEARCH_CHECKS: usize = 500;
const SEARCH_PAUSE: Duration = Duration::from_millis(2);

impl Writer {
    /// Erases the selected points. `withdraw` ends new searches in the engine: they find none
    /// until the copy has taken its place. If the process ends in between, the index is as
    /// before, or is rebuilt from the database.
    pub(super) fn erase(
        &mut self,
        selection: &Selection,
        withdraw: impl FnOnce(),
    ) -> Result<(), RecallError> {
        let former = self.shard.clone().ok_or_else(not_prepared)?;
        let delete = PointOperations::DeletePointsByFilter(filter_of(selection));
        guarded("erase points", || {
            former.update(UpdateOperation::PointOperation(delete))
        })?;
        self.flush()?;

        let draft = self.directory.with_extension(DRAFT);
        let aside = self.directory.with_extension(FORMER);
        let broken = |source| self.broken(source);
        remove(&draft).map_err(broken)?;
        remove(&aside).map_err(broken)?;
        fs::create_dir_all(&draft).map_err(broken)?;
        let copy = guarded("create", || {
            let copy = EdgeShard::new(&draft, setup::config(&self.schema))?;
            setup::index_fields(&copy)?;
            Ok(copy)
        })?;
        copy_points(&former, &copy)?;
        guarded("flush", || {
            copy.flush();
            Ok(())
        })?;
        release(Arc::new(copy));
        match fs::copy(self.directory.join(STATE_FILE), draft.join(STATE_FILE)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(broken(error)),
        }
        // The engine flushes when it is closed, so it is closed before its files move.
        withdraw();
        self.close();
        wait_for_searches(&former);
        release(former);
        let broken = |source| self.broken(source);
        fs::rename(&self.directory, &aside).map_err(broken)?;
        if let Err(error) = fs::rename(&draft, &self.directory) {
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
        self.changes = OPTIMIZE_AFTER;
        release(shard);
        Ok(())
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
                        path == other
                            || path == other.with_extension(DRAFT)
                            || path == other.with_extension(FORMER)
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

/// Waits for a while until no search holds the engine but this thread.
#[expect(
    clippy::disallowed_methods,
    reason = "this thread belongs to no runtime"
)]
fn wait_for_searches(engine: &Arc<EdgeShard>) {
    for _ in 0..SEARCH_CHECKS {
        if Arc::strong_count(engine) == 1 {
            return;
        }
        thread::sleep(SEARCH_PAUSE);
    }
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn copy_points(from: &EdgeShard, to: &EdgeShard) -> Result<(), RecallError> {
    let mut offset = None;
    loop {
        let request = ScrollRequest {
            offset,
            limit: Some(PAGE),
            filter: None,
            with_payload: Some(WithPayloadInterface::Bool(true)),
            with_vector: WithVector::Bool(true),
            order_by: None,
        };
        let (records, next) = guarded("read points", || from.scroll(request))?;
        let points: Vec<PointStructPersisted> = records
            .into_iter()
            .map(|record| PointStructPersisted {
                id: record.id,
                vector: VectorStructPersisted::from(record.vector.unwrap_or_else(no_vector)),
                payload: record.payload,
            })
            .collect();
        if !points.is_empty() {
            let points = PointInsertOperations::PointsList(points);
            let upsert = PointOperations::UpsertPoints(points);
            guarded("copy points", || {
                to.update(UpdateOperation::PointOperation(upsert))
            })?;
        }
        offset = next;
        if offset.is_none() {
            return Ok(());
        }
    }
}

fn no_vector() -> VectorStructInternal {
    VectorStructInternal::Named(HashMap::new())
}

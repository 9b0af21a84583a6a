//! The embedded index.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use memory_contract::TenantId;
use memory_text::LexicalVector;
use qdrant_edge::{EdgeShard, FacetRequest, FacetValue, SparseVector, VectorInternal};
use tokio::sync::mpsc::error::SendTimeoutError;
use tokio::sync::{mpsc, oneshot, watch};

use super::command::Command;
use super::directory::{Directory, lock};
use super::engine::{guarded, not_prepared, release};
use super::reader::{candidates, count, count_words, filter_of, is_exact, list, path};
use super::thread::write;
use super::writer::Writer;
use crate::backend::Backend;
use crate::candidate::{Candidates, Search};
use crate::candidate_cache::CandidateCache;
use crate::config::IndexConfig;
use crate::error::IndexError;
use crate::filter::{Selection, field};
use crate::index::{Index, IndexState, IndexStatus, Prepared};
use crate::point::Change;
use crate::schema::{DENSE, IndexSchema, LEXICAL};
use crate::vocabulary::Vocabulary;
use crate::word_counts::WordCounts;

/// Commands that wait for the writer thread, at most; further callers wait for room up to
/// `write_timeout`. Each lane of the indexer (2 by default) has one command at a time, so
/// one flush covers the changes of all lanes; only commands whose callers gave up fill the queue.
const QUEUE_SIZE: usize = 64;

/// An index in this process, over qdrant-edge. Searches run concurrently with each
/// other and with the one writer thread.
pub struct EdgeIndex {
    schema: IndexSchema,
    commands: mpsc::Sender<Command>,
    write_timeout: Duration,
    shard: watch::Receiver<Option<Arc<EdgeShard>>>,
    cache: Arc<CandidateCache>,
    /// Whether its points are incomplete, as far as known while it is open.
    is_rebuilding: AtomicBool,
    directory: Arc<Directory>,
    discarded: AtomicBool,
    /// Locks the directory against other processes. The writer's thread has no share in it:
    /// another index can be opened as soon as this one is dropped.
    lock: Arc<File>,
}

impl EdgeIndex {
    /// Locks the configured directory for this process. [`Index::prepare`] loads the
    /// index.
    ///
    /// # Errors
    /// [`IndexError::Config`] if no directory is configured,
    /// [`IndexError::Directory`] if it cannot be created or another process uses
    /// it.
    pub fn open(config: &IndexConfig, schema: IndexSchema) -> Result<Self, IndexError> {
        let Some(path) = config.path.clone() else {
            return Err(IndexError::Config {
                key: "index.path",
                problem: "the embedded engine needs a directory".to_owned(),
            });
        };
        let lock = lock(&path)?;
        let directory = Arc::new(Directory::new(path));
        Self::start(config, schema, directory, Arc::new(lock))
    }

    /// Opens another index in the directory that this one has locked.
    ///
    /// # Errors
    /// As [`EdgeIndex::open`].
    pub fn open_beside(
        &self,
        config: &IndexConfig,
        schema: IndexSchema,
    ) -> Result<Self, IndexError> {
        let (directory, lock) = (Arc::clone(&self.directory), Arc::clone(&self.lock));
        Self::start(config, schema, directory, lock)
    }

    fn start(
        config: &IndexConfig,
        schema: IndexSchema,
        directory: Arc<Directory>,
        lock: Arc<File>,
    ) -> Result<Self, IndexError> {
        let (commands, queue) = mpsc::channel(QUEUE_SIZE);
        let to_writer = commands.downgrade();
        let (publish, shard) = watch::channel(None);
        let cache = Arc::new(CandidateCache::default());
        let writer = Writer::new(&directory, &schema, config.vectors, Arc::clone(&cache));
        let failed = |source: io::Error| IndexError::Directory {
            path: directory.path.clone(),
            source: source.into(),
        };
        thread::Builder::new()
            .name("index-writer".to_owned())
            .spawn(move || write(writer, queue, to_writer, publish))
            .map_err(failed)?;
        Ok(Self {
            schema,
            commands,
            write_timeout: config.write_timeout,
            shard,
            cache,
            is_rebuilding: AtomicBool::new(true),
            directory,
            discarded: AtomicBool::new(false),
            lock,
        })
    }

    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Result<T, IndexError> {
        let (reply, answer) = oneshot::channel();
        let after = self.write_timeout;
        let sent = self.commands.send_timeout(command(reply), after).await;
        sent.map_err(|error| match error {
            SendTimeoutError::Timeout(_) => IndexError::Timeout {
                backend: Backend::Edge,
                after,
            },
            SendTimeoutError::Closed(_) => not_prepared(),
        })?;
        answer.await.map_err(|_| not_prepared())
    }

    /// Runs a read on the blocking pool.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&EdgeShard) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let shard = self.shard.borrow().clone().ok_or_else(not_prepared)?;
        let read = move || {
            let answer = read(&shard);
            release(shard);
            answer
        };
        tokio::task::spawn_blocking(read)
            .await
            .map_err(|_| not_prepared())?
    }

    fn set_rebuilding(&self, rebuilding: bool) {
        self.is_rebuilding.store(rebuilding, Ordering::Relaxed);
    }
}

#[async_trait]
impl Index for EdgeIndex {
    fn backend(&self) -> Backend {
        Backend::Edge
    }

    fn schema(&self) -> &IndexSchema {
        &self.schema
    }

    async fn prepare(&self) -> Result<Prepared, IndexError> {
        self.discarded.store(false, Ordering::Relaxed);
        let prepared = self.ask(Command::Prepare).await??;
        self.set_rebuilding(prepared != Prepared::Whole);
        Ok(prepared)
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), IndexError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.ask(|reply| Command::Apply(changes, reply)).await?
    }

    async fn search(&self, search: Search) -> Result<Candidates, IndexError> {
        let Search {
            selection,
            dense,
            lexical,
            limit,
        } = search;
        if limit == 0 {
            return Ok(Candidates::default());
        }
        self.schema.check_query(dense.as_deref())?;
        let cache = Arc::clone(&self.cache);
        self.read(move |shard| {
            let filter = filter_of(&selection);
            let mut found = Candidates::default();
            if let Some(dense) = dense {
                let exact = is_exact(shard, &selection)?;
                let points = list(
                    shard,
                    DENSE,
                    VectorInternal::Dense(dense),
                    exact,
                    filter.clone(),
                    limit,
                )?;
                found.dense = candidates(shard, &cache, points)?;
            }
            if let Some(words) = lexical.filter(|words| !words.indices.is_empty()) {
                let vocabulary = Vocabulary::new(selection.tenant_id());
                let LexicalVector { indices, values } = vocabulary.number(words);
                let query = SparseVector { indices, values };
                let mut points = list(
                    shard,
                    LEXICAL,
                    VectorInternal::Sparse(query),
                    false,
                    filter,
                    limit,
                )?;
                points.retain(|point| point.score > 0.0);
                found.lexical = candidates(shard, &cache, points)?;
            }
            Ok(found)
        })
        .await
    }

    async fn names(&self, selection: &Selection, limit: usize) -> Result<Vec<String>, IndexError> {
        let filter = filter_of(selection);
        self.read(move |shard| {
            let request = FacetRequest {
                key: path(field::NAME),
                limit: limit.max(1),
                filter: Some(filter),
                exact: false,
            };
            let found = guarded("list names", || shard.facet(request))?;
            Ok(found
                .hits
                .into_iter()
                .filter_map(|hit| match hit.value {
                    FacetValue::Keyword(name) if hit.count > 0 => Some(name),
                    FacetValue::Keyword(_)
                    | FacetValue::Int(_)
                    | FacetValue::Uuid(_)
                    | FacetValue::Bool(_) => None,
                })
                .collect())
        })
        .await
    }

    async fn word_counts(&self, tenant: &TenantId, most: usize) -> Result<WordCounts, IndexError> {
        let tenant = tenant.clone();
        self.read(move |shard| count_words(shard, &tenant, most))
            .await
    }

    async fn mark_rebuilding(&self, rebuilding: bool) -> Result<(), IndexError> {
        self.ask(|reply| Command::Mark(rebuilding, reply)).await??;
        self.set_rebuilding(rebuilding);
        Ok(())
    }

    async fn erase(&self, selection: &Selection) -> Result<(), IndexError> {
        let selection = selection.clone();
        self.ask(|reply| Command::Erase(selection, reply)).await?
    }

    async fn count(&self, selection: &Selection) -> Result<u64, IndexError> {
        let filter = filter_of(selection);
        let counted = self.read(move |shard| count(shard, filter, true)).await?;
        Ok(counted)
    }

    async fn discard(&self, collection: &str) -> Result<(), IndexError> {
        let name = collection.to_owned();
        let discarded = self.ask(|reply| Command::Discard(name, reply)).await?;
        if collection == self.schema.collection() {
            self.set_rebuilding(true);
            self.discarded.store(discarded.is_ok(), Ordering::Relaxed);
        }
        discarded
    }

    fn is_discarded(&self) -> bool {
        self.discarded.load(Ordering::Relaxed)
    }

    async fn status(&self, tenant: &TenantId) -> IndexStatus {
        let filter = filter_of(&Selection::tenant(tenant));
        let counted = self.read(move |shard| count(shard, filter, true)).await;
        IndexStatus {
            state: if counted.is_ok() {
                self.last_state()
            } else {
                IndexState::Unavailable
            },
            collection: self.schema.collection().to_owned(),
            points: counted.unwrap_or(0),
        }
    }

    fn last_state(&self) -> IndexState {
        if self.shard.borrow().is_none() {
            return IndexState::Unavailable;
        }
        match self.is_rebuilding.load(Ordering::Relaxed) {
            true => IndexState::Rebuilding,
            false => IndexState::Ready,
        }
    }

    async fn stop(&self) {
        // An error means that it has stopped already.
        let _ = self.ask(Command::Stop).await;
    }
}

#[cfg(test)]
mod tests;

//! An index server in memory. The simulation decides when, and how, it answers each call.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use memory_contract::{TenantId, ThreadId};
use memory_embed::EmbeddingModel;
use memory_index::{
    Backend, Candidates, Change, Index, IndexError, IndexSchema, IndexState, IndexStatus,
    MemoryPoint, Point, Prepared, Search, Selection, Subject, WordCounts,
};
use tokio::sync::oneshot;

const BACKEND: Backend = Backend::Qdrant;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out and answered.
    Done,
    /// It does not arrive.
    Undelivered,
    /// It is carried out, and the answer does not arrive.
    Unanswered,
    /// The first half of its changes is carried out before the server fails.
    Half,
    /// The server refuses it.
    Refused,
}

/// A call that waits for its fate.
pub struct Call {
    pub process: usize,
    pub collection: String,
    pub operation: &'static str,
    pub changes: usize,
    fate: oneshot::Sender<Fate>,
}

impl Call {
    /// Whether the caller still waits for the answer.
    pub fn is_open(&self) -> bool {
        !self.fate.is_closed()
    }

    pub fn decide(self, fate: Fate) {
        let _ = self.fate.send(fate);
    }
}

/// A point, reduced to what comparisons need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The thread and the seq of a message.
    pub place: Option<(ThreadId, i64)>,
    /// Everything in the point.
    pub content: String,
}

impl Entry {
    pub fn of_message(point: &Point) -> Self {
        Self {
            place: Some((point.thread, point.seq)),
            content: format!("{point:?}"),
        }
    }

    pub fn of_memory(point: &MemoryPoint) -> Self {
        Self {
            place: None,
            content: format!("{point:?}"),
        }
    }
}

/// The points of a collection.
pub type Points = HashMap<Subject, Entry>;

#[derive(Clone, Debug, Default)]
pub struct Collection {
    /// Whether it is being rebuilt; `None` until it is marked for the first time.
    pub rebuilding: Option<bool>,
    pub points: Points,
}

impl Collection {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Upsert(point) => {
                let subject = Subject::Message(point.message);
                self.points.insert(subject, Entry::of_message(point));
            }
            Change::UpsertMemory(point) => {
                let subject = Subject::Memory(point.memory.id);
                self.points.insert(subject, Entry::of_memory(point));
            }
            Change::Delete { subject, .. } => drop(self.points.remove(subject)),
            Change::Purge {
                thread, up_to_seq, ..
            } => self.points.retain(|_, entry| {
                let purged = |(of, seq)| of == *thread && seq <= *up_to_seq;
                !entry.place.is_some_and(purged)
            }),
        }
    }
}

#[derive(Default)]
pub struct State {
    pub collections: BTreeMap<String, Collection>,
    pub calls: Vec<Call>,
}

/// The server. Clones share it.
#[derive(Clone, Default)]
pub struct Server(Arc<Mutex<State>>);

impl Server {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The client of a process for the collection of a model.
    pub fn client(&self, process: usize, model: &str) -> Arc<dyn Index> {
        let model = EmbeddingModel {
            name: model.to_owned(),
            dimensions: 4,
        };
        Arc::new(Remote {
            server: self.clone(),
            process,
            schema: IndexSchema::new("recollect", Some(&model)),
            unavailable: Mutex::default(),
        })
    }
}

struct Remote {
    server: Server,
    process: usize,
    schema: IndexSchema,
    /// Whether the last call failed.
    unavailable: Mutex<bool>,
}

impl Remote {
    /// Makes a call that `act` carries out.
    async fn call<T>(
        &self,
        operation: &'static str,
        changes: usize,
        act: impl FnOnce(&mut State, Fate) -> Option<T>,
    ) -> Result<T, IndexError> {
        let (fate, decided) = oneshot::channel();
        self.server.state().calls.push(Call {
            process: self.process,
            collection: self.schema.collection().to_owned(),
            operation,
            changes,
            fate,
        });
        let fate = decided.await.unwrap_or(Fate::Undelivered);
        let answer = self.answer(fate, operation, act);
        *self.unavailable.lock().unwrap() = answer.is_err();
        answer
    }

    fn answer<T>(
        &self,
        fate: Fate,
        operation: &'static str,
        act: impl FnOnce(&mut State, Fate) -> Option<T>,
    ) -> Result<T, IndexError> {
        let unavailable = || IndexError::Unavailable {
            backend: BACKEND,
            source: "the connection was closed".into(),
        };
        match fate {
            Fate::Undelivered => return Err(unavailable()),
            Fate::Refused => {
                return Err(IndexError::Refused {
                    backend: BACKEND,
                    operation,
                    source: "it refuses".into(),
                });
            }
            Fate::Done | Fate::Unanswered | Fate::Half => {}
        }
        let done = act(&mut self.server.state(), fate).ok_or_else(|| IndexError::Lost {
            backend: BACKEND,
            collection: self.schema.collection().to_owned(),
        })?;
        match fate {
            Fate::Half => Err(unavailable()),
            Fate::Unanswered => Err(IndexError::Timeout {
                backend: BACKEND,
                after: Duration::from_secs(30),
            }),
            Fate::Done | Fate::Undelivered | Fate::Refused => Ok(done),
        }
    }

    fn unused<T>(operation: &'static str) -> Result<T, IndexError> {
        Err(IndexError::Refused {
            backend: BACKEND,
            operation,
            source: "the simulation has no searches".into(),
        })
    }
}

#[async_trait]
impl Index for Remote {
    fn backend(&self) -> Backend {
        BACKEND
    }

    fn schema(&self) -> &IndexSchema {
        &self.schema
    }

    async fn prepare(&self) -> Result<Prepared, IndexError> {
        let name = self.schema.collection().to_owned();
        let prepare = |state: &mut State, _| {
            let collection = state.collections.entry(name).or_default();
            Some(match collection.rebuilding {
                None => Prepared::New,
                Some(true) => Prepared::Rebuilding,
                Some(false) => Prepared::Whole,
            })
        };
        self.call("prepare", 0, prepare).await
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), IndexError> {
        let name = self.schema.collection();
        let count = changes.len();
        let apply = |state: &mut State, fate| {
            let collection = state.collections.get_mut(name)?;
            let carried_out = if fate == Fate::Half { count / 2 } else { count };
            for change in &changes[..carried_out] {
                collection.apply(change);
            }
            Some(())
        };
        self.call("apply", count, apply).await
    }

    async fn mark_rebuilding(&self, rebuilding: bool) -> Result<(), IndexError> {
        let name = self.schema.collection();
        let mark = |state: &mut State, _| {
            state.collections.get_mut(name)?.rebuilding = Some(rebuilding);
            Some(())
        };
        self.call("mark", 0, mark).await
    }

    async fn discard(&self, collection: &str) -> Result<(), IndexError> {
        let discard = |state: &mut State, _| {
            state.collections.remove(collection);
            Some(())
        };
        self.call("discard", 0, discard).await
    }

    async fn status(&self, _tenant: &TenantId) -> IndexStatus {
        let name = self.schema.collection();
        let state = self.server.state();
        let found = state.collections.get(name);
        IndexStatus {
            state: match found.map(|collection| collection.rebuilding) {
                None => IndexState::Unavailable,
                Some(Some(false)) => IndexState::Ready,
                Some(None | Some(true)) => IndexState::Rebuilding,
            },
            collection: name.to_owned(),
            points: found.map_or(0, |collection| collection.points.len() as u64),
        }
    }

    fn last_state(&self) -> IndexState {
        match *self.unavailable.lock().unwrap() {
            true => IndexState::Unavailable,
            false => IndexState::Ready,
        }
    }

    async fn search(&self, _search: Search) -> Result<Candidates, IndexError> {
        Self::unused("search")
    }

    async fn names(
        &self,
        _selection: &Selection,
        _limit: usize,
    ) -> Result<Vec<String>, IndexError> {
        Self::unused("list names")
    }

    async fn word_counts(
        &self,
        _tenant: &TenantId,
        _most: usize,
    ) -> Result<WordCounts, IndexError> {
        Self::unused("count words")
    }

    async fn erase(&self, _selection: &Selection) -> Result<(), IndexError> {
        Self::unused("erase")
    }

    async fn count(&self, _selection: &Selection) -> Result<u64, IndexError> {
        Self::unused("count")
    }

    async fn stop(&self) {}
}

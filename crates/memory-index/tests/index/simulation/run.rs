//! Workers, callers, faults and time, in an order that a seed chooses.

use std::fmt::Write as _;
use std::time::Duration;

use fastrand::Rng;
use memory_contract::json::JsonObject;
use memory_contract::memory::{MemoryChange, MemoryOrigin, NewMemory};
use memory_contract::message::Role;
use memory_contract::precondition::Precondition;
use memory_contract::{MemoryId, MessageId, ThreadId};
use memory_index::{Collections, Indexer, IndexerConfig, Indexes};
use memory_store::{Append, Caller, CollectionChange, CollectionState, CountedMessage};
use tokio::task::{JoinHandle, spawn_blocking, yield_now};
use tokio_util::sync::CancellationToken;

use super::server::{Call, Fate, Points, Server};
use super::stage::Stage;
use crate::world::{caller, message, new_thread, owner};

const MODELS: [&str; 3] = ["a", "b", "c"];
/// Turns of the scheduler without a query after which no task has anything left to do.
const CALM: usize = 16;
/// Of a hundred steps, those that write into the store.
const WRITES: u32 = 36;
/// Steps within which the index has to be equal to the store when nothing fails any more.
const SETTLING_STEPS: usize = 2_000;

/// A worker process.
struct Process {
    number: usize,
    task: JoinHandle<()>,
}

/// One simulation.
pub struct Simulation<'a> {
    pub stage: &'a Stage,
    pub server: Server,
    rng: Rng,
    caller: Caller,
    processes: Vec<Process>,
    started: usize,
    /// What processes are started with: the first model, and the one to change to.
    models: (usize, Option<usize>),
    threads: Vec<ThreadId>,
    messages: Vec<(ThreadId, MessageId)>,
    memories: Vec<MemoryId>,
    said: usize,
    /// The points that an index has to have, as long as nothing is written.
    pub truth: Option<Points>,
    /// How often a point was found as it has to be while faults happen.
    pub equal: usize,
    /// What happened, a line each.
    pub trace: String,
}

impl<'a> Simulation<'a> {
    pub fn new(stage: &'a Stage, seed: u64) -> Self {
        // The workers' pauses have jitter.
        fastrand::seed(seed);
        Self {
            stage,
            server: Server::default(),
            rng: Rng::with_seed(seed),
            caller: caller(),
            processes: Vec::new(),
            started: 0,
            models: (0, None),
            threads: Vec::new(),
            messages: Vec::new(),
            memories: Vec::new(),
            said: 0,
            truth: None,
            equal: 0,
            trace: String::new(),
        }
    }

    /// Plays so many steps, each followed by a check, and then lets the workers finish.
    pub async fn play(&mut self, steps: usize) -> Result<(), String> {
        self.start().await;
        for _ in 0..steps {
            self.step().await;
            self.check().await?;
        }
        self.settle().await
    }

    async fn step(&mut self) {
        let choice = self.rng.u32(..100);
        if choice < WRITES {
            self.truth = None;
        }
        match choice {
            0..14 => self.append().await,
            14..18 => self.change_metadata().await,
            18..26 => self.delete_message().await,
            26..28 => self.delete_thread().await,
            28..32 => self.remember().await,
            32..34 => self.change_memory().await,
            34..WRITES => self.forget().await,
            WRITES..64 => self.answer_some().await,
            64..80 => self.pass_time().await,
            80..83 => self.kill(),
            83..87 => self.start().await,
            87..89 => self.lose_collection(),
            89..93 => self.change_model().await,
            93..96 => self.switch().await,
            96..98 => self.retire().await,
            _ => self.requeue().await,
        }
        self.quiet().await;
    }

    fn note(&mut self, what: impl std::fmt::Display) {
        writeln!(self.trace, "{what}").unwrap();
    }

    async fn append(&mut self) {
        if self.threads.is_empty() || self.rng.u32(..4) == 0 {
            let thread = new_thread("ada");
            let thread = self
                .stage
                .store
                .threads(&self.caller)
                .create_thread(&thread)
                .await;
            self.threads.push(thread.unwrap().id);
        }
        let place = self.rng.usize(..self.threads.len());
        let thread = self.threads[place];
        let count = self.rng.usize(1..=3);
        let messages = (0..count).map(|_| {
            self.said += 1;
            let text = format!("This is sentence {}.", self.said);
            CountedMessage {
                message: message(Role::User, &text),
                tokens: 7,
            }
        });
        let append = Append {
            thread,
            messages: messages.collect(),
            request_id: None,
            expected_head: None,
        };
        let messages = self.stage.store.messages(&self.caller);
        let appended = messages.append(&append).await.unwrap();
        let ids = appended.messages.iter().map(|one| (thread, one.id));
        self.messages.extend(ids);
        self.note(format_args!("append {count} messages to thread {place}"));
    }

    async fn change_metadata(&mut self) {
        let Some(place) = self.choose(self.messages.len()) else {
            return;
        };
        let (thread, id) = self.messages[place];
        let metadata = serde_json::json!({"changed": self.rng.u32(..1_000)});
        let metadata = JsonObject::from(metadata.as_object().unwrap().clone());
        let messages = self.stage.store.messages(&self.caller);
        let changed = messages.update_message(thread, id, &metadata).await;
        self.note(format_args!(
            "metadata of message {place}: {}",
            changed.is_ok()
        ));
    }

    async fn delete_message(&mut self) {
        let Some(place) = self.choose(self.messages.len()) else {
            return;
        };
        let (thread, id) = self.messages[place];
        let messages = self.stage.store.messages(&self.caller);
        let deleted = messages.delete_message(thread, id).await;
        self.note(format_args!("delete message {place}: {}", deleted.is_ok()));
    }

    async fn delete_thread(&mut self) {
        let Some(place) = self.choose(self.threads.len()) else {
            return;
        };
        let thread = self.threads[place];
        let threads = self.stage.store.threads(&self.caller);
        let clears = self.rng.bool();
        if clears {
            threads.clear_thread(thread).await.unwrap();
        } else {
            threads.delete_thread(thread).await.unwrap();
            self.threads.remove(place);
        }
        let what = if clears { "clear" } else { "delete" };
        self.note(format_args!("{what} thread {place}"));
    }

    async fn remember(&mut self) {
        self.said += 1;
        let memory = NewMemory {
            text: format!("Fact {} holds.", self.said),
            ..NewMemory::default()
        };
        let memories = self.stage.store.memories(&self.caller);
        let added = memories
            .add_memories(&owner("ada"), &[memory], MemoryOrigin::Caller, None)
            .await
            .unwrap();
        self.memories.push(added.memories[0].memory.id);
        self.note("add a memory");
    }

    async fn change_memory(&mut self) {
        let Some(place) = self.choose(self.memories.len()) else {
            return;
        };
        self.said += 1;
        let change = MemoryChange {
            text: Some(format!("Fact {} holds now.", self.said)),
            ..MemoryChange::default()
        };
        let memories = self.stage.store.memories(&self.caller);
        let id = self.memories[place];
        let changed = memories
            .update_memory(id, &Precondition::Unchecked, &change)
            .await;
        self.note(format_args!("change memory {place}: {}", changed.is_ok()));
    }

    async fn forget(&mut self) {
        let Some(place) = self.choose(self.memories.len()) else {
            return;
        };
        let memories = self.stage.store.memories(&self.caller);
        memories.delete_memory(self.memories[place]).await.unwrap();
        self.note(format_args!("delete memory {place}"));
    }

    /// Lets the server answer some calls, one after the other.
    async fn answer_some(&mut self) {
        for _ in 0..self.rng.u32(1..=6) {
            let fate = match self.rng.u32(..40) {
                0..32 => Fate::Done,
                32..34 => Fate::Undelivered,
                34..37 => Fate::Unanswered,
                37..39 => Fate::Half,
                _ => Fate::Refused,
            };
            self.answer(fate);
            self.quiet().await;
        }
    }

    /// Lets the server answer one of the calls that wait. Returns whether a call waited.
    fn answer(&mut self, fate: Fate) -> bool {
        let mut calls = std::mem::take(&mut self.server.state().calls);
        calls.retain(Call::is_open);
        // Calls that differ are in an order that does not depend on that of tasks.
        calls.sort_by(|a, b| {
            let key = |call: &Call| {
                (
                    call.process,
                    call.collection.clone(),
                    call.operation,
                    call.changes,
                )
            };
            key(a).cmp(&key(b))
        });
        let chosen = self.choose(calls.len()).map(|place| calls.remove(place));
        self.server.state().calls = calls;
        let Some(call) = chosen else { return false };
        self.note(format_args!(
            "process {}: {} {} changes in {}: {fate:?}",
            call.process, call.operation, call.changes, call.collection
        ));
        call.decide(fate);
        true
    }

    async fn pass_time(&mut self) {
        let seconds = [1, 1, 5, 5, 21, 61, 130, 4_000];
        let by = seconds[self.rng.usize(..seconds.len())];
        self.advance(by).await;
    }

    async fn advance(&mut self, seconds: u64) {
        self.note(format_args!("{seconds} s pass"));
        let by = Duration::from_secs(seconds);
        self.stage.advance(by).await;
        tokio::time::advance(by).await;
        self.quiet().await;
    }

    /// Ends a process at once, whatever it is doing.
    fn kill(&mut self) {
        if let Some(place) = self.choose(self.processes.len()) {
            let killed = self.processes.remove(place);
            killed.task.abort();
            self.note(format_args!("kill process {}", killed.number));
        }
    }

    async fn start(&mut self) {
        if self.processes.len() == 3 {
            return;
        }
        let number = self.started;
        self.started += 1;
        let models = self.models;
        self.note(format_args!(
            "start process {number} with the models {models:?}"
        ));
        let client = |model: usize| self.server.client(number, MODELS[model]);
        let indexes = Indexes::new(client(models.0), models.1.map(client));
        let (store, outbox) = (self.stage.store.clone(), self.stage.outbox());
        let task = tokio::spawn(async move {
            let names: Vec<String> = indexes
                .each()
                .map(|index| index.schema().collection().to_owned())
                .collect();
            let next = names.get(1).map(String::as_str);
            while !outbox.open_collections(&names[0], next).await.unwrap() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let stop = CancellationToken::new();
            let indexers: Vec<Indexer> = indexes
                .each()
                .map(|index| {
                    let (store, outbox) = (store.clone(), outbox.clone());
                    Indexer::new(store, outbox, index.clone(), None, config())
                        .of_recorded_collection()
                })
                .collect();
            let work = indexers.iter().map(|indexer| indexer.run(stop.clone()));
            let collections = Collections {
                store: store.clone(),
                outbox: Some(outbox.clone()),
                indexes: indexes.clone(),
            };
            tokio::join!(
                futures::future::join_all(work),
                collections.run(stop.clone(), |_| {})
            );
        });
        self.processes.push(Process { number, task });
        self.quiet().await;
    }

    /// Lets the server lose a collection.
    fn lose_collection(&mut self) {
        let mut state = self.server.state();
        let names: Vec<String> = state.collections.keys().cloned().collect();
        let chosen = (!names.is_empty()).then(|| names[self.rng.usize(..names.len())].clone());
        if let Some(name) = &chosen {
            state.collections.remove(name);
        }
        drop(state);
        if let Some(name) = chosen {
            self.note(format_args!("the server loses {name}"));
        }
    }

    /// Changes what processes are started with from now on, and replaces one.
    async fn change_model(&mut self) {
        let first = match self.models.1 {
            Some(next) if self.rng.bool() => next,
            _ => self.models.0,
        };
        let next = self.rng.usize(..MODELS.len());
        self.models = (first, (next != first).then_some(next));
        let models = self.models;
        self.note(format_args!("models: {models:?}"));
        self.kill();
        self.start().await;
    }

    async fn switch(&mut self) {
        let outbox = self.stage.outbox();
        let listed = outbox.list_collections().await.unwrap();
        let beside = listed
            .iter()
            .find(|one| one.state == CollectionState::Beside);
        if let Some(beside) = beside {
            let force = self.rng.u32(..4) == 0;
            let done = outbox.switch_collection(&beside.name, force).await.unwrap();
            self.note(format_args!("switch to {}: {done:?}", beside.name));
        }
    }

    async fn retire(&mut self) {
        let outbox = self.stage.outbox();
        let listed = outbox.list_collections().await.unwrap();
        if let Some(place) = self.choose(listed.len()) {
            let name = &listed[place].name;
            let done = outbox.retire_collection(name).await.unwrap();
            assert!(
                listed[place].state != CollectionState::Serving
                    || done == CollectionChange::Serving
            );
            self.note(format_args!("retire {name}: {done:?}"));
        }
    }

    async fn requeue(&mut self) {
        let index = self.stage.store.index(&self.caller);
        let requeued = index.requeue_dead(None).await.unwrap();
        self.note(format_args!("requeue {requeued} dead letters"));
    }

    fn choose(&mut self, of: usize) -> Option<usize> {
        (of > 0).then(|| self.rng.usize(..of))
    }

    /// Waits until each task waits for time or for the index server.
    async fn quiet(&self) {
        let mut calm = 0;
        while calm < CALM {
            yield_now().await;
            match self.stage.is_querying() {
                false => calm += 1,
                true => {
                    calm = 0;
                    let moment = || std::thread::sleep(Duration::from_micros(50));
                    spawn_blocking(moment).await.unwrap();
                }
            }
        }
    }

    /// Ends all faults and older processes, and waits until the index is equal to the store.
    async fn settle(&mut self) -> Result<(), String> {
        while !self.processes.is_empty() {
            self.kill();
        }
        self.note("faults end");
        for _ in 0..2 {
            self.start().await;
        }
        for step in 0..SETTLING_STEPS {
            let answered = self.answer(Fate::Done);
            self.quiet().await;
            if answered {
                continue;
            }
            if self.is_settled().await {
                return self.check_end().await;
            }
            if step % 50 == 0 {
                self.requeue().await;
            }
            self.advance(5).await;
        }
        let waiting = self.stage.waiting().await;
        Err(format!("the index is not equal to the store: {waiting}"))
    }

    /// The names of the collections that new processes have.
    pub fn collections(&self) -> Vec<String> {
        let models = [Some(self.models.0), self.models.1];
        let name = |model: &usize| {
            let client = self.server.client(0, MODELS[*model]);
            client.schema().collection().to_owned()
        };
        models.iter().flatten().map(name).collect()
    }

    /// Whether nothing waits for the collections that the processes have.
    async fn is_settled(&self) -> bool {
        let outbox = self.stage.outbox();
        let listed = outbox.list_collections().await.unwrap();
        let own = self.collections();
        let state = self.server.state();
        listed.iter().all(|one| {
            let receives = matches!(
                one.state,
                CollectionState::Serving | CollectionState::Beside
            );
            let stored = state.collections.get(&one.name);
            match one.state {
                CollectionState::Retired => false,
                _ if !own.contains(&one.name) || !receives => one.state != CollectionState::Serving,
                _ => {
                    one.complete
                        && one.waiting.pending == 0
                        && one.waiting.dead_letters == 0
                        && stored.is_some_and(|stored| stored.rebuilding == Some(false))
                }
            }
        })
    }
}

impl Drop for Simulation<'_> {
    fn drop(&mut self) {
        for process in &self.processes {
            process.task.abort();
        }
    }
}

/// Few queries while time passes, and small batches.
fn config() -> IndexerConfig {
    IndexerConfig {
        batch_size: 4,
        lanes: 2,
        poll_interval: Duration::from_secs(5),
        max_attempts: 4,
        ..IndexerConfig::default()
    }
}

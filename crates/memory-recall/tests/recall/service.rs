//! Recall over the store and the index of a world.

use std::sync::Arc;

use memory_contract::{MessageId, ThreadId, message::Role};
use memory_embed::Embedder;
use memory_index::{Index, IndexState};
use memory_recall::{DegradationReason, Recall, RecallQuery, Recalled, SearchConfig};
use tempfile::TempDir;

use crate::world::{Worker, World, caller, edge, eventually, quick};

pub const TRIP: [&str; 8] = [
    "I want to travel to Lisbon in spring.",
    "How long will you stay?",
    "Ten days, and my dog Rufus comes along.",
    "Then book a flat near a park.",
    "Good idea, something quiet.",
    "I will look for flats.",
    "Thank you for the help!",
    "You are welcome.",
];

/// Recall and an indexer over a store and an index.
pub struct Service {
    pub world: World,
    pub index: Arc<dyn Index>,
    pub recall: Recall,
    pub worker: Worker,
    _directory: Option<TempDir>,
}

impl Service {
    /// Over an embedded index without a model.
    pub async fn start() -> Self {
        let (directory, index) = edge();
        Self {
            _directory: Some(directory),
            ..Self::over(index, None).await
        }
    }

    pub async fn over(index: Arc<dyn Index>, embedder: Option<Embedder>) -> Self {
        let world = World::new().await;
        let worker = Worker::start(&world, &index, embedder.clone(), quick());
        let recall = Recall::new(
            world.store.clone(),
            Arc::clone(&index),
            embedder,
            Some(worker.handle.clone()),
            SearchConfig::default(),
        );
        Self {
            world,
            index,
            recall,
            worker,
            _directory: None,
        }
    }

    /// Says each line in a new thread of a user, user and assistant in turn, and waits
    /// for the index.
    pub async fn conversation(&self, user: &str, lines: &[&str]) -> (ThreadId, Vec<MessageId>) {
        let thread = self.world.thread(user).await;
        let mut said = Vec::new();
        for (place, line) in lines.iter().enumerate() {
            let role = [Role::User, Role::Assistant][place % 2];
            said.push(self.world.say(thread, role, line).await);
        }
        self.settle().await;
        (thread, said)
    }

    /// Waits until the index has every change.
    pub async fn settle(&self) {
        self.worker.handle.wake();
        eventually("the index has every change", async || {
            let ready = self.index.last_state() == IndexState::Ready;
            self.world.pending().await == 0 && ready
        })
        .await;
    }

    pub async fn ask(&self, query: RecallQuery) -> Recalled {
        self.recall.recall(&caller(), &query).await.unwrap()
    }
}

pub fn ids(recalled: &Recalled) -> Vec<MessageId> {
    recalled.messages.iter().map(|one| one.message.id).collect()
}

pub fn degradations(recalled: &Recalled) -> Vec<DegradationReason> {
    recalled.degradations.iter().map(|one| one.reason).collect()
}

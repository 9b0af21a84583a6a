//! What the calls are about: threads, messages, memories and files that exist, and a valid
//! request of every method.

use std::sync::RwLock;

use fastrand::Rng;
use memory_contract::proto::{
    AddMemoriesRequest, AppendMessagesRequest, MemoryInput, ResolveThreadRequest,
};
use prost_reflect::MethodDescriptor;
use serde_json::{Value, json};

use recollect_tests::{Call, Client, Dynamic, VALID_REQUESTS, by_id, of_user, session, turn};

const APP: &str = "fuzz";
const USER: &str = "ada";
/// Threads that exist at a time.
const THREADS: usize = 16;

/// What exists.
pub(super) struct World {
    threads: RwLock<Vec<Known>>,
    requests: Vec<(&'static str, &'static str)>,
}

/// The names of a thread and of what is in it.
#[derive(Clone, Default)]
struct Known {
    thread: String,
    key: String,
    message: String,
    reply: String,
    memory: String,
}

impl World {
    /// # Panics
    /// If a call fails.
    pub(super) async fn new(client: &Client) -> Self {
        let world = Self {
            threads: RwLock::new(vec![Known::default(); THREADS]),
            requests: VALID_REQUESTS
                .trim()
                .lines()
                .filter_map(|line| line.split_once(' '))
                .collect(),
        };
        for place in 0..THREADS as u64 {
            world.renew(client, place).await;
        }
        let made = world.threads.read().unwrap().clone();
        assert!(made.iter().all(|known| !known.memory.is_empty()));
        world
    }

    /// Makes one of the threads anew: calls may have deleted it.
    pub(super) async fn renew(&self, client: &Client, number: u64) {
        let place = usize::try_from(number).unwrap_or(0) % THREADS;
        if let Some(known) = Known::make(client, number).await {
            self.threads.write().unwrap()[place] = known;
        }
    }

    /// A valid request of a method, and names that exist. A method without a known request
    /// gets an empty one.
    pub(super) fn request(&self, method: &MethodDescriptor, rng: &mut Rng) -> (Value, Vec<String>) {
        let known = {
            let threads = self.threads.read().unwrap();
            threads[rng.usize(0..threads.len())].clone()
        };
        let name = Dynamic::name(method);
        let several: Vec<&str> = self
            .requests
            .iter()
            .filter(|(method, _)| *method == name)
            .map(|(_, request)| *request)
            .collect();
        let request = match rng.choice(several) {
            None => json!({}),
            Some(request) => {
                let new = format!("new-{}", rng.u32(0..64));
                let request = request
                    .replace("$THREAD", &known.thread)
                    .replace("$KEY", &known.key)
                    .replace("$MESSAGE", &known.message)
                    .replace("$REPLY", &known.reply)
                    .replace("$MEMORY", &known.memory)
                    .replace("$UUID", &uuid::Uuid::from_u128(rng.u128(..)).to_string())
                    .replace("$NEW", &new);
                serde_json::from_str(&request)
                    .unwrap_or_else(|error| panic!("{name}: {error}: {request}"))
            }
        };
        let Known {
            thread,
            key,
            message,
            reply,
            memory,
        } = known;
        let names = vec![
            thread,
            key,
            message,
            reply,
            memory,
            APP.to_owned(),
            USER.to_owned(),
            "new-1".to_owned(),
            "planner".to_owned(),
        ];
        (request, names)
    }
}

impl Known {
    /// None if a call failed: policies that other calls set may forbid it.
    async fn make(client: &Client, number: u64) -> Option<Self> {
        let key = format!("thread:{number}");
        let resolve = ResolveThreadRequest {
            session: Some(session(APP, USER, &key)),
            ..Default::default()
        };
        let thread = answer(client, resolve).await?.thread?.thread_id;
        let append = AppendMessagesRequest {
            thread: by_id(&thread),
            messages: turn("What is red?", "Cherries are."),
            ..Default::default()
        };
        let stored = answer(client, append).await?.messages;
        let memory = AddMemoriesRequest {
            user: of_user(APP, USER),
            memories: vec![MemoryInput {
                text: format!("Likes the number {number}."),
                ..Default::default()
            }],
        };
        let memories = answer(client, memory).await?.memories;
        Some(Self {
            thread,
            key,
            message: stored.first()?.message_id.clone(),
            reply: stored.last()?.message_id.clone(),
            memory: memories.first()?.memory.as_ref()?.memory_id.clone(),
        })
    }
}

async fn answer<R: Call>(client: &Client, request: R) -> Option<R::Response> {
    Some(request.send(client).await.ok()?.into_inner())
}

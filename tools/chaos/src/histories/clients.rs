//! Clients that append, edit, delete, move heads and read, and record what they were answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use fastrand::Rng;
use tokio::time::{sleep, timeout};
use tonic::Code;
use uuid::Uuid;

use super::calls::{Attempt, attempt};
use super::history::{Answer, Call, Operation, Outcome, Parent};
use crate::attempts::{ANSWERS_OF_FAULTS, Failures, is_of_transport, patience};
use recollect_tests::{Client, Failure};

/// Share of the attempts that a client cuts off in the middle.
const CUT: f64 = 0.02;
/// Share of the operations without an answer that are repeated.
const REPEATED: f64 = 0.8;
/// Longest pause after a call without an answer.
const LONGEST_PAUSE_MILLIS: u64 = 100;
/// How many of the newest messages that a client knows it goes on to change.
const RECENT: usize = 8;

/// What all clients of a scenario share.
pub(super) struct Shared {
    /// The connections: of each client one to each server.
    pub(super) connections: Vec<Vec<Client>>,
    start: Instant,
    next: AtomicU64,
    /// Operations that ended so far.
    pub(super) ended: AtomicUsize,
    /// Failed attempts, and the answers that no fault explains.
    pub(super) failures: Failures,
}

/// The threads of one round, and how many operations are left in it.
pub(super) struct Round {
    pub(super) first_thread: u32,
    pub(super) thread_ids: Vec<String>,
    pub(super) left: AtomicUsize,
}

impl Shared {
    pub(super) fn new(connections: Vec<Vec<Client>>) -> Self {
        Self {
            connections,
            start: Instant::now(),
            next: AtomicU64::new(0),
            ended: AtomicUsize::new(0),
            failures: Failures::default(),
        }
    }

    /// Nanoseconds since the scenario began, on the clock of all clients.
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// A number that no other message, request or version of the scenario has.
    fn number(&self) -> u64 {
        self.next.fetch_add(1, SeqCst) + 1
    }

    /// Makes a call once and records it. Cut off, it may be done at any time or never.
    async fn record(
        &self,
        process: usize,
        round: &Round,
        thread: usize,
        call: Call,
        rng: &mut Rng,
        cut: f64,
    ) -> Operation {
        let connections = &self.connections[process % self.connections.len()];
        let client = &connections[rng.usize(0..connections.len())];
        let limit = patience(cut, rng);
        let invoked = self.now();
        let call_once = attempt(client, &round.thread_ids[thread], &call, rng.bool());
        let outcome = match timeout(limit, call_once).await {
            Ok(attempt) => {
                if let Attempt::Failed(failure) = &attempt {
                    self.count(&call, failure);
                }
                attempt.outcome(self.now())
            }
            Err(_elapsed) => Outcome::Unknown,
        };
        self.ended.fetch_add(1, SeqCst);
        Operation {
            process: u32::try_from(process).unwrap_or(u32::MAX),
            thread: round.first_thread + u32::try_from(thread).unwrap_or(0),
            call,
            invoked,
            outcome,
        }
    }

    fn count(&self, call: &Call, failure: &Failure) {
        let name = self.failures.count(failure);
        // A server that ends its calls cancels them.
        let explained =
            failure.code == Code::Cancelled || ANSWERS_OF_FAULTS.contains(&failure.code);
        if !is_of_transport(failure) && !explained {
            let noticed = format!("{call:?}: {name}: {}", failure.message);
            self.failures.notice(noticed);
        }
    }
}

/// One client during one round.
pub(super) struct Process {
    shared: Arc<Shared>,
    round: Arc<Round>,
    process: usize,
    rng: Rng,
    /// Messages that it knows, by thread.
    known: Vec<Vec<Uuid>>,
    history: Vec<Operation>,
}

impl Process {
    pub(super) fn new(shared: &Arc<Shared>, round: &Arc<Round>, process: usize, rng: Rng) -> Self {
        Self {
            shared: Arc::clone(shared),
            round: Arc::clone(round),
            process,
            rng,
            known: vec![Vec::new(); round.thread_ids.len()],
            history: Vec::new(),
        }
    }

    /// Goes on until the round has no operation left; what it recorded.
    pub(super) async fn run(mut self) -> Vec<Operation> {
        let mut again: Option<(usize, Call)> = None;
        while take_one(&self.round.left) {
            let (thread, call) = again.take().unwrap_or_else(|| {
                let thread = self.rng.usize(0..self.round.thread_ids.len());
                (thread, self.call(thread))
            });
            let shared = Arc::clone(&self.shared);
            let operation = shared
                .record(self.process, &self.round, thread, call, &mut self.rng, CUT)
                .await;
            if operation.outcome == Outcome::Unknown {
                let pause = self.rng.u64(0..=LONGEST_PAUSE_MILLIS);
                sleep(Duration::from_millis(pause)).await;
                if self.rng.f64() < REPEATED {
                    again = Some((thread, self.repeated(&operation.call)));
                }
            }
            self.learn(thread, &operation);
            self.history.push(operation);
        }
        self.history
    }

    /// Reads the head and all branches of each thread, until they are answered.
    pub(super) async fn close(mut self) -> Vec<Operation> {
        for thread in 0..self.round.thread_ids.len() {
            for call in [Call::GetHead, Call::ReadAll] {
                loop {
                    let (call, rng) = (call.clone(), &mut self.rng);
                    let shared = Arc::clone(&self.shared);
                    let operation = shared
                        .record(self.process, &self.round, thread, call, rng, 0.0)
                        .await;
                    if operation.answer().is_some() {
                        self.history.push(operation);
                        break;
                    }
                    sleep(Duration::from_millis(LONGEST_PAUSE_MILLIS)).await;
                }
            }
        }
        self.history
    }

    fn call(&mut self, thread: usize) -> Call {
        let known = &self.known[thread];
        let recent = &known[known.len().saturating_sub(RECENT)..];
        let newest = recent.last().copied();
        let Some(&message) = self.rng.choice(recent) else {
            return self.append(Parent::Head, None);
        };
        match self.rng.u8(0..100) {
            0..26 => self.append(Parent::Head, None),
            26..29 => self.append(Parent::Head, newest),
            29..36 => self.append(Parent::Message(message), None),
            36..37 => self.append(Parent::Root, None),
            37..50 => Call::ReadPath { head: None },
            50..58 => Call::ReadPath {
                head: Some(message),
            },
            58..64 => Call::ReadAll,
            64..76 => Call::Update {
                message,
                version: self.shared.number(),
            },
            76..80 => Call::Delete { message },
            80..87 => Call::SetHead {
                message,
                expected_head: None,
            },
            87..89 => Call::SetHead {
                message,
                expected_head: newest,
            },
            _ => Call::GetHead,
        }
    }

    fn append(&mut self, parent: Parent, expected_head: Option<Uuid>) -> Call {
        let request = uuid::Builder::from_random_bytes(self.rng.u128(..).to_be_bytes());
        let count = self.rng.usize(1..=3);
        Call::Append {
            request: request.into_uuid(),
            values: (0..count).map(|_| self.shared.number()).collect(),
            parent,
            expected_head,
        }
    }

    /// A call again. An update gets another version: the first one may still be done after it.
    fn repeated(&self, call: &Call) -> Call {
        match call {
            Call::Update { message, .. } => Call::Update {
                message: *message,
                version: self.shared.number(),
            },
            other => other.clone(),
        }
    }

    fn learn(&mut self, thread: usize, operation: &Operation) {
        let known = &mut self.known[thread];
        match operation.answer() {
            Some(Answer::Appended { places, .. }) => {
                known.extend(places.iter().map(|place| place.id));
            }
            Some(Answer::Messages(messages)) => {
                let newest = messages.len().saturating_sub(4);
                known.extend(messages[newest..].iter().map(|stored| stored.id));
            }
            _ => {}
        }
    }
}

/// Takes one of what is left; false if nothing is.
fn take_one(left: &AtomicUsize) -> bool {
    left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1))
        .is_ok()
}

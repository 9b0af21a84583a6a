//! Produces concurrent histories of clients of a model of the service, by seed.

mod service;

use fastrand::Rng;
use recollect_chaos::histories::{Answer, Call, Operation, Outcome, Parent, Refusal};
pub use service::Fault;
pub use service::Thread;
use uuid::Uuid;

/// What to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub seed: u64,
    pub clients: u32,
    pub threads: u32,
    pub operations: usize,
    /// Share of the operations whose end the client does not see.
    pub unknown: f64,
    pub fault: Fault,
    /// Number of the first thread, and of the first message.
    pub first_thread: u32,
    pub first_value: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            clients: 6,
            threads: 2,
            operations: 200,
            unknown: 0.08,
            fault: Fault::None,
            first_thread: 0,
            first_value: 1,
        }
    }
}

/// What becomes of an operation.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Answered,
    Refused,
    /// It is done, and the answer lost.
    Done,
    /// It is never done.
    Dropped,
    /// It is done once the client has gone on.
    Late,
}

struct Pending {
    call: Call,
    thread: usize,
    invoked: u64,
    fate: Fate,
    result: Option<Result<Answer, Refusal>>,
}

#[derive(Default)]
struct Client {
    pending: Option<Pending>,
    /// What it does again.
    again: Option<(usize, Call)>,
    /// Messages it has seen, by thread.
    known: Vec<Vec<Uuid>>,
}

struct Simulation {
    rng: Rng,
    options: Options,
    now: u64,
    threads: Vec<Thread>,
    clients: Vec<Client>,
    late: Vec<(usize, Call)>,
    next: u64,
    history: Vec<Operation>,
}

/// A history that ends with a read of each thread.
pub fn simulate(options: Options) -> Vec<Operation> {
    let threads = 0..options.threads;
    let client = || Client {
        known: vec![Vec::new(); options.threads as usize],
        ..Client::default()
    };
    let mut simulation = Simulation {
        rng: Rng::with_seed(options.seed),
        now: 0,
        threads: threads
            .map(|thread| Thread::new(u64::from(options.first_thread + thread)))
            .collect(),
        clients: (0..options.clients).map(|_| client()).collect(),
        late: Vec::new(),
        next: options.first_value,
        history: Vec::new(),
        options,
    };
    simulation.run();
    simulation.history
}

impl Simulation {
    fn run(&mut self) {
        let mut begun = 0;
        loop {
            self.now += self.rng.u64(1..100);
            if self.rng.f64() < 0.05 && !self.late.is_empty() {
                let place = self.rng.usize(0..self.late.len());
                let (thread, call) = self.late.swap_remove(place);
                let _ = self.threads[thread].apply(&call, self.options.fault, &mut self.rng);
            }
            let client = self.rng.usize(0..self.clients.len());
            let Some(mut pending) = self.clients[client].pending.take() else {
                if begun < self.options.operations {
                    begun += 1;
                    self.begin(client);
                } else if self.clients.iter().all(|client| client.pending.is_none()) {
                    break;
                }
                continue;
            };
            let effect = matches!(pending.fate, Fate::Answered | Fate::Done);
            if effect && pending.result.is_none() {
                let thread = &mut self.threads[pending.thread];
                let (fault, rng) = (self.options.fault, &mut self.rng);
                pending.result = Some(thread.apply(&pending.call, fault, rng));
                self.clients[client].pending = Some(pending);
            } else {
                self.end(client, pending);
            }
        }
        for thread in 0..self.threads.len() {
            for call in [Call::GetHead, Call::ReadAll] {
                let invoked = self.now;
                self.now += 2;
                let answer = self.threads[thread].apply(&call, self.options.fault, &mut self.rng);
                let (at, answer) = (self.now - 1, answer.unwrap());
                self.record(0, thread, call, invoked, Outcome::Done { at, answer });
            }
        }
    }

    fn begin(&mut self, client: usize) {
        let again = self.clients[client].again.take();
        let (thread, call) = again.unwrap_or_else(|| {
            let thread = self.rng.usize(0..self.threads.len());
            (thread, self.call(client, thread))
        });
        let unknown = self.rng.f64() < self.options.unknown;
        let fate = match (unknown, self.rng.u8(0..20)) {
            (true, 0..7) => Fate::Done,
            (true, 7..14) => Fate::Dropped,
            (true, _) => Fate::Late,
            (false, 0) => Fate::Refused,
            (false, _) => Fate::Answered,
        };
        self.clients[client].pending = Some(Pending {
            call,
            thread,
            invoked: self.now,
            fate,
            result: None,
        });
    }

    fn call(&mut self, client: usize, thread: usize) -> Call {
        let rng = &mut self.rng;
        let known = &self.clients[client].known[thread];
        let recent = &known[known.len().saturating_sub(8)..];
        let Some(&message) = rng.choice(recent).filter(|_| rng.f64() < 0.9) else {
            let parent = if rng.f64() < 0.05 {
                Parent::Root
            } else {
                Parent::Head
            };
            return self.append(parent, None);
        };
        let newest = recent.last().copied();
        match rng.u8(0..100) {
            0..26 => self.append(Parent::Head, None),
            26..30 => self.append(Parent::Head, newest),
            30..38 => self.append(Parent::Message(message), None),
            38..50 => Call::ReadPath { head: None },
            50..58 => Call::ReadPath {
                head: Some(message),
            },
            58..64 => Call::ReadAll,
            64..76 => {
                let version = self.number();
                Call::Update { message, version }
            }
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
        let count = self.rng.usize(1..=3);
        Call::Append {
            request: Uuid::from_u64_pair(0, self.number()),
            values: (0..count).map(|_| self.number()).collect(),
            parent,
            expected_head,
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn end(&mut self, client: usize, pending: Pending) {
        let Pending {
            call,
            thread,
            invoked,
            fate,
            result,
        } = pending;
        let at = self.now;
        let outcome = match (fate, result) {
            (Fate::Answered, Some(Ok(answer))) => Outcome::Done { at, answer },
            (Fate::Answered, Some(Err(reason))) => Outcome::Refused { at, reason },
            (Fate::Refused, _) => Outcome::Refused {
                at,
                reason: Refusal::Other,
            },
            _ => Outcome::Unknown,
        };
        if fate == Fate::Late {
            self.late.push((thread, call.clone()));
        }
        let retry = outcome == Outcome::Unknown || fate == Fate::Refused;
        if retry && self.rng.f64() < 0.7 {
            let mut again = call.clone();
            if let Call::Update { version, .. } = &mut again {
                *version = self.number();
            }
            self.clients[client].again = Some((thread, again));
        }
        let known = &mut self.clients[client].known[thread];
        if let Outcome::Done { answer, .. } = &outcome {
            match answer {
                Answer::Appended { places, .. } => {
                    known.extend(places.iter().map(|place| place.id));
                }
                Answer::Messages(messages) => {
                    let newest = messages.iter().skip(messages.len().saturating_sub(4));
                    known.extend(newest.map(|stored| stored.id));
                }
                _ => {}
            }
        }
        self.record(client, thread, call, invoked, outcome);
    }

    fn record(&mut self, client: usize, thread: usize, call: Call, invoked: u64, outcome: Outcome) {
        self.history.push(Operation {
            process: client as u32,
            thread: self.options.first_thread + thread as u32,
            call,
            invoked,
            outcome,
        });
    }
}

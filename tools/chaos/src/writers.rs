//! Writers that append with request ids and retry, and record what was acknowledged.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fastrand::Rng;
use memory_contract::proto::{AppendMessagesRequest, GetHistoryRequest, Role};
use tokio::sync::RwLock;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tonic::{Code, Status};
use uuid::Uuid;

use super::attempts::{Failures, is_of_transport, limited, patience};
use recollect_tests::{Client, Failure, by_id, say};

/// How writers behave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manners {
    /// Attempts of one call.
    pub(super) attempts: usize,
    /// Pause before the second attempt; it doubles up to a second.
    pub(super) first_pause: Duration,
    /// Share of the attempts that the writer cuts off in the middle.
    pub(super) cut: f64,
    /// Share of the requests with a failed attempt that are never sent again.
    pub(super) abandon: f64,
    /// Whether each append is followed by a read of the thread's history.
    pub(super) reads: bool,
    /// Pause after each request.
    pub(super) pace: Duration,
    /// Codes of the server that are retried. A broken connection always is.
    pub(super) retried: &'static [Code],
}

/// A request that was sent at least once.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) writer: usize,
    pub(super) number: usize,
    /// Number of its messages.
    pub(super) parts: usize,
    /// Index of its thread.
    pub(super) thread: usize,
    pub(super) request_id: Uuid,
    /// The seq and the id of each message, if it was acknowledged.
    pub(super) acknowledged: Option<Vec<(i64, String)>>,
}

impl Sent {
    /// The texts of its messages. No other request has them.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.parts).map(|part| {
            let (writer, number) = (self.writer, self.number);
            format!("w{writer}n{number}p{part}x says hello")
        })
    }

    /// The request.
    pub(super) fn request(&self, thread_id: &str) -> AppendMessagesRequest {
        AppendMessagesRequest {
            thread: by_id(thread_id),
            messages: self.texts().map(|text| say(Role::User, &text)).collect(),
            request_id: self.request_id.to_string(),
            ..Default::default()
        }
    }
}

/// How an attempt ended.
enum Attempt<T> {
    Answered(T),
    Cut,
    Failed(Box<Failure>),
}

/// Counts of all writers.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) acknowledged: AtomicUsize,
    pub(super) cut: AtomicUsize,
    pub(super) retried: AtomicUsize,
    pub(super) reads: AtomicUsize,
    /// Duration of each successful attempt to append.
    pub(super) latencies: Mutex<Vec<Duration>>,
    /// Failed attempts, and the calls that failed in spite of retries.
    pub(super) failures: Failures,
}

/// Writers, and what they share.
pub(super) struct Writers {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<Vec<Sent>>>,
}

struct Shared {
    clients: Vec<Client>,
    threads: Vec<String>,
    manners: Manners,
    /// Each request holds it for reading.
    gate: RwLock<()>,
    over: AtomicBool,
    tally: Tally,
}

impl Writers {
    /// Starts writers. Each tries the clients in turn, beginning with another one.
    pub(super) fn start(
        count: usize,
        clients: Vec<Client>,
        threads: Vec<String>,
        manners: Manners,
        rng: &mut Rng,
    ) -> Self {
        let shared = Arc::new(Shared {
            clients,
            threads,
            manners,
            gate: RwLock::new(()),
            over: AtomicBool::new(false),
            tally: Tally::default(),
        });
        let tasks = (0..count).map(|writer| {
            let (shared, rng) = (Arc::clone(&shared), rng.fork());
            tokio::spawn(async move { shared.write(writer, rng).await })
        });
        Self {
            tasks: tasks.collect(),
            shared,
        }
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.shared.tally
    }

    /// Requests acknowledged so far.
    pub(super) fn acknowledged(&self) -> usize {
        self.tally().acknowledged.load(Ordering::SeqCst)
    }

    /// Reads answered so far.
    pub(super) fn reads(&self) -> usize {
        self.tally().reads.load(Ordering::SeqCst)
    }

    /// Waits until no request is under way, and holds further ones back as long as the
    /// guard lives.
    pub(super) async fn pause(&self) -> impl Drop + '_ {
        self.shared.gate.write().await
    }

    /// Lets each writer finish its request; all requests that were sent.
    pub(super) async fn finish(&mut self) -> Vec<Sent> {
        self.shared.over.store(true, Ordering::SeqCst);
        let mut all = Vec::new();
        for task in self.tasks.drain(..) {
            all.extend(task.await.unwrap());
        }
        all
    }
}

impl Shared {
    async fn write(&self, writer: usize, mut rng: Rng) -> Vec<Sent> {
        let mut all = Vec::new();
        for number in 0.. {
            let open = self.gate.read().await;
            if self.over.load(Ordering::SeqCst) {
                break;
            }
            let mut sent = Sent {
                writer,
                number,
                parts: rng.usize(1..=3),
                thread: rng.usize(0..self.threads.len()),
                request_id: uuid::Builder::from_random_bytes(rng.u128(..).to_be_bytes())
                    .into_uuid(),
                acknowledged: None,
            };
            sent.acknowledged = self.append(&sent, &mut rng).await;
            if self.manners.reads {
                self.read(&sent, &mut rng).await;
            }
            all.push(sent);
            drop(open);
            sleep(self.manners.pace).await;
        }
        all
    }

    async fn append(&self, sent: &Sent, rng: &mut Rng) -> Option<Vec<(i64, String)>> {
        let what = format!("append {} of writer {}", sent.number, sent.writer);
        let call = |client: Client| {
            let request = limited(sent.request(&self.threads[sent.thread]));
            async move {
                let start = Instant::now();
                let answer = client.messages().append_messages(request).await;
                if answer.is_ok() {
                    let latency = start.elapsed();
                    self.tally.latencies.lock().unwrap().push(latency);
                }
                answer
            }
        };
        let answer = self.deliver(&what, sent.writer, rng, call).await?;
        self.tally.acknowledged.fetch_add(1, Ordering::SeqCst);
        let messages = answer.into_inner().messages;
        Some(
            messages
                .into_iter()
                .map(|message| (message.seq, message.message_id))
                .collect(),
        )
    }

    async fn read(&self, sent: &Sent, rng: &mut Rng) {
        let what = format!("history {} of writer {}", sent.number, sent.writer);
        let call = |client: Client| {
            let request = limited(GetHistoryRequest {
                thread: by_id(&self.threads[sent.thread]),
                max_messages: Some(10),
                ..Default::default()
            });
            async move { client.messages().get_history(request).await }
        };
        let answer = self.deliver(&what, sent.writer, rng, call).await;
        if answer.is_some() {
            self.tally.reads.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Calls until it is answered, fails for good, or is abandoned.
    async fn deliver<T, F>(
        &self,
        what: &str,
        writer: usize,
        rng: &mut Rng,
        call: impl Fn(Client) -> F,
    ) -> Option<T>
    where
        F: Future<Output = Result<T, Status>>,
    {
        let Manners {
            attempts,
            mut first_pause,
            cut,
            abandon,
            retried,
            ..
        } = self.manners;
        let mut last = None;
        for attempt in 0..attempts {
            if attempt > 0 {
                self.tally.retried.fetch_add(1, Ordering::SeqCst);
                sleep(first_pause.mul_f64(0.5 + rng.f64() / 2.0)).await;
                first_pause = (first_pause * 2).min(Duration::from_secs(1));
            }
            let client = &self.clients[(writer + attempt) % self.clients.len()];
            let answer = match timeout(patience(cut, rng), call(client.clone())).await {
                Ok(Ok(answer)) => Attempt::Answered(answer),
                Ok(Err(status)) => Attempt::Failed(Box::new(status.into())),
                Err(_elapsed) => Attempt::Cut,
            };
            match answer {
                Attempt::Answered(answer) => return Some(answer),
                Attempt::Cut => {
                    self.tally.cut.fetch_add(1, Ordering::SeqCst);
                }
                Attempt::Failed(failure) => {
                    self.tally.failures.count(&failure);
                    last = Some(format!("{:?} {}", failure.code, failure.message));
                    if !is_of_transport(&failure) && !retried.contains(&failure.code) {
                        break;
                    }
                }
            }
            if rng.f64() < abandon {
                return None;
            }
        }
        let noticed = format!("{what}: {}", last.unwrap_or_default());
        self.tally.failures.notice(noticed);
        None
    }
}

//! Appends, histories and searches: from callers that wait for their answers, or at a
//! fixed rate.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use memory_contract::proto::{
    AppendMessagesRequest, GetHistoryRequest, Role, SearchMethod, SearchRequest,
};
use tokio::time::{interval, sleep};
use tonic::{Request, Status};

use super::meter::Meter;
use recollect_tests::{Client, Key, by_id, eventual, say, search_request};

/// Enough that the limit of calls on one connection is never reached.
const CONNECTIONS: usize = 48;
const THREADS: usize = 64;
/// Most calls under way: more are not sent, which shows in the offered rate.
const MAX_CALLS: usize = 8_192;
const TICK: Duration = Duration::from_millis(5);
const WORDS: [&str; 8] = [
    "harbor", "violin", "pepper", "glacier", "lantern", "tunnel", "orchard", "meadow",
];

/// Callers and the threads that they use.
pub(super) struct Load {
    clients: Vec<Client>,
    threads: Vec<String>,
    seed: u64,
    deadline: Duration,
    calls: AtomicU64,
    under_way: AtomicUsize,
}

impl Load {
    pub(super) async fn new(addr: &str, seed: u64, deadline: Duration) -> Self {
        let mut clients = Vec::new();
        for _ in 0..CONNECTIONS {
            clients.push(Client::new(addr, Key::Acme).await);
        }
        let mut threads = Vec::new();
        for _ in 0..THREADS {
            threads.push(clients[0].thread("overload").await);
        }
        Self {
            clients,
            threads,
            seed,
            deadline,
            calls: AtomicU64::new(0),
            under_way: AtomicUsize::new(0),
        }
    }

    /// One call, which its number determines.
    async fn call(&self, meter: &Meter) -> Duration {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let mut rng = Rng::with_seed(self.seed.wrapping_add(number));
        let place = usize::try_from(number).unwrap_or(0) % self.clients.len();
        let client = &self.clients[place];
        let thread_id = rng.choice(&self.threads).unwrap();
        let word = rng.choice(WORDS).unwrap();
        let began = Instant::now();
        let result: Result<(), Status> = match rng.u8(0..20) {
            0..10 => {
                let text = format!("Number {number} is about the {word}.");
                let request = self.timed(AppendMessagesRequest {
                    thread: by_id(thread_id),
                    messages: vec![say(Role::User, &text)],
                    ..Default::default()
                });
                client.messages().append_messages(request).await.map(drop)
            }
            10..17 => {
                let request = self.timed(GetHistoryRequest {
                    thread: by_id(thread_id),
                    max_messages: Some(20),
                    ..Default::default()
                });
                client.messages().get_history(request).await.map(drop)
            }
            _ => {
                let request = self.timed(SearchRequest {
                    method: SearchMethod::Lexical.into(),
                    freshness: eventual(),
                    ..search_request(thread_id, word, "")
                });
                client.recalls().search(request).await.map(drop)
            }
        };
        meter.count(result, began)
    }

    fn timed<T>(&self, request: T) -> Request<T> {
        let mut request = Request::new(request);
        request.set_timeout(self.deadline);
        request
    }

    /// Callers that wait for each answer, and after a refusal as long as it says.
    pub(super) async fn closed(self: &Arc<Self>, callers: usize, time: Duration, meter: &Meter) {
        let end = Instant::now() + time;
        let callers = (0..callers).map(|_| {
            let (load, meter) = (Arc::clone(self), meter.clone());
            tokio::spawn(async move {
                while Instant::now() < end {
                    let pause = load.call(&meter).await;
                    if !pause.is_zero() {
                        sleep(pause).await;
                    }
                }
            })
        });
        for caller in callers.collect::<Vec<_>>() {
            caller.await.unwrap();
        }
    }

    /// Calls at a fixed rate that do not wait for each other. Returns the rate at which they
    /// were sent. Calls that are still under way at the end go on.
    pub(super) async fn open(self: &Arc<Self>, rate: f64, time: Duration, meter: &Meter) -> f64 {
        let start = Instant::now();
        let mut ticks = interval(TICK);
        let (mut due, mut sent) = (0, 0_u32);
        while start.elapsed() < time {
            ticks.tick().await;
            let now = (start.elapsed().as_secs_f64() * rate) as u64;
            for _ in due..now {
                if self.under_way.load(Ordering::Relaxed) >= MAX_CALLS {
                    break;
                }
                self.under_way.fetch_add(1, Ordering::Relaxed);
                sent += 1;
                let (load, meter) = (Arc::clone(self), meter.clone());
                tokio::spawn(async move {
                    load.call(&meter).await;
                    load.under_way.fetch_sub(1, Ordering::Relaxed);
                });
            }
            due = now;
        }
        f64::from(sent) / start.elapsed().as_secs_f64()
    }
}

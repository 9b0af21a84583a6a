//! Every method is called with arbitrary bytes and with valid requests that were changed at
//! random: no call may panic, answer INTERNAL or UNKNOWN, or let memory grow.

mod forge;
mod world;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fastrand::Rng;
use forge::Forge;
use prost_reflect::{DynamicMessage, MethodDescriptor};
use tokio::time::timeout;
use tonic::{Code, Request, Status};
use world::World;

use super::memory::Memory;
use super::progress::Progress;
use super::report::Report;
use recollect_tests::{Client, DataDir, Dynamic, Key, Options, Server, runs};

/// Deadline of most calls.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a watch is read, which has no end.
const WATCH_TIME: Duration = Duration::from_millis(100);
/// Messages of one answer that are read.
const MAX_ANSWERS: usize = 20;
const CONNECTIONS: usize = 8;
/// Calls after which one of the threads that calls name is made anew.
const CALLS_PER_THREAD: u64 = 500;
/// How much memory may grow from the second fifth of the calls to the last one, in MiB.
const MEMORY_GROWTH: u64 = 128;
/// Failures that are shown.
const SHOWN: usize = 10;
/// Spreads neighboring numbers over all seeds.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Fuzz {
    /// With a call's number it determines the call, up to ids that the server assigns.
    pub seed: u64,
    /// Number of the first call.
    pub first: u64,
    /// Number of calls.
    pub count: u64,
    /// No further call after this time.
    pub time: Duration,
    /// Concurrent calls.
    pub callers: usize,
}

/// What all callers share.
struct Shared {
    options: Fuzz,
    methods: Vec<MethodDescriptor>,
    clients: Vec<Client>,
    world: World,
    next: AtomicU64,
    start: Instant,
    outcomes: Mutex<Outcomes>,
}

#[derive(Default)]
struct Outcomes {
    codes: BTreeMap<String, usize>,
    /// Calls whose answer is a defect of the server.
    defects: Vec<String>,
    /// Calls without an answer in time.
    unanswered: Vec<String>,
}

/// Calls every method at random.
///
/// # Panics
/// If the server does not start.
pub async fn fuzz(dir: DataDir, options: &Fuzz, progress: &Progress) -> Report {
    let mut report = Report::new("fuzz", options.seed);
    progress.say("fuzz: starting a server");
    let server = Server::start(&dir, &Options::with(&["embedding.kind = \"none\""]));
    let pid = server.ready().pid;
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(server.client(Key::Acme).await);
    }
    let world = World::new(&clients[0]).await;
    let memory = Memory::watch(pid);
    let shared = Arc::new(Shared {
        options: *options,
        methods: Dynamic::methods(),
        clients,
        world,
        next: AtomicU64::new(options.first),
        start: Instant::now(),
        outcomes: Mutex::default(),
    });
    let callers: Vec<_> = (0..options.callers)
        .map(|caller| {
            let shared = Arc::clone(&shared);
            tokio::spawn(async move { shared.run(caller).await })
        })
        .collect();
    while !callers.iter().all(|caller| caller.is_finished()) {
        let calls = shared.next.load(Ordering::Relaxed) - options.first;
        progress.say(format!("fuzz: {calls} of {} calls", options.count));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for caller in callers {
        caller.await.unwrap();
    }

    let took = shared.start.elapsed();
    let outcomes = shared.outcomes.lock().unwrap();
    report.figure("methods", shared.methods.len());
    let calls: usize = outcomes.codes.values().sum();
    report.figure("calls", calls);
    report.figure(
        "calls a second",
        (calls as f64 / took.as_secs_f64()).round(),
    );
    for (code, count) in &outcomes.codes {
        report.figure(format!("answers: {code}"), *count);
    }
    report.zero(
        "answers INTERNAL, UNKNOWN or DATA_LOSS",
        outcomes.defects.len(),
    );
    report.zero("calls without an answer in time", outcomes.unanswered.len());
    let shown = outcomes.defects.iter().take(SHOWN);
    for one in shown.chain(outcomes.unanswered.iter().take(SHOWN)) {
        report.problem(one.clone());
    }
    let at = |share: f64| shared.start + took.mul_f64(share);
    let (early, late) = (memory.peak(at(0.2), at(0.4)), memory.peak(at(0.8), at(1.0)));
    report.figure("MiB in the second fifth", early);
    report.limited(
        "MiB in the last fifth",
        late,
        format!("≤ {}", early + MEMORY_GROWTH),
        late <= early + MEMORY_GROWTH,
    );
    report.zero("panics", dir.log().matches("panicked at").count());
    report.zero("servers that ended", usize::from(!runs(pid)));
    report
}

impl Shared {
    async fn run(&self, caller: usize) {
        let client = &self.clients[caller % self.clients.len()];
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let over = number >= self.options.first + self.options.count
                || self.start.elapsed() > self.options.time;
            if over {
                // It was not called.
                self.next.fetch_sub(1, Ordering::Relaxed);
                return;
            }
            if number % CALLS_PER_THREAD == CALLS_PER_THREAD - 1 {
                self.world.renew(client, number / CALLS_PER_THREAD).await;
            }
            self.call(client, number).await;
        }
    }

    async fn call(&self, client: &Client, number: u64) {
        let mut rng = Rng::with_seed(self.options.seed.wrapping_add(number.wrapping_mul(SPREAD)));
        let method = &self.methods[rng.usize(0..self.methods.len())];
        let mut request = Request::new(self.request(method, &mut rng));
        let endless = ["StreamEvents", "WatchThread"].contains(&method.name());
        request.set_timeout(match rng.u8(0..32) {
            0 => Duration::from_millis(rng.u64(1..50)),
            _ => CALL_TIMEOUT,
        });
        let limit = if endless {
            WATCH_TIME
        } else {
            CALL_TIMEOUT * 2
        };
        let answer = timeout(limit, answer(client, method, request)).await;
        let name = format!("call {number}, {}", Dynamic::name(method));
        let mut outcomes = self.outcomes.lock().unwrap();
        let code = match answer {
            Err(_elapsed) if endless => Code::Ok,
            Err(_elapsed) => {
                outcomes.unanswered.push(name);
                return;
            }
            Ok(Ok(())) => Code::Ok,
            Ok(Err(status)) => {
                let code = status.code();
                if matches!(code, Code::Internal | Code::Unknown | Code::DataLoss) {
                    let defect = format!("{name}: {code:?} {}", status.message());
                    outcomes.defects.push(defect);
                }
                code
            }
        };
        *outcomes.codes.entry(format!("{code:?}")).or_default() += 1;
    }

    /// A request as bytes.
    fn request(&self, method: &MethodDescriptor, rng: &mut Rng) -> Vec<u8> {
        use prost::Message as _;

        let (valid, names) = self.world.request(method, rng);
        let mut forge = Forge { rng, names };
        let kind = forge.rng.u8(0..10);
        let message = |value| DynamicMessage::deserialize(method.input(), value).unwrap();
        match kind {
            0 => forge.bytes(),
            1 => forge.nested(),
            2 | 3 => forge.message(&method.input(), 0).encode_to_vec(),
            4 => message(valid).encode_to_vec(),
            _ => {
                let mut message = message(valid);
                if kind != 5 {
                    for _ in 0..forge.rng.usize(1..=3) {
                        forge.change(&mut message, 0);
                    }
                }
                let mut bytes = message.encode_to_vec();
                if kind == 5 || kind == 6 {
                    forge.damage(&mut bytes);
                }
                bytes
            }
        }
    }
}

/// Reads the beginning of the answer.
async fn answer(
    client: &Client,
    method: &MethodDescriptor,
    request: Request<Vec<u8>>,
) -> Result<(), Status> {
    let mut stream = Dynamic::open(client, method, request).await?.into_inner();
    for _ in 0..MAX_ANSWERS {
        match stream.message().await? {
            None => break,
            // The errors of an import are answers.
            Some(bytes) if matches!(method.name(), "ImportMessages" | "ImportRecords") => {
                let answer = DynamicMessage::decode(method.output(), bytes.as_slice());
                let answer = answer.map_err(|error| Status::internal(error.to_string()))?;
                let shown = answer.to_string();
                if shown.contains("ERROR_REASON_INTERNAL") {
                    return Err(Status::internal(shown));
                }
            }
            Some(_) => {}
        }
    }
    Ok(())
}

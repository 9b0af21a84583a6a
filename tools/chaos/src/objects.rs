//! Object storage becomes slow, then stalls, while nodes add turns to their memories and
//! writers append: appends do not slow down, calls that need an object end in time, and
//! afterward every acknowledged turn is stored once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fastrand::Rng;
use memory_contract::proto::{FlushNodeMemoryRequest, GetNodeHistoryRequest, NodeRef};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tonic::{Code, Request, Status};
use uuid::Uuid;

use super::callers::Callers;
use super::memory::Memory;
use super::progress::Progress;
use super::report::{Report, rounded};
use super::scene::Scene;
use recollect_tests::{Client, DataDir, Failure, Key, S3, S3Fault, free_addr, node, node_turn};

/// Deadline of a call about a node's memory.
const DEADLINE: Duration = Duration::from_secs(5);
/// How much later an answer may arrive on a busy machine.
const LATE: Duration = Duration::from_secs(1);
/// The server answers before the deadline, but for one in so many calls on a busy machine.
const CUT_OFF_SHARE: usize = 50;
/// A history returns at most 500 messages, two of each turn.
const MOST_TURNS: usize = 240;
const POLL: Duration = Duration::from_millis(50);
const FLUSH_LIMIT: Duration = Duration::from_secs(60);
/// The server gives up a step of object storage before the callers' deadline, and flushes
/// soon.
const LINES: [&str; 3] = [
    "objects.timeout = \"2s\"",
    "worker.nodes.flush_after = \"200ms\"",
    "worker.nodes.interval = \"100ms\"",
];
/// What a server may answer while object storage does not.
const EXPECTED: [Code; 3] = [
    Code::Unavailable,
    Code::ResourceExhausted,
    Code::DeadlineExceeded,
];

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct SlowObjects {
    /// Determines the schedule and the requests.
    pub seed: u64,
    /// Duration of all phases together: quick, slow, stalled, recovered.
    pub time: Duration,
    /// Number of writers that append.
    pub writers: usize,
    /// Number of nodes, each with a caller.
    pub nodes: usize,
    /// How much longer the p99 of appends may be while object storage is slow or stalled, as
    /// a factor, beside 50 milliseconds.
    pub slower: f64,
    /// How long the index may differ from the database once the writers pause.
    pub index_limit: Duration,
}

/// One node's caller, and what became of its turns.
struct Caller {
    client: Client,
    node: NodeRef,
    tally: Arc<Mutex<Tally>>,
    over: Arc<AtomicBool>,
    rng: Rng,
}

/// How the calls of all nodes ended.
#[derive(Default)]
struct Tally {
    answered: usize,
    refused: usize,
    late: usize,
    /// The caller's own timer was quicker than the server's answer.
    cut_off: usize,
    longest: Duration,
    unexpected: Vec<String>,
}

/// A turn's question, and whether it was acknowledged.
type Turn = (String, bool);

/// Slows object storage down under callers.
///
/// # Panics
/// If a read at the end fails.
pub async fn objects(dir: DataDir, options: &SlowObjects, progress: &Progress) -> Report {
    let mut report = Report::new("objects", options.seed);
    let mut rng = Rng::with_seed(options.seed);
    progress.say("objects: starting Postgres, object storage and the server");
    let scene = Scene::new(dir).await;
    let (s3, addr) = (S3::new(), free_addr());
    let server = scene.start(scene.server_on_s3(&addr, &s3, &LINES)).await;
    let memory = Memory::watch(server.ready().pid);
    let mut callers = Callers::start(&addr, options.writers, &mut rng).await;
    let (tally, over) = (Arc::default(), Arc::default());
    let thread_id = callers.client().thread("nodes").await;
    let mut tasks: Vec<JoinHandle<Vec<Turn>>> = Vec::new();
    for number in 0..options.nodes {
        let caller = Caller {
            client: Client::new(&addr, Key::Acme).await,
            node: node(&thread_id, &format!("node-{number}")),
            tally: Arc::clone(&tally),
            over: Arc::clone(&over),
            rng: rng.fork(),
        };
        tasks.push(tokio::spawn(caller.run()));
    }

    let delay = Duration::from_millis(rng.u64(300..1_500));
    let phases = [
        ("quick", S3Fault::None),
        ("slow", S3Fault::Slow(delay)),
        ("stalled", S3Fault::Hanging),
    ];
    let (mut p99s, mut peaks) = (Vec::new(), Vec::new());
    for (name, fault) in phases {
        progress.say(format!(
            "objects: {name}; {} requests acknowledged",
            callers.acknowledged()
        ));
        s3.set_fault(fault);
        let start = Instant::now();
        callers.take_latencies();
        sleep(options.time / 4).await;
        p99s.push(p99(callers.take_latencies()));
        peaks.push(memory.peak(start, Instant::now()));
    }
    progress.say("objects: recovering");
    s3.set_fault(S3Fault::None);
    let recovered = Instant::now();
    callers
        .recover("slow object storage", recovered, &mut report)
        .await;
    sleep(options.time / 4).await;
    over.store(true, Ordering::SeqCst);
    let mut turns = Vec::new();
    for task in tasks {
        turns.push(task.await.unwrap());
    }

    report.figure("delay of a request when slow, in seconds", rounded(delay));
    let quick = p99s[0];
    report.figure("p99 of appends in seconds: quick", seconds(quick));
    let limit = quick.mul_f64(options.slower) + Duration::from_millis(50);
    for (name, p99) in [("slow", p99s[1]), ("stalled", p99s[2])] {
        report.limited(
            format!("p99 of appends in seconds: {name}"),
            seconds(p99),
            format!("≤ {}", seconds(limit)),
            p99 <= limit,
        );
    }
    report.figure("memory in MiB: quick", peaks[0]);
    let bound = peaks[0] * 2 + 64;
    report.limited(
        "memory in MiB: stalled",
        peaks[2],
        format!("≤ {bound}"),
        peaks[2] <= bound,
    );
    {
        let tally = tally.lock().unwrap();
        report.figure("calls about nodes: answered", tally.answered);
        report.figure("calls about nodes: refused for now", tally.refused);
        let longest = rounded(tally.longest);
        report.figure("longest call about a node in seconds", longest);
        report.zero("calls about nodes past their deadline", tally.late);
        let calls = tally.answered + tally.refused + tally.cut_off;
        report.limited(
            "calls about nodes whose answer came at the deadline",
            tally.cut_off,
            format!("≤ {}", calls / CUT_OFF_SHARE),
            tally.cut_off <= calls / CUT_OFF_SHARE,
        );
        report.zero(
            "calls about nodes with another error",
            tally.unexpected.len(),
        );
        for one in tally.unexpected.iter().take(5) {
            report.problem(one.clone());
        }
    }
    flushed(callers.client(), &thread_id, &mut report).await;
    compare(callers.client(), &thread_id, &turns, &mut report).await;
    callers.finish(options.index_limit, &mut report).await;
    report.zero("panics", scene.panics());
    report
}

impl Caller {
    /// Adds turns, flushes and reads until it is over.
    async fn run(mut self) -> Vec<Turn> {
        let mut turns = Vec::new();
        while !self.over.load(Ordering::SeqCst) {
            match self.rng.u8(0..8) {
                0 => {
                    let mut client = self.client.nodes();
                    let request = hurried(FlushNodeMemoryRequest {
                        node: Some(self.node.clone()),
                    });
                    self.note(client.flush_node_memory(request)).await;
                }
                1 => {
                    let mut client = self.client.nodes();
                    let request = hurried(GetNodeHistoryRequest {
                        node: Some(self.node.clone()),
                        ..Default::default()
                    });
                    self.note(client.get_node_history(request)).await;
                }
                _ if turns.len() < MOST_TURNS => {
                    let question = format!("question {} of {}", turns.len(), self.node.node_id);
                    let mut request = node_turn(&self.node, &question, "answer");
                    request.request_id = Uuid::from_u128(self.rng.u128(..)).to_string();
                    let mut client = self.client.nodes();
                    let added = self.note(client.add_node_turn(hurried(request))).await;
                    turns.push((question, added));
                }
                _ => {}
            }
            sleep(Duration::from_millis(self.rng.u64(20..100))).await;
        }
        turns
    }

    /// Counts how a call ends; whether it was answered.
    async fn note<T>(&self, call: impl Future<Output = Result<T, Status>>) -> bool {
        let start = Instant::now();
        let result = call.await;
        let elapsed = start.elapsed();
        let mut tally = self.tally.lock().unwrap();
        tally.longest = tally.longest.max(elapsed);
        tally.late += usize::from(elapsed > DEADLINE + LATE);
        let Err(status) = result else {
            tally.answered += 1;
            return true;
        };
        let failure = Failure::from(status);
        // Without a reason it is not the server's answer.
        match EXPECTED.contains(&failure.code) && !failure.reason.is_empty() {
            true => tally.refused += 1,
            false if failure.code == Code::Cancelled && elapsed >= DEADLINE => tally.cut_off += 1,
            false => tally.unexpected.push(format!("{failure:?}")),
        }
        false
    }
}

/// A request that the server has to answer within the deadline.
fn hurried<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(DEADLINE);
    request
}

/// Waits until no turn waits to be flushed; how long it took.
async fn flushed(client: &Client, thread_id: &str, report: &mut Report) {
    let start = Instant::now();
    loop {
        let memories = client.node_memories(thread_id).await;
        let waiting: i64 = memories.iter().map(|one| one.waiting_turn_count).sum();
        if waiting == 0 {
            break;
        }
        if start.elapsed() > FLUSH_LIMIT {
            report.problem(format!("{waiting} turns wait after {FLUSH_LIMIT:?}"));
            break;
        }
        sleep(POLL).await;
    }
    report.figure(
        "seconds until everything is flushed",
        rounded(start.elapsed()),
    );
}

/// Compares what nodes were told with what they remember.
async fn compare(client: &Client, thread_id: &str, nodes: &[Vec<Turn>], report: &mut Report) {
    let (mut acknowledged, mut lost, mut doubled, mut moved) = (0, 0, 0, 0);
    for (number, turns) in nodes.iter().enumerate() {
        let node = node(thread_id, &format!("node-{number}"));
        let dialogue = client.node_dialogue(&node, "").await;
        let mut before = None;
        for (question, added) in turns {
            let places: Vec<usize> = (0..dialogue.len())
                .filter(|place| dialogue[*place] == *question)
                .collect();
            doubled += places.len().saturating_sub(1);
            acknowledged += usize::from(*added);
            lost += usize::from(*added && places.is_empty());
            if let Some(place) = places.first().copied() {
                moved += usize::from(before.is_some_and(|before| place < before));
                before = Some(place);
            }
        }
    }
    report.figure("turns of nodes acknowledged", acknowledged);
    report.zero("turns of nodes lost", lost);
    report.zero("turns of nodes stored twice", doubled);
    report.zero("turns of nodes out of order", moved);
}

/// The 99th percentile.
fn p99(mut all: Vec<Duration>) -> Duration {
    all.sort();
    let place = all.len() * 99 / 100;
    all.get(place).copied().unwrap_or_default()
}

/// Seconds with three decimals.
fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1_000.0).round() / 1_000.0
}

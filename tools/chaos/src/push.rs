//! Workers are killed, and a receiver fails, is slow and restarts, while writers append: each event
//! arrives at least once, and those of each thread in order.

use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use fastrand::Rng;
use memory_contract::proto::{
    CreateSubscriptionRequest, GetSubscriptionRequest, Subscription, TransactionAction,
};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::progress::Progress;
use super::report::Report;
use super::scene::Scene;
use recollect_tests::{
    Client, DataDir, Delivery, Key, Options, Receiver, ReceiverAnswer, Server, free_addr,
};

/// The subscription.
const NAME: &str = "push";
/// The key of secrets, for the tests alone.
const SECRETS: &str = "secrets.key = \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"";
/// The receiver is on this machine.
const PRIVATE: &str = "worker.webhooks.allow_private = true";
/// Kills between two restarts of the receiver.
const RESTARTS: usize = 5;
/// How long a delivery may take after a kill: the lease of the killed worker, and a pause after
/// failures.
const GOES_ON: Duration = Duration::from_secs(120);

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Push {
    /// Determines the schedule and the receiver's answers.
    pub seed: u64,
    /// Number of changes.
    pub events: usize,
    /// Number of SIGKILLs of the worker.
    pub count: usize,
    /// No further kill after this time.
    pub time: Duration,
    /// Number of concurrent writers, each with a thread of its own.
    pub writers: usize,
}

/// The receiver and what earlier ones at its address were sent.
struct Receivers {
    addr: SocketAddr,
    seed: u64,
    now: Option<Receiver>,
    before: Vec<Delivery>,
}

/// Kills workers and restarts the receiver under writers.
///
/// # Panics
/// If a process does not start again, or nothing is delivered any more.
pub async fn push(dir: DataDir, options: &Push, progress: &Progress) -> Report {
    let mut report = Report::new("push", options.seed);
    let mut rng = Rng::with_seed(options.seed);
    progress.say("push: starting Postgres, server, worker and receiver");
    let scene = Scene::new(dir).await;
    let addr = free_addr();
    let mut server = scene.server_on_qdrant(&addr).line(SECRETS.to_owned());
    server.args.push("--no-worker".to_owned());
    let _server = scene.start(server).await;
    let client = Client::new(&addr, Key::Acme).await;
    let mut receivers = Receivers::start(options.seed);
    let request = CreateSubscriptionRequest {
        name: NAME.to_owned(),
        actions: vec![TransactionAction::AppendMessages.into()],
        url: format!("http://{}/hooks", receivers.addr),
        ..Default::default()
    };
    client.call(request).await;
    let mut worker = Some(start_worker(&scene).await);

    let each = options.events / options.writers.max(1);
    let events = each * options.writers;
    let mut writers = JoinSet::new();
    for _ in 0..options.writers {
        let client = client.clone();
        writers.spawn(async move {
            let thread_id = client.thread("chaos").await;
            for _ in 0..each {
                client.append_text(&thread_id, "again").await;
            }
        });
    }

    let start = Instant::now();
    let (mut kills, mut restarts, mut recoveries) = (0, 0, Vec::new());
    while kills < options.count && start.elapsed() < options.time {
        progress.say(format!(
            "push: kill {} of {}; {} batches were sent",
            kills + 1,
            options.count,
            receivers.count()
        ));
        sleep(Duration::from_millis(rng.u64(50..1_000))).await;
        if let Some(killed) = worker.take() {
            killed.kill();
        }
        kills += 1;
        let killed = Instant::now();
        if kills.is_multiple_of(RESTARTS) {
            receivers.stop();
            restarts += 1;
            sleep(Duration::from_millis(rng.u64(100..2_000))).await;
            receivers.begin();
        }
        let before = receivers.count();
        worker = Some(start_worker(&scene).await);
        if delivered(&client).await >= events {
            break;
        }
        // So that the next kill meets a delivery.
        while receivers.count() == before {
            assert!(killed.elapsed() < GOES_ON, "nothing is delivered any more");
            sleep(Duration::from_millis(20)).await;
        }
        recoveries.push(killed.elapsed());
    }
    progress.say("push: waiting for the last events");
    while let Some(written) = writers.join_next().await {
        written.unwrap();
    }
    let (mut progressed, mut last) = (Instant::now(), 0);
    while last < events {
        let now = delivered(&client).await;
        if now > last {
            (progressed, last) = (Instant::now(), now);
        }
        if progressed.elapsed() > GOES_ON {
            report.problem(format!("{last} of {events} events were acknowledged"));
            break;
        }
        sleep(Duration::from_millis(200)).await;
    }
    let took = start.elapsed();
    drop(worker);

    report.figure("kills of the worker", kills);
    report.figure("restarts of the receiver", restarts);
    report.figure("writers", options.writers);
    report.figure("events", events);
    report.figure("seconds in all", took.as_secs());
    check(&receivers.all(), options.writers, each, &mut report);
    let state = state(&client).await;
    report.zero("events that wait", count(state.waiting_count));
    report.zero("events that were dropped", count(state.dropped_count));
    report.seconds("seconds until a delivery after a kill", &recoveries, None);
    report.zero("panics", scene.panics());
    report
}

async fn start_worker(scene: &Scene) -> Server {
    let options: Options = scene.worker().line(SECRETS.to_owned());
    scene.start(options.line(PRIVATE.to_owned())).await
}

async fn state(client: &Client) -> Subscription {
    let request = GetSubscriptionRequest {
        name: NAME.to_owned(),
    };
    client.call(request).await.subscription.unwrap()
}

async fn delivered(client: &Client) -> usize {
    count(state(client).await.delivered_count)
}

fn count(number: i64) -> usize {
    usize::try_from(number).unwrap()
}

/// Compares what was taken with what was written: one message an append, so the first seqs of a
/// thread's events are 1, 2 and so on.
fn check(deliveries: &[Delivery], threads: usize, each: usize, report: &mut Report) {
    let mut seqs: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut seen = HashSet::new();
    let (mut taken, mut changed) = (0, 0);
    let mut batches: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for delivery in deliveries {
        let events = delivery.events();
        let text =
            |event: &serde_json::Value, field: &str| event[field].as_str().unwrap().to_owned();
        let ids: Vec<String> = events.iter().map(|event| text(event, "event_id")).collect();
        let batch = delivery.header("webhook-id").to_owned();
        changed += usize::from(*batches.entry(batch).or_insert_with(|| ids.clone()) != ids);
        if delivery.status >= 300 {
            continue;
        }
        taken += events.len();
        for (event, id) in events.iter().zip(ids) {
            if seen.insert(id) {
                let seq = text(event, "subject").parse().unwrap();
                seqs.entry(text(event, "thread_id")).or_default().push(seq);
            }
        }
    }
    let lost = (threads * each).saturating_sub(seen.len());
    let disordered = seqs.values().filter(|seqs| !seqs.is_sorted()).count();
    report.figure("batches sent", deliveries.len());
    report.figure("events repeated", taken - seen.len());
    report.zero("events lost", lost);
    report.zero("threads whose events were out of order", disordered);
    report.zero("batches that changed when they were sent again", changed);
}

impl Receivers {
    fn start(seed: u64) -> Self {
        let mut receivers = Self {
            addr: free_addr().parse().unwrap(),
            seed,
            now: None,
            before: Vec::new(),
        };
        receivers.begin();
        receivers
    }

    /// Starts a receiver that fails one time in ten, and is slow one time in ten.
    fn begin(&mut self) {
        let seed = self.seed.wrapping_add(self.before.len() as u64);
        let receiver = Receiver::at(self.addr, move |number| {
            let mut rng = Rng::with_seed(seed.wrapping_add(number as u64));
            let status = if rng.u8(..10) == 0 { 503 } else { 204 };
            let after = if rng.u8(..10) == 0 { 500 } else { 0 };
            ReceiverAnswer {
                after: Duration::from_millis(after),
                ..ReceiverAnswer::status(status)
            }
        });
        self.now = Some(receiver);
    }

    fn stop(&mut self) {
        if let Some(receiver) = self.now.take() {
            self.before.extend(receiver.deliveries());
        }
    }

    /// Requests so far.
    fn count(&self) -> usize {
        let now = self.now.as_ref().map_or(0, Receiver::count);
        self.before.len() + now
    }

    fn all(mut self) -> Vec<Delivery> {
        self.stop();
        self.before
    }
}

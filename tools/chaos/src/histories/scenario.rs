//! Several servers on one database are killed, paused and cut off while clients append to
//! branches, edit, delete, move heads and read. What each was answered is recorded and checked.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use fastrand::Rng;
use memory_contract::proto::ResolveThreadRequest;

use super::clients::{Process, Round, Shared};
use super::faults::Stage;
use super::options::Histories;
use super::{Operation, Outcome, check, plant, write_lines};
use crate::progress::Progress;
use crate::report::Report;
use recollect_tests::{Call as _, Client, DataDir, Key, SOON, app, eventually_some, session};

/// Threads that are written to at a time.
const THREADS: usize = 8;
/// Operations on these threads, after which they are read, checked and left.
const ROUND: usize = 4_000;
/// Anomalies that the report has in words.
const TOLD: usize = 5;

/// What the rounds came to.
#[derive(Default)]
struct Findings {
    rounds: usize,
    answered: usize,
    refused: usize,
    unknown: usize,
    returned: usize,
    checking: Vec<Duration>,
    checked: super::Report,
    planted: usize,
    found: usize,
    first_found: Option<String>,
    kept: Vec<PathBuf>,
}

/// Records and checks histories under faults.
///
/// # Panics
/// If a process does not start again, or a thread cannot be read at the end of a round.
pub async fn histories(dir: DataDir, options: &Histories, progress: &Progress) -> Report {
    let mut report = Report::new("histories", options.seed);
    let mut rng = Rng::with_seed(options.seed);
    progress.say("histories: starting Postgres and the servers");
    let stage = Stage::start(dir, options.servers).await;
    let mut connections = Vec::new();
    // The last one belongs to the client that reads at the end of a round.
    for _ in 0..=options.clients {
        let mut own = Vec::new();
        for addr in stage.addrs() {
            own.push(Client::new(&addr, Key::Acme).await);
        }
        connections.push(own);
    }
    let shared = Arc::new(Shared::new(connections));
    let disturbing = stage.disturb(options, &shared, rng.fork());
    let recording = record(options, &shared, &mut rng, progress);
    let (disturbed, findings) = tokio::join!(disturbing, recording);
    for (fault, count) in &disturbed.counts {
        report.figure(format!("faults: {fault:?}"), *count);
    }
    findings.tell(options, &mut report);
    shared
        .failures
        .tell("answers that no fault explains", &mut report);
    for problem in disturbed.problems {
        report.problem(problem);
    }
    report.zero("panics", disturbed.stage.panics());
    report
}

/// Lets the clients work on one set of threads after another, and checks each.
async fn record(
    options: &Histories,
    shared: &Arc<Shared>,
    rng: &mut Rng,
    progress: &Progress,
) -> Findings {
    let start = Instant::now();
    let mut findings = Findings::default();
    let mut ended = 0;
    while ended < options.operations && start.elapsed() < options.time {
        progress.say(format!(
            "histories: {ended} of {} operations, {} anomalies",
            options.operations,
            findings.checked.anomalies.len()
        ));
        let left = (options.operations - ended).min(ROUND);
        let history = round(shared, options.clients, left, findings.rounds, rng).await;
        findings = findings.add(history, options, rng.fork()).await;
        ended = shared.ended.load(SeqCst);
    }
    findings
}

/// Lets the clients work on new threads, then reads these; the history.
async fn round(
    shared: &Arc<Shared>,
    clients: usize,
    operations: usize,
    number: usize,
    rng: &mut Rng,
) -> Vec<Operation> {
    let mut thread_ids = Vec::new();
    let app = app();
    for thread in 0..THREADS {
        thread_ids.push(new_thread(&shared.connections[clients], &app, thread).await);
    }
    let round = Arc::new(Round {
        first_thread: u32::try_from(number * THREADS).unwrap_or(0),
        thread_ids,
        left: AtomicUsize::new(operations),
    });
    let tasks: Vec<_> = (0..clients)
        .map(|client| tokio::spawn(Process::new(shared, &round, client, rng.fork()).run()))
        .collect();
    let mut history = Vec::new();
    for task in tasks {
        history.extend(task.await.unwrap());
    }
    let reader = Process::new(shared, &round, clients, rng.fork());
    history.extend(reader.close().await);
    history
}

/// A new thread, made by any server that answers; its id.
async fn new_thread(connections: &[Client], app: &str, number: usize) -> String {
    let request = ResolveThreadRequest {
        session: Some(session(app, "ada", &number.to_string())),
        ..Default::default()
    };
    eventually_some("a thread is made", SOON, async || {
        for client in connections {
            if let Ok(answer) = request.clone().send(client).await {
                return Some(answer.into_inner().thread?.thread_id);
            }
        }
        None
    })
    .await
}

impl Findings {
    /// Checks the history of a round and, if a fault is to be planted, a copy with it.
    async fn add(self, history: Vec<Operation>, options: &Histories, rng: Rng) -> Self {
        let options = options.clone();
        // The check takes the processor for a while, and faults go on meanwhile.
        tokio::task::spawn_blocking(move || self.add_blocking(history, &options, rng))
            .await
            .unwrap()
    }

    fn add_blocking(mut self, history: Vec<Operation>, options: &Histories, mut rng: Rng) -> Self {
        for operation in &history {
            match operation.outcome {
                Outcome::Done { .. } => self.answered += 1,
                Outcome::Refused { .. } => self.refused += 1,
                Outcome::Unknown => self.unknown += 1,
            }
            self.returned += operation.messages().map_or(0, <[_]>::len);
        }
        let start = Instant::now();
        let checked = check(&history);
        self.checking.push(start.elapsed());
        let clean = checked.anomalies.is_empty() && checked.undecided.is_empty();
        if let Some(dir) = options.keep.as_ref().filter(|_| !clean) {
            let name = format!("history-{}-{}.jsonl", options.seed, self.rounds);
            let path = dir.join(name);
            write_lines(BufWriter::new(File::create(&path).unwrap()), &history).unwrap();
            self.kept.push(path);
        }
        let known = checked.anomalies.clone();
        self.checked.add(checked);
        self.rounds += 1;
        if let Some(fault) = options.plant {
            let mut history = history;
            if plant(&mut history, fault, &mut rng) {
                self.planted += 1;
                let mut found = check(&history).anomalies.into_iter();
                let new = found.find(|anomaly| !known.contains(anomaly));
                self.found += usize::from(new.is_some());
                let new = new.map(|anomaly| anomaly.to_string());
                self.first_found = self.first_found.or(new);
            }
        }
        self
    }

    fn tell(self, options: &Histories, report: &mut Report) {
        report.figure("servers", options.servers);
        report.figure("clients", options.clients);
        report.figure("operations", self.checked.operations);
        report.figure("operations answered", self.answered);
        report.figure("operations refused", self.refused);
        report.figure("operations without an answer", self.unknown);
        report.figure("messages that reads returned", self.returned);
        report.figure("threads", self.checked.threads);
        report.zero("anomalies", self.checked.anomalies.len());
        report.zero("threads not decided", self.checked.undecided.len());
        for anomaly in self.checked.anomalies.iter().take(TOLD) {
            report.problem(anomaly.to_string());
        }
        for path in &self.kept {
            report.problem(format!("the history is in {}", path.display()));
        }
        report.seconds("seconds to check a round", &self.checking, None);
        if let Some(fault) = options.plant {
            report.limited(
                format!("planted, and found: {fault:?}"),
                format!("{} of {}", self.found, self.planted),
                "each, of one at least",
                self.planted > 0 && self.found == self.planted,
            );
            if let Some(first) = self.first_found {
                report.figure("the first one found", first);
            }
        }
    }
}

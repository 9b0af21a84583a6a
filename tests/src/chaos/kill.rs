//! Processes are killed while writers append: what was acknowledged is stored afterward,
//! once and in order, and the index becomes equal to the database.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fastrand::Rng;
use memory_contract::proto::{GetIndexStatusRequest, IndexState};
use tokio::time::sleep;
use tonic::{Code, Response};

use super::ledger::{compare, not_found};
use super::progress::Progress;
use super::report::Report;
use super::scene::Scene;
use super::writers::{Manners, Writers};
use crate::{Call as _, Client, DataDir, Key, Server, free_addr, runs};

/// Time limit of the service's return after a kill.
const BACK_LIMIT: Duration = Duration::from_secs(60);
/// How long the index may stay different before the scenario goes on.
const INDEX_TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(20);
const CONNECTIONS: usize = 16;
const THREADS: usize = 16;

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Kill {
    /// Determines the schedule and the requests.
    pub seed: u64,
    /// Number of kills.
    pub count: usize,
    /// No further kill after this time.
    pub time: Duration,
    /// Number of writers.
    pub writers: usize,
    /// Whether the index is in the server's process. Otherwise server and worker run apart
    /// and the index is a Qdrant.
    pub embedded: bool,
    /// How long the index may differ from the database once the writers pause.
    pub index_limit: Duration,
}

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Server,
    Worker,
    Postgres,
    /// The server, whose index directory is then overwritten.
    Index,
}

/// The processes.
struct Stage {
    scene: Scene,
    addr: String,
    embedded: bool,
    server: Option<Server>,
    worker: Option<Server>,
}

/// Kills processes under writers.
///
/// # Panics
/// If a process does not start again, or a read at the end fails.
pub async fn kill(dir: DataDir, options: &Kill, progress: &Progress) -> Report {
    let mut report = Report::new("kill", options.seed);
    let mut rng = Rng::with_seed(options.seed);
    progress.say("kill: starting Postgres, server and worker");
    let mut stage = Stage::start(dir, options.embedded).await;
    let client = stage.client().await;
    let mut threads = Vec::new();
    for _ in 0..THREADS {
        threads.push(client.thread("chaos").await);
    }
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(stage.client().await);
    }
    let manners = Manners {
        attempts: 1_000,
        first_pause: Duration::from_millis(20),
        cut: 0.05,
        abandon: 0.05,
        reads: false,
        retried: &[
            Code::Unavailable,
            Code::ResourceExhausted,
            Code::Aborted,
            Code::DeadlineExceeded,
        ],
    };
    let mut writers = Writers::start(options.writers, clients, threads.clone(), manners, &mut rng);

    let start = Instant::now();
    let mut kills: BTreeMap<Victim, usize> = BTreeMap::new();
    let (mut back, mut equal) = (Vec::new(), Vec::new());
    for number in 0..options.count {
        if start.elapsed() > options.time {
            break;
        }
        let victim = stage.victim(number, &mut rng);
        progress.say(format!(
            "kill {} of {}: {victim:?}; {} requests acknowledged",
            number + 1,
            options.count,
            writers.acknowledged()
        ));
        sleep(Duration::from_millis(rng.u64(100..1_000))).await;
        let killed = Instant::now();
        stage.kill(victim).await;
        *kills.entry(victim).or_default() += 1;
        match stage.acknowledges(&writers).await {
            true => back.push(killed.elapsed()),
            false => report.problem(format!(
                "kill {number} ({victim:?}): no append was acknowledged within {BACK_LIMIT:?}"
            )),
        }
        let _paused = writers.pause().await;
        match stage.index_equals(&client).await {
            Ok(time) => equal.push(time),
            Err(state) => report.problem(format!("kill {number} ({victim:?}): {state}")),
        }
        for process in stage.ended() {
            report.problem(format!("kill {number} ({victim:?}): the {process} ended"));
        }
    }
    progress.say("kill: comparing what was acknowledged with what is stored");
    let sent = writers.finish().await;

    for (victim, count) in kills {
        report.figure(format!("kills: {victim:?}"), count);
    }
    report.figure("writers", options.writers);
    report.figure("requests acknowledged", writers.acknowledged());
    figures(&writers, &mut report);
    compare(&client, &threads, &sent, &mut report).await;
    if let Err(state) = stage.index_equals(&client).await {
        report.problem(state);
    }
    report.zero(
        "sampled messages that a search misses",
        not_found(&client, &threads, &sent).await,
    );
    report.seconds("seconds until an append is acknowledged", &back, None);
    report.seconds(
        "seconds until the index is equal",
        &equal,
        Some(options.index_limit),
    );
    match options.embedded {
        // The index engine may panic on damaged files, which the server survives.
        true => report.figure("panics", stage.scene.panics()),
        false => report.zero("panics", stage.scene.panics()),
    }
    report
}

/// Adds what the writers saw.
pub(super) fn figures(writers: &Writers, report: &mut Report) {
    use std::sync::atomic::Ordering::SeqCst;

    let tally = writers.tally();
    report.figure("attempts cut off by the caller", tally.cut.load(SeqCst));
    report.figure("attempts repeated", tally.retried.load(SeqCst));
    let failures = tally.failures.lock().unwrap();
    for (name, count) in failures.iter() {
        report.figure(format!("failed attempts: {name}"), *count);
    }
    let noticed = tally.noticed.lock().unwrap();
    report.zero("calls that failed in spite of retries", noticed.len());
    for one in noticed.iter().take(5) {
        report.problem(one.clone());
    }
}

impl Stage {
    async fn start(dir: DataDir, embedded: bool) -> Self {
        let mut stage = Self {
            scene: Scene::new(dir).await,
            addr: free_addr(),
            embedded,
            server: None,
            worker: None,
        };
        stage.start_server().await;
        if !embedded {
            stage.start_worker().await;
        }
        let client = stage.client().await;
        crate::eventually("the index is ready", crate::SOON, async || {
            client.index_status().await.state() == IndexState::Ready
        })
        .await;
        stage
    }

    async fn client(&self) -> Client {
        Client::new(&self.addr, Key::Acme).await
    }

    async fn start_server(&mut self) {
        let mut options = match self.embedded {
            true => self.scene.server_with_index(&self.addr),
            false => self.scene.server_on_qdrant(&self.addr),
        };
        if !self.embedded {
            options.args.push("--no-worker".to_owned());
        }
        self.server = Some(self.scene.start(options).await);
    }

    async fn start_worker(&mut self) {
        self.worker = Some(self.scene.start(self.scene.worker()).await);
    }

    /// The first kills take each kind in turn, later ones are random.
    fn victim(&self, number: usize, rng: &mut Rng) -> Victim {
        let kinds = match self.embedded {
            true => [Victim::Server, Victim::Postgres, Victim::Index],
            false => [Victim::Server, Victim::Worker, Victim::Postgres],
        };
        let random = rng.usize(0..kinds.len());
        kinds[if number < kinds.len() { number } else { random }]
    }

    /// Kills a process and starts it again.
    async fn kill(&mut self, victim: Victim) {
        match victim {
            Victim::Server | Victim::Index => {
                if let Some(server) = self.server.take() {
                    server.kill();
                }
                if victim == Victim::Index {
                    self.scene.spoil_index();
                }
                self.start_server().await;
            }
            Victim::Worker => {
                if let Some(worker) = self.worker.take() {
                    worker.kill();
                }
                self.start_worker().await;
            }
            Victim::Postgres => {
                self.scene.cluster.crash();
                self.scene.cluster.restart().await;
            }
        }
    }

    /// Waits until a further request is acknowledged.
    async fn acknowledges(&self, writers: &Writers) -> bool {
        let (start, before) = (Instant::now(), writers.acknowledged());
        while writers.acknowledged() == before {
            if start.elapsed() > BACK_LIMIT {
                return false;
            }
            sleep(POLL).await;
        }
        true
    }

    /// Waits until the index has as many messages as the database, and no change waits; how
    /// long it took.
    async fn index_equals(&self, client: &Client) -> Result<Duration, String> {
        let database = self.scene.cluster.superuser().await;
        let stored: i64 = database
            .query_one("SELECT count(*) FROM recollect.messages", &[])
            .await
            .unwrap()
            .get(0);
        let start = Instant::now();
        loop {
            // The connection may have to be made anew.
            let answer = GetIndexStatusRequest {}.send(client).await;
            let status = answer.map(Response::into_inner);
            let equal = status.as_ref().is_ok_and(|status| {
                status.state() == IndexState::Ready
                    && status.pending_count == 0
                    && status.point_count == stored
            });
            if equal {
                return Ok(start.elapsed());
            }
            if start.elapsed() > INDEX_TIMEOUT {
                return Err(format!(
                    "{stored} messages are stored, and after {INDEX_TIMEOUT:?} the index has: \
                     {status:?}"
                ));
            }
            sleep(POLL).await;
        }
    }

    /// The processes that ended although they were not killed.
    fn ended(&self) -> Vec<&'static str> {
        let processes = [("server", &self.server), ("worker", &self.worker)];
        processes
            .into_iter()
            .filter(|(_, process)| {
                process
                    .as_ref()
                    .is_some_and(|process| !runs(process.ready().pid))
            })
            .map(|(name, _)| name)
            .collect()
    }
}

//! Faults of real Qdrant processes while writers append and readers search: every append is
//! acknowledged and kept, no answer lacks a match without saying so, and the index becomes
//! equal to the database.

mod nodes;
mod readers;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fastrand::Rng;
use memory_contract::proto::IndexState;
use tokio::time::sleep;

use super::callers::figures;
use super::ledger::{compare, not_found};
use super::progress::Progress;
use super::report::Report;
use super::scene::Scene;
use super::writers::{Manners, Writers};
use nodes::Nodes;
use readers::Readers;
use recollect_tests::{Client, DataDir, Key, SOON, Skipped, eventually, free_addr};

const THREADS: usize = 8;
/// The writers' pause after each request.
const PACE: Duration = Duration::from_millis(50);
/// Load before the first fault, and after each.
const CALM: Duration = Duration::from_secs(3);
/// How long the index may stay different before the scenario goes on.
const INDEX_TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(20);
/// Longest time of a single search during a fault.
const SEARCH_LIMIT: Duration = Duration::from_secs(5);

/// What happens to Qdrant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QdrantFault {
    /// SIGKILL, and started again after ten seconds.
    Restart,
    /// The collection is deleted.
    Drop,
    /// Its disk is full for 90 seconds, longer than the attempts of a single change last.
    FullDisk,
    /// Each node of a cluster of two or more, with two replicas, is killed in turn, and
    /// started again after 45 seconds.
    Node {
        /// Number of nodes.
        nodes: usize,
    },
}

/// What to do.
#[derive(Clone, Debug)]
pub struct QdrantFaults {
    /// Determines the requests.
    pub seed: u64,
    /// The program `qdrant`.
    pub binary: PathBuf,
    /// What happens to it.
    pub fault: QdrantFault,
    /// Number of writers.
    pub writers: usize,
    /// Number of readers.
    pub readers: usize,
    /// How long the index may differ from the database after a fault.
    pub index_limit: Duration,
}

impl QdrantFault {
    /// All of them, the clusters with two and with three nodes.
    pub const ALL: [Self; 5] = [
        Self::Restart,
        Self::Drop,
        Self::FullDisk,
        Self::Node { nodes: 2 },
        Self::Node { nodes: 3 },
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Restart => "qdrant restart",
            Self::Drop => "qdrant drop",
            Self::FullDisk => "qdrant full disk",
            Self::Node { nodes: 2 } => "qdrant node of two",
            Self::Node { .. } => "qdrant node of three",
        }
    }

    fn nodes(self) -> usize {
        match self {
            Self::Node { nodes } => nodes,
            Self::Restart | Self::Drop | Self::FullDisk => 1,
        }
    }

    fn rounds(self) -> usize {
        match self {
            Self::Restart | Self::Drop => 3,
            Self::FullDisk => 1,
            Self::Node { nodes } => nodes,
        }
    }

    fn duration(self) -> Duration {
        Duration::from_secs(match self {
            Self::Restart => 10,
            Self::Drop => 0,
            Self::FullDisk => 90,
            // Qdrant waits for 30 seconds for the rest of a cluster without a quorum.
            Self::Node { .. } => 45,
        })
    }

    async fn begin(self, nodes: &mut Nodes, round: usize) {
        match self {
            Self::Restart | Self::Node { .. } => nodes.kill(round % self.nodes()),
            Self::Drop => nodes.drop_collections().await,
            Self::FullDisk => nodes.fill_disk(),
        }
    }

    fn end(self, nodes: &mut Nodes, round: usize) {
        match self {
            Self::Restart | Self::Node { .. } => nodes.start_node(round % self.nodes()),
            Self::Drop => {}
            Self::FullDisk => nodes.free_disk(),
        }
    }
}

/// Waits until the index has as many messages as the database, and no change waits. The
/// readers append meanwhile.
async fn index_equals(scene: &Scene, client: &Client) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let stored = scene.stored().await;
        let status = client.index_status().await;
        let ready = status.state() == IndexState::Ready;
        if ready && status.pending_count == 0 && status.point_count == stored {
            return Ok(());
        }
        if start.elapsed() > INDEX_TIMEOUT {
            return Err(format!(
                "{stored} messages are stored, and after {INDEX_TIMEOUT:?} the index has: {status:?}"
            ));
        }
        sleep(POLL).await;
    }
}

/// Lets a fault happen under writers and readers.
///
/// # Errors
/// The machine does not allow the fault.
///
/// # Panics
/// If a process does not start, or a read at the end fails.
pub async fn qdrant(
    dir: DataDir,
    options: &QdrantFaults,
    progress: &Progress,
) -> Result<Report, Skipped> {
    let fault = options.fault;
    let name = fault.name();
    let mut report = Report::new(name, options.seed);
    let mut rng = Rng::with_seed(options.seed);
    progress.say(format!(
        "{name}: starting Qdrant, Postgres, server and worker"
    ));
    let on_disk = fault == QdrantFault::FullDisk;
    let mut nodes = Nodes::start(&options.binary, fault.nodes(), on_disk).await?;
    let scene = Scene::with_index(dir, nodes.config()).await;
    let addr = free_addr();
    let mut server = scene.server_on_qdrant(&addr);
    server.args.push("--no-worker".to_owned());
    let _server = scene.start(server).await;
    let _worker = scene.start(scene.worker()).await;
    let client = Client::new(&addr, Key::Acme).await;
    eventually("the index is ready", SOON, async || {
        client.index_status().await.state() == IndexState::Ready
    })
    .await;
    let mut threads = Vec::new();
    for _ in 0..THREADS {
        threads.push(client.thread("chaos").await);
    }
    let manners = Manners {
        // The index is not in the way of an append.
        attempts: 1,
        first_pause: Duration::ZERO,
        cut: 0.0,
        abandon: 0.0,
        reads: false,
        pace: PACE,
        retried: &[],
    };
    let clients = vec![Client::new(&addr, Key::Acme).await];
    let mut writers = Writers::start(options.writers, clients, threads.clone(), manners, &mut rng);
    let readers = Readers::start(options.readers, &addr, &mut rng).await;

    sleep(CALM).await;
    let mut equal = Vec::new();
    let mut faults = Vec::new();
    for round in 0..fault.rounds() {
        progress.say(format!("{name}: fault {} of {}", round + 1, fault.rounds()));
        let began = Instant::now();
        fault.begin(&mut nodes, round).await;
        sleep(fault.duration()).await;
        fault.end(&mut nodes, round);
        let ended = Instant::now();
        let paused = writers.pause().await;
        match index_equals(&scene, &client).await {
            Ok(()) => equal.push(ended.elapsed()),
            Err(state) => report.problem(format!("fault {}: {state}", round + 1)),
        }
        drop(paused);
        faults.push((began, ended, Instant::now()));
        nodes.recovered().await;
        sleep(CALM).await;
    }
    progress.say(format!("{name}: comparing"));
    let reads = readers.finish().await;
    let sent = writers.finish().await;

    report.figure("faults", faults.len());
    report.figure("requests acknowledged", writers.acknowledged());
    figures(&writers, &mut report);
    reads.report(&faults, SEARCH_LIMIT, &mut report);
    compare(&client, &threads, &sent, &mut report).await;
    if let Err(state) = index_equals(&scene, &client).await {
        report.problem(state);
    }
    report.zero(
        "sampled messages that a search misses",
        not_found(&client, &threads, &sent).await,
    );
    let status = client.index_status().await;
    let given_up = usize::try_from(status.dead_letter_count).unwrap_or(usize::MAX);
    report.zero("changes given up", given_up);
    report.seconds(
        "seconds until the index is equal",
        &equal,
        Some(options.index_limit),
    );
    report.zero("Qdrant processes that ended by themselves", nodes.crashes());
    report.zero("panics", scene.panics());
    Ok(report)
}

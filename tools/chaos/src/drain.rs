//! Two servers on one database are terminated in turn while clients with gRPC's usual
//! retries call them: no call fails, and nothing acknowledged is lost.

use std::time::{Duration, Instant};

use fastrand::Rng;
use tokio::time::sleep;
use tonic::Code;

use super::callers::figures;
use super::ledger::compare;
use super::progress::Progress;
use super::report::Report;
use super::scene::Scene;
use super::writers::{Manners, Writers};
use recollect_tests::{Client, DataDir, Key, free_addr};

const THREADS: usize = 8;
/// Connections to each server.
const CONNECTIONS: usize = 4;

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// Determines the schedule and the requests.
    pub seed: u64,
    /// Number of SIGTERMs.
    pub count: usize,
    /// No further SIGTERM after this time.
    pub time: Duration,
    /// Number of concurrent callers. Each appends, then reads.
    pub callers: usize,
}

/// Terminates servers under load.
///
/// # Panics
/// If a server does not start again, or a read at the end fails.
pub async fn drain(dir: DataDir, options: &Drain, progress: &Progress) -> Report {
    let mut report = Report::new("drain", options.seed);
    let mut rng = Rng::with_seed(options.seed);
    progress.say("drain: starting Postgres and two servers");
    let scene = Scene::new(dir).await;
    let addrs = [free_addr(), free_addr()];
    let mut servers = Vec::new();
    let mut clients = Vec::new();
    for addr in &addrs {
        servers.push(Some(scene.start(scene.server_on_qdrant(addr)).await));
    }
    // Alternating, so that a second attempt goes to the other server.
    for _ in 0..CONNECTIONS {
        for addr in &addrs {
            clients.push(Client::new(addr, Key::Acme).await);
        }
    }
    let client = clients[0].clone();
    let mut threads = Vec::new();
    for _ in 0..THREADS {
        threads.push(client.thread("chaos").await);
    }
    let manners = Manners {
        attempts: 5,
        first_pause: Duration::from_millis(100),
        cut: 0.0,
        abandon: 0.0,
        reads: true,
        pace: Duration::ZERO,
        retried: &[Code::Unavailable],
    };
    let mut writers = Writers::start(options.callers, clients, threads.clone(), manners, &mut rng);

    let start = Instant::now();
    let (mut ends, mut unsuccessful) = (Vec::new(), 0);
    for number in 0..options.count {
        if start.elapsed() > options.time {
            break;
        }
        progress.say(format!(
            "drain: SIGTERM {} of {}; {} requests acknowledged",
            number + 1,
            options.count,
            writers.acknowledged()
        ));
        sleep(Duration::from_millis(rng.u64(200..1_200))).await;
        let place = number % servers.len();
        if let Some(server) = servers[place].take() {
            let terminated = Instant::now();
            let status = server.terminate().await;
            ends.push(terminated.elapsed());
            unsuccessful += usize::from(!status.success());
        }
        let again = scene.start(scene.server_on_qdrant(&addrs[place])).await;
        servers[place] = Some(again);
    }
    progress.say("drain: comparing what was acknowledged with what is stored");
    let sent = writers.finish().await;

    report.figure("SIGTERMs", ends.len());
    report.figure("callers", options.callers);
    report.figure("appends acknowledged", writers.acknowledged());
    report.figure("histories answered", writers.reads());
    report.zero("servers that did not end successfully", unsuccessful);
    figures(&writers, &mut report);
    compare(&client, &threads, &sent, &mut report).await;
    report.seconds("seconds until the server ended", &ends, None);
    report.zero("panics", scene.panics());
    report
}

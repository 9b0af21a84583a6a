//! Processes are killed, and connections cut, while writers append: what was acknowledged is
//! stored afterward, once and in order, and the index becomes equal to the database.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fastrand::Rng;
use tokio::time::sleep;

use super::callers::Callers;
use super::progress::Progress;
use super::report::Report;
use super::scene::{Scene, kind_of_fault};
use super::wire::Wire;
use recollect_tests::{DataDir, Server, free_addr, runs};

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Kill {
    /// Determines the schedule and the requests.
    pub seed: u64,
    /// Number of kills and cuts.
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

/// What is killed or cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Server,
    Worker,
    Postgres,
    /// The server, whose index directory is then overwritten.
    Index,
    /// All connections of the callers, and all of the server to Postgres.
    Connections,
}

/// The processes.
struct Stage {
    scene: Scene,
    addr: String,
    embedded: bool,
    server: Option<Server>,
    worker: Option<Server>,
    /// Between the callers and the server, and between the server and Postgres.
    wires: [Wire; 2],
}

/// Kills processes and cuts connections under writers.
///
/// # Panics
/// If a process does not start again, or a read at the end fails.
pub async fn kill(dir: DataDir, options: &Kill, progress: &Progress) -> Report {
    let mut report = Report::new("kill", options.seed);
    let mut rng = Rng::with_seed(options.seed);
    progress.say("kill: starting Postgres, server and worker");
    let mut stage = Stage::start(dir, options.embedded).await;
    let mut callers = Callers::start(&stage.wires[0].addr, options.writers, &mut rng).await;

    let start = Instant::now();
    let mut kills: BTreeMap<Victim, usize> = BTreeMap::new();
    for number in 0..options.count {
        if start.elapsed() > options.time {
            break;
        }
        let victim = stage.victim(number, &mut rng);
        progress.say(format!(
            "kill {} of {}: {victim:?}; {} requests acknowledged",
            number + 1,
            options.count,
            callers.acknowledged()
        ));
        sleep(Duration::from_millis(rng.u64(100..1_000))).await;
        let killed = Instant::now();
        stage.kill(victim).await;
        *kills.entry(victim).or_default() += 1;
        let what = format!("kill {number} ({victim:?})");
        callers.recover(&what, killed, &mut report).await;
        for process in stage.ended() {
            report.problem(format!("{what}: the {process} ended"));
        }
    }
    progress.say("kill: comparing what was acknowledged with what is stored");
    for (victim, count) in kills {
        report.figure(format!("kills: {victim:?}"), count);
    }
    callers.finish(options.index_limit, &mut report).await;
    match options.embedded {
        // The index engine may panic on damaged files, which the server survives.
        true => report.figure("panics", stage.scene.panics()),
        false => report.zero("panics", stage.scene.panics()),
    }
    report
}

impl Stage {
    async fn start(dir: DataDir, embedded: bool) -> Self {
        let mut scene = Scene::new(dir).await;
        let addr = free_addr();
        let callers = Wire::to(&addr).await;
        // The worker has its own connections, which are not cut.
        let (database, url) = Wire::to_url(&scene.url).await;
        scene.server_url = url;
        let mut stage = Self {
            scene,
            addr,
            embedded,
            server: None,
            worker: None,
            wires: [callers, database],
        };
        stage.start_server().await;
        if !embedded {
            stage.start_worker().await;
        }
        stage
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

    fn victim(&self, number: usize, rng: &mut Rng) -> Victim {
        let other = match self.embedded {
            true => Victim::Index,
            false => Victim::Worker,
        };
        let kinds = [Victim::Server, other, Victim::Postgres, Victim::Connections];
        kind_of_fault(&kinds, number, rng)
    }

    /// Kills a process and starts it again, or cuts connections.
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
            Victim::Connections => {
                for wire in &self.wires {
                    wire.cut();
                }
            }
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

//! The processes of the scenario, and the faults that they suffer.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rustix::process::Signal;
use tokio::time::sleep;

use super::clients::Shared;
use super::options::Histories;
use crate::scene::{Scene, kind_of_fault};
use crate::wire::Wire;
use recollect_tests::{DataDir, Server, free_addr, runs, send_signal};

const POLL: Duration = Duration::from_millis(20);
/// Shortest and longest pause of a process, in milliseconds.
const PAUSE_MILLIS: std::ops::Range<u64> = 200..3_000;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// A server is killed.
    Kill,
    /// A server is terminated, and ends its calls.
    Terminate,
    /// A server stands still for a while, with calls under way.
    Pause,
    /// Postgres is killed.
    Postgres,
    /// All connections of the clients to a server are cut.
    Clients,
    /// All connections of a server to Postgres are cut.
    Database,
}

const FAULTS: [Fault; 6] = [
    Fault::Kill,
    Fault::Terminate,
    Fault::Pause,
    Fault::Postgres,
    Fault::Clients,
    Fault::Database,
];

/// One server.
struct Place {
    addr: String,
    process: Option<Server>,
    /// Between the clients and the server.
    clients: Wire,
    /// Between the server and Postgres, with the URL through it.
    database: Wire,
    url: String,
}

/// The processes.
pub(super) struct Stage {
    scene: Scene,
    places: Vec<Place>,
}

/// What was done to them.
pub(super) struct Disturbed {
    pub(super) stage: Stage,
    pub(super) counts: BTreeMap<Fault, usize>,
    pub(super) problems: Vec<String>,
}

impl Stage {
    pub(super) async fn start(dir: DataDir, servers: usize) -> Self {
        let mut stage = Self {
            scene: Scene::new(dir).await,
            places: Vec::new(),
        };
        for place in 0..servers {
            let addr = free_addr();
            let clients = Wire::to(&addr).await;
            let (database, url) = Wire::to_url(&stage.scene.url).await;
            stage.places.push(Place {
                addr,
                process: None,
                clients,
                database,
                url,
            });
            stage.start_server(place).await;
        }
        stage
    }

    /// Where clients reach each server.
    pub(super) fn addrs(&self) -> Vec<String> {
        let wires = self.places.iter().map(|place| &place.clients);
        wires.map(|wire| wire.addr.clone()).collect()
    }

    /// Panics in the logs.
    pub(super) fn panics(&self) -> usize {
        self.scene.panics()
    }

    async fn start_server(&mut self, place: usize) {
        self.scene.server_url = self.places[place].url.clone();
        let options = self.scene.server_on_qdrant(&self.places[place].addr);
        self.places[place].process = Some(self.scene.start(options).await);
    }

    /// Does one fault after another, spread over the operations of the clients.
    pub(super) async fn disturb(
        mut self,
        options: &Histories,
        shared: &Shared,
        mut rng: Rng,
    ) -> Disturbed {
        let mut counts = BTreeMap::new();
        let mut problems = Vec::new();
        let start = Instant::now();
        'faults: for number in 0..options.count {
            let due = options.operations * number / options.count;
            while shared.ended.load(SeqCst) < due {
                if start.elapsed() > options.time {
                    break 'faults;
                }
                sleep(POLL).await;
            }
            sleep(Duration::from_millis(rng.u64(50..500))).await;
            let fault = kind_of_fault(&FAULTS, number, &mut rng);
            let place = rng.usize(0..self.places.len());
            self.suffer(fault, place, &mut rng).await;
            *counts.entry(fault).or_default() += 1;
            for ended in self.ended() {
                problems.push(format!("fault {number} ({fault:?}): server {ended} ended"));
            }
        }
        Disturbed {
            stage: self,
            counts,
            problems,
        }
    }

    async fn suffer(&mut self, fault: Fault, place: usize, rng: &mut Rng) {
        match fault {
            Fault::Kill => {
                if let Some(server) = self.places[place].process.take() {
                    server.kill();
                }
                self.start_server(place).await;
            }
            Fault::Terminate => {
                if let Some(server) = self.places[place].process.take() {
                    server.terminate().await;
                }
                self.start_server(place).await;
            }
            Fault::Pause => {
                let Some(server) = &self.places[place].process else {
                    return;
                };
                let pid = server.ready().pid;
                send_signal(pid, Signal::STOP);
                sleep(Duration::from_millis(rng.u64(PAUSE_MILLIS))).await;
                send_signal(pid, Signal::CONT);
            }
            Fault::Postgres => {
                self.scene.cluster.crash();
                self.scene.cluster.restart().await;
            }
            Fault::Clients => self.places[place].clients.cut(),
            Fault::Database => self.places[place].database.cut(),
        }
    }

    /// The servers that ended although they were not killed.
    fn ended(&self) -> Vec<usize> {
        let ended = |&place: &usize| {
            let process = self.places[place].process.as_ref();
            process.is_some_and(|process| !runs(process.ready().pid))
        };
        (0..self.places.len()).filter(ended).collect()
    }
}

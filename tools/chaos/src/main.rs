//! Runs seeded scenarios against real processes and prints what they measured. The exit
//! code is 1 if a limit was missed.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for developers"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use recollect_chaos::{
    ClockBack, Clocks, Disk, Drain, FullDisk, Fuzz, Histories, Kill, Layers, Overload, Plant,
    Progress, Push, QdrantFault, QdrantFaults, Reads, Report, SlowObjects, Sockets, clock, disk,
    drain, fuzz, kill, objects, overload, push, qdrant, reads, record_histories, sockets,
};
use recollect_tests::{DataDir, Skipped};

/// How long the index may differ from the database after a fault.
const INDEX_LIMIT: Duration = Duration::from_secs(10);

/// Seeded scenarios against real processes of Recollect. Build with
/// `cargo build --workspace --bins` first.
#[derive(Parser)]
#[command(name = "recollect-chaos")]
struct Arguments {
    #[command(subcommand)]
    scenario: Scenario,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Clone, Copy)]
struct Common {
    /// Determines what is sent and when processes are killed. Default: random.
    #[arg(long, global = true)]
    seed: Option<u64>,
    /// Longest duration of the load in seconds, without starting and checking.
    #[arg(long, global = true)]
    seconds: Option<u64>,
    /// Print each report as one line of JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand, Clone)]
enum Scenario {
    /// Kill server, worker and Postgres under writers, and cut connections.
    Kill {
        /// Number of kills and cuts.
        #[arg(long, default_value_t = 200)]
        count: usize,
        /// Number of writers.
        #[arg(long, default_value_t = 64)]
        writers: usize,
        /// Keep the index in the server's process, and damage its files too.
        #[arg(long)]
        embedded: bool,
    },
    /// Fill the disk under writers, and free it again.
    Disk {
        /// How often.
        #[arg(long, default_value_t = 20)]
        count: usize,
        /// Number of writers.
        #[arg(long, default_value_t = 64)]
        writers: usize,
        /// What is on that disk.
        #[arg(long, default_value = "data")]
        of: OnDisk,
    },
    /// Set clocks back by an hour under writers, and put them right again.
    Clock {
        /// How often.
        #[arg(long, default_value_t = 20)]
        count: usize,
        /// Number of writers.
        #[arg(long, default_value_t = 64)]
        writers: usize,
        /// Whose clock. Default: both, Postgres's and the server's in turn.
        #[arg(long)]
        of: Option<Whose>,
    },
    /// Record what clients of several servers are answered under faults, and check it.
    Histories {
        /// Number of faults.
        #[arg(long, default_value_t = 200)]
        count: usize,
        /// Number of servers.
        #[arg(long, default_value_t = 2)]
        servers: usize,
        /// Number of clients.
        #[arg(long, default_value_t = 32)]
        clients: usize,
        /// Number of operations, over which the faults are spread.
        #[arg(long, default_value_t = 1_000_000)]
        operations: usize,
        /// Plant this fault in a copy of each history, to show that it is found.
        #[arg(long)]
        plant: Option<Plant>,
        /// The directory for histories with an anomaly. Default: they are not kept.
        #[arg(long)]
        keep: Option<PathBuf>,
    },
    /// Slow object storage down, then stall it, under nodes and writers. 60 seconds by default.
    Objects {
        /// Number of writers.
        #[arg(long, default_value_t = 16)]
        writers: usize,
        /// Number of nodes.
        #[arg(long, default_value_t = 64)]
        nodes: usize,
    },
    /// Call every method with arbitrary bytes and changed requests.
    Fuzz {
        /// Number of calls.
        #[arg(long, default_value_t = 1_000_000)]
        count: u64,
        /// Number of the first call, to repeat one that failed.
        #[arg(long, default_value_t = 0)]
        first: u64,
        /// Concurrent calls.
        #[arg(long, default_value_t = 32)]
        callers: usize,
    },
    /// Offer several times the sustainable load, for two minutes by default.
    Overload {
        /// How many times the sustainable load.
        #[arg(long, default_value_t = 10.0)]
        factor: f64,
        /// The callers' deadline in seconds.
        #[arg(long, default_value_t = 10)]
        deadline: u64,
    },
    /// Terminate two servers in turn under callers that retry.
    Drain {
        /// Number of SIGTERMs.
        #[arg(long, default_value_t = 20)]
        count: usize,
        /// Concurrent callers.
        #[arg(long, default_value_t = 16)]
        callers: usize,
    },
    /// Kill the worker that sends webhooks to a receiver that fails, is slow and restarts.
    Push {
        /// Number of changes.
        #[arg(long, default_value_t = 100_000)]
        events: usize,
        /// Number of SIGKILLs.
        #[arg(long, default_value_t = 50)]
        count: usize,
    },
    /// Read as two tenants that name each other's data.
    Reads {
        /// Number of reads.
        #[arg(long, default_value_t = 100_000)]
        count: u64,
        /// Concurrent readers of each tenant.
        #[arg(long, default_value_t = 8)]
        readers: usize,
        /// Switch a layer of ownership off, in the test's database.
        #[arg(long)]
        without: Option<Layer>,
    },
    /// Open sockets that send no request. 30 seconds of each kind by default.
    Sockets {
        /// Sockets at a time.
        #[arg(long, default_value_t = 10_000)]
        count: usize,
    },
    /// Restart, empty and fill up a real Qdrant, and kill nodes of its cluster.
    Qdrant {
        /// The program `qdrant`, 1.18 or newer.
        #[arg(long)]
        binary: PathBuf,
        /// Only this fault.
        #[arg(long)]
        only: Option<OneFault>,
        /// Concurrent writers.
        #[arg(long, default_value_t = 8)]
        writers: usize,
        /// Concurrent readers.
        #[arg(long, default_value_t = 4)]
        readers: usize,
    },
    /// Run all but fuzz, push and qdrant in turn, kill with either index. Default: 480 seconds of load, about ten
    /// minutes.
    All,
}

/// What is on the disk that fills up.
#[derive(Clone, Copy, ValueEnum)]
enum OnDisk {
    /// Postgres, the index and objects: the data directory of `recollect dev`.
    Data,
    /// The embedded index alone.
    Index,
}

/// Whose clock is set back.
#[derive(Clone, Copy, ValueEnum)]
enum Whose {
    /// The server's, with its workers.
    Server,
    /// That of Postgres.
    Postgres,
    /// That of both.
    Both,
}

/// A layer of ownership.
#[derive(Clone, Copy, ValueEnum)]
enum Layer {
    /// The conditions on the tenant in queries and functions.
    Conditions,
    /// Row-level security.
    RowSecurity,
}

/// A fault of Qdrant.
#[derive(Clone, Copy, ValueEnum)]
enum OneFault {
    /// SIGKILL, and a new start.
    Restart,
    /// The collection is deleted.
    Drop,
    /// A full disk; needs root.
    FullDisk,
    /// A node of two is killed.
    NodeOfTwo,
    /// A node of three is killed.
    NodeOfThree,
}

impl OneFault {
    fn fault(self) -> QdrantFault {
        match self {
            Self::Restart => QdrantFault::Restart,
            Self::Drop => QdrantFault::Drop,
            Self::FullDisk => QdrantFault::FullDisk,
            Self::NodeOfTwo => QdrantFault::Node { nodes: 2 },
            Self::NodeOfThree => QdrantFault::Node { nodes: 3 },
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let common = arguments.common;
    let seed = common.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let progress = Progress::shown();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let run = || runtime.block_on(run(arguments.scenario, seed, common.seconds, &progress));
    let reports = catch_unwind(AssertUnwindSafe(run));
    progress.end();
    recollect_tests::clusters::remove_all();
    let Ok(reports) = reports else {
        eprintln!("The scenario could not go on. Its seed was {seed}.");
        return ExitCode::FAILURE;
    };
    for report in &reports {
        match common.json {
            true => println!("{}", report.json()),
            false => println!("{}", report.text()),
        }
    }
    match reports.iter().any(Report::failed) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

async fn run(
    scenario: Scenario,
    seed: u64,
    seconds: Option<u64>,
    progress: &Progress,
) -> Vec<Report> {
    let time = |default: u64| Duration::from_secs(seconds.unwrap_or(default));
    let dir = DataDir::unlimited();
    let report = match scenario {
        Scenario::Kill {
            count,
            writers,
            embedded,
        } => {
            let options = Kill {
                seed,
                count,
                time: time(3_600),
                writers,
                embedded,
                index_limit: INDEX_LIMIT,
            };
            kill(dir, &options, progress).await
        }
        Scenario::Disk { count, writers, of } => {
            let options = FullDisk {
                seed,
                count,
                time: time(3_600),
                writers,
                disk: match of {
                    OnDisk::Data => Disk::Data,
                    OnDisk::Index => Disk::Index,
                },
                index_limit: INDEX_LIMIT,
            };
            return unless_skipped("disk", disk(dir, &options, progress).await);
        }
        Scenario::Clock { count, writers, of } => {
            let options = ClockBack {
                seed,
                count,
                time: time(3_600),
                writers,
                clocks: of.map(|of| match of {
                    Whose::Server => Clocks::Server,
                    Whose::Postgres => Clocks::Postgres,
                    Whose::Both => Clocks::Both,
                }),
                index_limit: INDEX_LIMIT,
            };
            return unless_skipped("clock", clock(dir, &options, progress).await);
        }
        Scenario::Histories {
            count,
            servers,
            clients,
            operations,
            plant,
            keep,
        } => {
            let options = Histories {
                seed,
                count,
                time: time(36_000),
                servers,
                clients,
                operations,
                plant,
                keep,
            };
            record_histories(dir, &options, progress).await
        }
        Scenario::Objects { writers, nodes } => {
            let options = SlowObjects {
                seed,
                time: time(60),
                writers,
                nodes,
                slower: 2.0,
                index_limit: INDEX_LIMIT,
            };
            objects(dir, &options, progress).await
        }
        Scenario::Fuzz {
            count,
            first,
            callers,
        } => {
            let options = Fuzz {
                seed,
                first,
                count,
                time: time(36_000),
                callers,
            };
            fuzz(dir, &options, progress).await
        }
        Scenario::Overload { factor, deadline } => {
            let options = Overload {
                seed,
                time: time(120),
                factor,
                deadline: Duration::from_secs(deadline),
                goodput: 0.8,
                offered: 0.9,
                slack: 1,
            };
            overload(dir, &options, progress).await
        }
        Scenario::Drain { count, callers } => {
            let options = Drain {
                seed,
                count,
                time: time(3_600),
                callers,
            };
            drain(dir, &options, progress).await
        }
        Scenario::Push { events, count } => {
            let options = Push {
                seed,
                events,
                count,
                time: time(3_600),
                writers: 16,
            };
            push(dir, &options, progress).await
        }
        Scenario::Reads {
            count,
            readers,
            without,
        } => {
            let options = Reads {
                seed,
                count,
                time: time(3_600),
                readers,
                layers: match without {
                    None => Layers::Both,
                    Some(Layer::RowSecurity) => Layers::Conditions,
                    Some(Layer::Conditions) => Layers::RowSecurity,
                },
            };
            reads(dir, &options, progress).await
        }
        Scenario::Sockets { count } => {
            let options = Sockets {
                seed,
                count,
                time: time(30),
            };
            sockets(dir, &options, progress).await
        }
        Scenario::Qdrant {
            binary,
            only,
            writers,
            readers,
        } => {
            let faults = only.map_or(QdrantFault::ALL.to_vec(), |only| vec![only.fault()]);
            let mut reports = Vec::new();
            for fault in faults {
                let options = QdrantFaults {
                    seed,
                    binary: binary.clone(),
                    fault,
                    writers,
                    readers,
                    index_limit: Duration::from_secs(10),
                };
                match qdrant(DataDir::unlimited(), &options, progress).await {
                    Ok(report) => reports.push(report),
                    Err(skipped) => eprintln!("SKIPPED: {fault:?}: {}", skipped.0),
                }
            }
            return reports;
        }
        Scenario::All => return all(seed, seconds.unwrap_or(480), progress).await,
    };
    vec![report]
}

/// The report of a scenario, unless this machine cannot run it.
fn unless_skipped(scenario: &str, result: Result<Report, Skipped>) -> Vec<Report> {
    match result {
        Ok(report) => vec![report],
        Err(Skipped(reason)) => {
            eprintln!("SKIPPED: {scenario}: {reason}");
            Vec::new()
        }
    }
}

/// Runs all scenarios but `fuzz`, each for its share of the time.
async fn all(seed: u64, seconds: u64, progress: &Progress) -> Vec<Report> {
    let kills = |embedded| Scenario::Kill {
        count: 200,
        writers: 64,
        embedded,
    };
    let reads = |without| Scenario::Reads {
        count: 100_000,
        readers: 8,
        without,
    };
    let disks = |of| Scenario::Disk {
        count: 100,
        writers: 64,
        of,
    };
    let scenarios = [
        (kills(false), 0.15),
        (kills(true), 0.1),
        (disks(OnDisk::Data), 0.08),
        (disks(OnDisk::Index), 0.05),
        (
            Scenario::Clock {
                count: 100,
                writers: 64,
                of: None,
            },
            0.1,
        ),
        // Often enough for a fault every few seconds.
        (
            Scenario::Histories {
                count: 1_000,
                servers: 2,
                clients: 32,
                operations: 1_000_000,
                plant: None,
                keep: None,
            },
            0.1,
        ),
        (
            Scenario::Objects {
                writers: 16,
                nodes: 64,
            },
            0.08,
        ),
        (
            Scenario::Drain {
                count: 20,
                callers: 16,
            },
            0.06,
        ),
        (reads(None), 0.06),
        (reads(Some(Layer::RowSecurity)), 0.06),
        (reads(Some(Layer::Conditions)), 0.06),
        // Four kinds.
        (Scenario::Sockets { count: 5_000 }, 0.01),
        // The overload is followed by three quarters of its time.
        (
            Scenario::Overload {
                factor: 10.0,
                deadline: 10,
            },
            0.1,
        ),
    ];
    let mut reports = Vec::new();
    for (scenario, share) in scenarios {
        let seconds = (seconds as f64 * share).ceil() as u64;
        reports.extend(Box::pin(run(scenario, seed, Some(seconds), progress)).await);
    }
    reports
}

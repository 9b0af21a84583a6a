//! The clock of the server, of Postgres, or of both is set back by an hour under writers, and
//! put right again.

use std::time::{Duration, Instant};

use fastrand::Rng;
use tokio::time::sleep;

use super::callers::Callers;
use super::follower::Follower;
use super::progress::Progress;
use super::report::Report;
use super::scene::Scene;
use recollect_tests::{Clock, DataDir, Skipped, free_addr, runs};

const HOUR: u64 = 3_600;

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct ClockBack {
    /// Determines the schedule and the requests.
    pub seed: u64,
    /// How often the clock is set back and put right.
    pub count: usize,
    /// It is set back no more after this time.
    pub time: Duration,
    /// Number of writers.
    pub writers: usize,
    /// Which clock. None: each kind in turn.
    pub clocks: Option<Clocks>,
    /// How long the index may differ from the database once the writers pause.
    pub index_limit: Duration,
}

/// Whose clock is set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// That of the server's machine, with its workers.
    Server,
    /// That of Postgres's machine.
    Postgres,
    /// One that all share.
    Both,
}

/// Sets clocks back under writers.
///
/// # Errors
/// If this machine has no libfaketime.
///
/// # Panics
/// If a read at the end fails.
pub async fn clock(
    dir: DataDir,
    options: &ClockBack,
    progress: &Progress,
) -> Result<Report, Skipped> {
    let mut report = Report::new("clock", options.seed);
    let mut rng = Rng::with_seed(options.seed);
    let clocks = [Clock::new()?, Clock::new()?];
    let [of_server, of_postgres] = &clocks;
    progress.say("clock: starting Postgres and the server");
    let scene = Scene::with_postgres_env(dir, of_postgres.env()).await;
    let addr = free_addr();
    let mut server_options = scene.server_with_index(&addr);
    server_options.env.extend(of_server.env());
    let server = scene.start(server_options).await;
    let mut callers = Callers::start(&addr, options.writers, &mut rng).await;
    let follower = Follower::start(callers.client(), callers.first_thread());

    let start = Instant::now();
    let mut jumps = 0;
    for number in 0..options.count {
        if start.elapsed() > options.time {
            break;
        }
        let which = options.clocks.unwrap_or(match number % 3 {
            0 => Clocks::Both,
            1 => Clocks::Postgres,
            _ => Clocks::Server,
        });
        let set = |seconds_behind| {
            if which != Clocks::Postgres {
                of_server.set(seconds_behind);
            }
            if which != Clocks::Server {
                of_postgres.set(seconds_behind);
            }
        };
        for behind in [HOUR + rng.u64(0..60), 0] {
            progress.say(format!(
                "clock: {which:?} {behind} seconds behind, {} of {}; {} requests acknowledged",
                number + 1,
                options.count,
                callers.acknowledged()
            ));
            sleep(Duration::from_millis(rng.u64(300..1_000))).await;
            set(behind);
            jumps += 1;
            let what = format!("clock {number} ({which:?}, {behind} seconds behind)");
            callers.recover(&what, Instant::now(), &mut report).await;
        }
        if !runs(server.ready().pid) {
            report.problem("the server ended");
            break;
        }
    }
    progress.say("clock: comparing what was acknowledged with what is stored");
    report.figure("times that a clock was set", jumps);
    follower.finish(&mut report).await;
    callers.finish(options.index_limit, &mut report).await;
    report.zero("panics", scene.panics());
    Ok(report)
}

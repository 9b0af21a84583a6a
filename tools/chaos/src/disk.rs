//! The disk fills up under writers and is freed again: nothing acknowledged is lost, and the
//! same process serves again.

use std::time::{Duration, Instant};

use fastrand::Rng;
use tokio::time::sleep;

use super::callers::Callers;
use super::progress::Progress;
use super::report::Report;
use super::scene::{NO_MODEL, Scene};
use recollect_tests::{DataDir, Options, Server, Skipped, SmallDisk, free_addr, runs};

/// How long to wait for the first refusal on a full disk.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);
/// Bytes that are left on a full disk, at most.
const LEFT: u64 = 256 * 1024;

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct FullDisk {
    /// Determines the schedule and the requests.
    pub seed: u64,
    /// How often the disk fills up.
    pub count: usize,
    /// It is filled no more after this time.
    pub time: Duration,
    /// Number of writers.
    pub writers: usize,
    /// What is on the disk.
    pub disk: Disk,
    /// How long the index may differ from the database once the writers pause.
    pub index_limit: Duration,
}

/// What is on the disk that fills up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// The data directory of `recollect dev`: Postgres, the index and objects.
    Data,
    /// The index in the server's process alone.
    Index,
}

/// The server, and then what it needs.
enum Stage {
    Data(Server, DataDir),
    Index(Server, Box<Scene>),
}

/// Fills the disk under writers.
///
/// # Errors
/// If a small file system cannot be mounted on this machine.
///
/// # Panics
/// If a read at the end fails.
pub async fn disk(
    dir: DataDir,
    options: &FullDisk,
    progress: &Progress,
) -> Result<Report, Skipped> {
    let mut report = Report::new("disk", options.seed);
    let mut rng = Rng::with_seed(options.seed);
    progress.say("disk: starting Postgres and the server");
    let (stage, disk) = Stage::start(dir, options.disk).await?;
    let ready = stage.server().ready().clone();
    let mut callers = Callers::start(&ready.addr, options.writers, &mut rng).await;

    let start = Instant::now();
    let (mut fills, mut unnoticed) = (0, 0);
    for number in 0..options.count {
        if start.elapsed() > options.time {
            break;
        }
        progress.say(format!(
            "disk: full for the {}. time of {}; {} requests acknowledged",
            number + 1,
            options.count,
            callers.acknowledged()
        ));
        sleep(Duration::from_millis(rng.u64(100..1_000))).await;
        let refused = callers.refused();
        let pid = ready.pid;
        disk.fill(pid, rng.u64(0..LEFT)).await;
        let full = Instant::now();
        while callers.refused() == refused && full.elapsed() < stage.refusal_timeout() {
            sleep(POLL).await;
        }
        unnoticed += usize::from(callers.refused() == refused);
        sleep(Duration::from_millis(rng.u64(1_000..3_000))).await;
        disk.free(pid);
        fills += 1;
        let what = format!("full disk {number}");
        callers.recover(&what, Instant::now(), &mut report).await;
        if !runs(pid) {
            report.problem(format!("{what}: the server ended"));
            break;
        }
    }
    progress.say("disk: comparing what was acknowledged with what is stored");
    report.figure("times that the disk was full", fills);
    match options.disk {
        Disk::Data => report.zero("of them, without a refused append", unnoticed),
        // Appends need no index.
        Disk::Index => report.zero("appends refused", callers.refused()),
    }
    callers.finish(options.index_limit, &mut report).await;
    // The index engine panics on a full disk, which the server survives.
    report.figure("panics", stage.panics());
    Ok(report)
}

impl Stage {
    async fn start(dir: DataDir, disk: Disk) -> Result<(Self, SmallDisk), Skipped> {
        let image = dir.path().join("disk.img");
        match disk {
            Disk::Data => {
                let disk = SmallDisk::new(image, dir.data())?;
                let mut options = Options::with(&[NO_MODEL]);
                options.under = disk.under();
                let started = tokio::task::spawn_blocking(move || {
                    let server = Server::start(&dir, &options);
                    Self::Data(server, dir)
                });
                Ok((started.await.unwrap(), disk))
            }
            Disk::Index => {
                let scene = Scene::new(dir).await;
                let disk = SmallDisk::new(image, scene.index_path())?;
                let mut options = scene.server_with_index(&free_addr());
                options.under = disk.under();
                let server = scene.start(options).await;
                Ok((Self::Index(server, Box::new(scene)), disk))
            }
        }
    }

    fn server(&self) -> &Server {
        match self {
            Self::Data(server, _) | Self::Index(server, _) => server,
        }
    }

    fn refusal_timeout(&self) -> Duration {
        match self {
            Self::Data(..) => REFUSAL_TIMEOUT,
            Self::Index(..) => Duration::ZERO,
        }
    }

    fn panics(&self) -> usize {
        match self {
            Self::Data(_, dir) => dir.log().matches("panicked at").count(),
            Self::Index(_, scene) => scene.panics(),
        }
    }
}

//! Simulates workers by seed, on a clock that moves only when the simulation moves it: they claim, fall
//! silent, come back late, and finish what another one has claimed since. After every call, answers and
//! rows are compared with a model in memory.
//!
//! `RECOLLECT_SEEDS=100000` plays so many seeds, and `RECOLLECT_SEED=17` one again.

mod changes;
mod distilling;
mod quotas;

use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;

use fastrand::Rng;
use futures::FutureExt as _;
use time::OffsetDateTime;
use tokio_postgres::Client;

use crate::world::World;

/// The seeds of a run that nothing else is asked of.
const SEEDS: u64 = 150;
/// Steps of one simulation.
const STEPS: usize = 40;

/// A database whose clock stands still, the choices of a seed, and what happened so far.
struct Stage {
    world: World,
    owner: Client,
    start: OffsetDateTime,
    /// Seconds since the start.
    now: u64,
    rng: Rng,
    trace: String,
}

impl Stage {
    async fn new() -> Self {
        let world = World::simulated().await;
        let owner = world.owner().await;
        let now = "SELECT simulated.clock_timestamp()";
        let start = owner.query_one(now, &[]).await.unwrap().get(0);
        Self {
            world,
            owner,
            start,
            now: 0,
            rng: Rng::new(),
            trace: String::new(),
        }
    }

    /// Empties the database, and takes up the choices of a seed.
    async fn begin(&mut self, seed: u64) {
        self.owner
            .execute("SELECT simulated.clear()", &[])
            .await
            .unwrap();
        self.rng.seed(seed);
        self.now = 0;
        self.trace.clear();
    }

    fn note(&mut self, what: impl std::fmt::Display) {
        writeln!(self.trace, "{:>8} s: {what}", self.now).unwrap();
    }

    async fn pass(&mut self, seconds: u64) {
        let pass =
            "UPDATE simulated.clock SET since_epoch = since_epoch + make_interval(secs => $1)";
        #[allow(clippy::cast_precision_loss, reason = "a few days")]
        let by = seconds as f64;
        self.owner.execute(pass, &[&by]).await.unwrap();
        self.now += seconds;
        self.note(format_args!("{seconds} s have passed"));
    }

    /// Lets one of these numbers of seconds pass.
    async fn pass_one_of<const N: usize>(&mut self, seconds: [u64; N]) {
        let by = seconds[self.rng.usize(..N)];
        self.pass(by).await;
    }

    /// Seconds from the start to a time.
    fn second(&self, time: OffsetDateTime) -> u64 {
        u64::try_from((time - self.start).whole_seconds()).unwrap()
    }

    /// One of so many, unless there are none.
    fn choose(&mut self, of: usize) -> Option<usize> {
        (of > 0).then(|| self.rng.usize(..of))
    }
}

/// Plays all seeds. A seed that fails prints what happened, and how it is played again.
async fn play(simulation: impl AsyncFn(&mut Stage)) {
    let mut stage = Stage::new().await;
    for seed in memory_testing::seeds(SEEDS) {
        stage.begin(seed).await;
        let played = AssertUnwindSafe(simulation(&mut stage))
            .catch_unwind()
            .await;
        if let Err(panic) = played {
            eprintln!("{}", stage.trace);
            eprintln!("seed {seed}; RECOLLECT_SEED={seed} plays it again");
            std::panic::resume_unwind(panic);
        }
    }
}

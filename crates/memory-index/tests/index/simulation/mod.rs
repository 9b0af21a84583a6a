//! Simulates workers, callers and faults by seed: real workers on a real Postgres, with an index server in
//! memory and a clock that moves only when the simulation moves it. After every step, each collection
//! lacks nothing for which no change waits, and at the end it is equal to the store.
//!
//! `RECOLLECT_SEEDS=100000` plays so many seeds, and `RECOLLECT_SEED=17` one again.

mod check;
mod run;
mod server;
mod stage;

use std::sync::mpsc;

use run::Simulation;
use stage::Stage;

/// The seeds of a run that nothing else is asked of.
const SEEDS: u64 = 60;
/// Steps of one simulation.
const STEPS: usize = 30;

/// Runs a future in a runtime whose time stands still unless it is advanced.
fn with_paused_time<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let (ends, ended) = mpsc::channel::<()>();
    runtime.block_on(async {
        // While a blocking task runs, the runtime does not advance time by itself.
        let holding = tokio::task::spawn_blocking(move || ended.recv().is_err());
        let done = future.await;
        drop(ends);
        holding.await.unwrap();
        done
    })
}

/// Plays a seed. Returns what happened, and how often a point was as it has to be.
async fn play(stage: &Stage, seed: u64) -> (String, usize) {
    let mut simulation = Simulation::new(stage, seed);
    let outcome = simulation.play(STEPS).await;
    let trace = std::mem::take(&mut simulation.trace);
    let equal = simulation.equal;
    drop(simulation);
    tokio::task::yield_now().await;
    if let Err(difference) = outcome {
        panic!("{trace}{difference}\nseed {seed}; RECOLLECT_SEED={seed} plays it again");
    }
    stage.clear().await;
    (trace, equal)
}

#[test]
fn the_index_follows_the_store_through_kills_losses_and_changes_of_model() {
    with_paused_time(async {
        let stage = Stage::new().await;
        let (mut seeds, mut equal) = (0, 0);
        for seed in memory_testing::seeds(SEEDS) {
            seeds += 1;
            equal += play(&stage, seed).await.1;
        }
        // The workers do index between the faults.
        assert!(
            seeds == 1 || equal > 20 * seeds,
            "{equal} points were compared"
        );
    });
}

#[test]
fn a_seed_plays_the_same_steps_alone_and_after_others() {
    let last_of = |seeds: std::ops::RangeInclusive<u64>| {
        with_paused_time(async {
            let stage = Stage::new().await;
            let mut last = String::new();
            for seed in seeds {
                last = play(&stage, seed).await.0;
            }
            last
        })
    };
    for seed in [2, 5] {
        assert_eq!(last_of(seed..=seed), last_of(seed - 2..=seed));
    }
}

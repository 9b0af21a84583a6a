//! Background work while users call, on a paused clock.

use std::cell::Cell;

use futures::FutureExt as _;
use tokio::time::{advance, sleep};

use super::*;

fn of_one_batch() -> Background {
    Background {
        batches: Arc::new(Semaphore::new(1)),
        ..Background::default()
    }
}

#[tokio::test(start_paused = true)]
async fn indexing_waits_for_an_import_only_while_users_call() {
    let background = of_one_batch();
    let import = background.import().await;
    assert!(background.indexing().now_or_never().is_some());
    background.note_call();
    assert!(background.indexing().now_or_never().is_none());
    drop(import);
    timeout(IDLE_AFTER, background.indexing()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn imports_take_turns_without_calls_too() {
    let background = of_one_batch();
    let import = background.import().await;
    assert!(background.import().now_or_never().is_none());
    drop(import);
    assert!(background.import().now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn an_import_waits_for_a_stuck_batch_for_a_few_seconds_only() {
    let background = of_one_batch();
    background.note_call();
    let _stuck = background.indexing().await;
    let begun = Instant::now();
    drop(background.import().await);
    assert_eq!(begun.elapsed(), LONGEST_WAIT_OF_IMPORTS);
}

#[tokio::test(start_paused = true)]
async fn each_batch_beside_calls_is_followed_by_a_pause() {
    let background = of_one_batch();
    background.note_call();
    let room = background.import().await;
    advance(Duration::from_millis(400)).await;
    drop(room);
    let begun = Instant::now();
    drop(background.import().await);
    assert_eq!(begun.elapsed(), Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn indexing_leaves_imports_half_of_the_time() {
    let background = of_one_batch();
    let worked = [const { Cell::new(Duration::ZERO) }; 2];
    let imports = async {
        loop {
            let room = background.import().await;
            sleep(Duration::from_millis(10)).await;
            worked[0].set(worked[0].get() + Duration::from_millis(10));
            drop(room);
        }
    };
    let indexing = async {
        loop {
            background.note_call();
            let room = background.indexing().await;
            sleep(Duration::from_millis(300)).await;
            worked[1].set(worked[1].get() + Duration::from_millis(300));
            drop(room);
        }
    };
    // A second stream, so that an import always waits.
    let others = async {
        loop {
            drop(background.import().await);
            background.note_call();
        }
    };
    let all = async { tokio::join!(imports, indexing, others) };
    assert!(timeout(Duration::from_secs(60), all).await.is_err());
    let [imported, indexed] = worked.map(|worked| worked.get().as_secs_f64());
    let share = imported / (imported + indexed);
    assert!((0.3..0.7).contains(&share), "{share}");
}

//! A watch of a thread shows each change, however late it is committed.

use std::time::Duration;

use memory_contract::message::Role;
use memory_store::{Store, StoreConfig};
use tokio::time::{sleep, timeout};

use crate::world::{World, config};

/// Transactions are taken for ended five seconds after twice this, if the database does not
/// say that they go on.
const STATEMENT_TIMEOUT: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(8);

/// As where a commit waits for a standby: its statements have ended, and no timeout ends it.
#[tokio::test]
async fn a_watch_shows_a_change_that_is_committed_long_after_it_was_written() {
    let world = World::new().await;
    let config = StoreConfig {
        statement_timeout: STATEMENT_TIMEOUT,
        ..config(&world.url)
    };
    let store = Store::connect(&config).await.unwrap();
    let thread = world.thread().await.id;
    let threads = store.threads(&world.caller);
    let mut watch = threads.watch_thread(thread, None).await.unwrap();
    let late = world.owner().await;
    let write =
        format!("BEGIN; SELECT recollect.audit('a', 'update_message', '{thread}', 'late', 1)");
    late.batch_execute(&write).await.unwrap();

    let mut subjects = Vec::new();
    let start = tokio::time::Instant::now();
    while start.elapsed() < LONG {
        world.say(thread, Role::User, "meanwhile").await;
        sleep(Duration::from_millis(500)).await;
        let news = timeout(Duration::from_millis(500), watch.next()).await;
        subjects.extend(news.into_iter().flat_map(Result::unwrap).map(subject));
    }
    assert!(subjects.len() > 5, "{subjects:?}");
    assert!(!subjects.contains(&"late".to_owned()));
    // Another server goes on where the watch is, and has read all that is visible.
    let other = Store::connect(&config).await.unwrap();
    let others = other.threads(&world.caller);
    let mut resumed = others
        .watch_thread(thread, Some(watch.place()))
        .await
        .unwrap();
    while let Ok(news) = timeout(Duration::from_millis(500), resumed.next()).await {
        assert!(news.unwrap().into_iter().all(|one| subject(one) != "late"));
    }
    late.batch_execute("COMMIT").await.unwrap();

    for watch in [&mut watch, &mut resumed] {
        let mut found = Vec::new();
        while !found.contains(&"late".to_owned()) {
            let news = timeout(Duration::from_secs(10), watch.next()).await;
            let news = news.expect("the late change is shown").unwrap();
            found.extend(news.into_iter().map(subject));
        }
    }
}

fn subject(change: memory_store::Change) -> String {
    change.transaction.subject
}

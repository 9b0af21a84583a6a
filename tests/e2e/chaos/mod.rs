//! Short forms of the scenarios of `recollect-chaos`.

use std::time::Duration;

use recollect_tests::chaos::{Kill, Progress, kill};
use recollect_tests::{DataDir, apply, trial_with_own_server};

/// The machine may be busy: how long the index may lag behind is measured elsewhere.
const INDEX_LIMIT: Duration = Duration::from_secs(60);

async fn kills(embedded: bool) {
    let options = Kill {
        seed: 7,
        count: 3,
        time: Duration::from_secs(60),
        writers: 16,
        embedded,
        index_limit: INDEX_LIMIT,
    };
    kill(DataDir::new(), &options, &Progress::hidden())
        .await
        .check();
}

#[apply(trial_with_own_server)]
async fn nothing_acknowledged_is_lost_when_any_process_is_killed() {
    kills(false).await;
}

#[apply(trial_with_own_server)]
async fn nothing_acknowledged_is_lost_when_an_embedded_index_is_damaged() {
    kills(true).await;
}

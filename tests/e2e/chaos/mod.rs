//! Short forms of the scenarios of `recollect-chaos`, except `overload`, which needs the
//! machine for itself.

use std::time::Duration;

use recollect_tests::chaos::{
    Drain, Fuzz, Kill, Layers, Progress, Reads, drain, fuzz, kill, reads,
};
use recollect_tests::{DataDir, apply, trial_with_own_server};

/// No scenario goes on for longer; most end by their counts.
const TIME_LIMIT: Duration = Duration::from_secs(60);

async fn kills(embedded: bool) {
    let options = Kill {
        seed: 7,
        count: 3,
        time: TIME_LIMIT,
        writers: 16,
        embedded,
        // The machine may be busy.
        index_limit: Duration::from_secs(60),
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

#[apply(trial_with_own_server)]
async fn random_requests_are_answered_without_a_defect() {
    let options = Fuzz {
        seed: 7,
        first: 0,
        count: 3_000,
        time: TIME_LIMIT,
        callers: 8,
    };
    fuzz(DataDir::new(), &options, &Progress::hidden())
        .await
        .check();
}

#[apply(trial_with_own_server)]
async fn clients_that_retry_notice_no_restart() {
    let options = Drain {
        seed: 7,
        count: 4,
        time: TIME_LIMIT,
        callers: 8,
    };
    drain(DataDir::new(), &options, &Progress::hidden())
        .await
        .check();
}

async fn mixed_reads(layers: Layers) {
    let options = Reads {
        seed: 7,
        count: 1_000,
        time: TIME_LIMIT,
        readers: 4,
        layers,
    };
    reads(DataDir::new(), &options, &Progress::hidden())
        .await
        .check();
}

#[apply(trial_with_own_server)]
async fn n15_conditions_alone_separate_tenants() {
    mixed_reads(Layers::Conditions).await;
}

#[apply(trial_with_own_server)]
async fn n15_row_level_security_alone_separates_tenants() {
    mixed_reads(Layers::RowSecurity).await;
}

//! Short forms of the scenarios of `recollect-chaos`, except `overload`, which needs the
//! machine for itself.

use std::time::Duration;

use recollect_chaos::{
    ClockBack, Disk, Drain, FullDisk, Fuzz, Histories, Kill, Layers, Progress, Push, Reads,
    SlowObjects, clock, disk, drain, fuzz, kill, objects, push, reads, record_histories,
};
use recollect_tests::{DataDir, Skipped, apply, long_trial_with_own_server};

/// No scenario goes on for longer; most end by their counts.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The machine may be busy.
const INDEX_LIMIT: Duration = Duration::from_secs(60);

async fn kills(embedded: bool) {
    let options = Kill {
        seed: 7,
        count: 4,
        time: TIME_LIMIT,
        writers: 16,
        embedded,
        index_limit: INDEX_LIMIT,
    };
    kill(DataDir::new(), &options, &Progress::hidden())
        .await
        .check();
}

#[apply(long_trial_with_own_server)]
async fn nothing_acknowledged_is_lost_when_any_process_is_killed() {
    kills(false).await;
}

#[apply(long_trial_with_own_server)]
async fn nothing_acknowledged_is_lost_when_an_embedded_index_is_damaged() {
    kills(true).await;
}

async fn full_disk(disk_of: Disk) -> Result<(), Skipped> {
    let options = FullDisk {
        seed: 7,
        count: 1,
        time: TIME_LIMIT,
        writers: 16,
        disk: disk_of,
        index_limit: INDEX_LIMIT,
    };
    disk(DataDir::new(), &options, &Progress::hidden())
        .await?
        .check();
    Ok(())
}

#[apply(long_trial_with_own_server)]
async fn nothing_acknowledged_is_lost_when_the_disk_is_full() -> Result<(), Skipped> {
    full_disk(Disk::Data).await
}

#[apply(long_trial_with_own_server)]
async fn appends_go_on_when_the_disk_of_the_index_is_full() -> Result<(), Skipped> {
    full_disk(Disk::Index).await
}

#[apply(long_trial_with_own_server)]
async fn a_clock_that_is_set_back_loses_nothing_and_stops_nothing() -> Result<(), Skipped> {
    let options = ClockBack {
        seed: 7,
        count: 3,
        time: TIME_LIMIT,
        writers: 16,
        clocks: None,
        index_limit: INDEX_LIMIT,
    };
    clock(DataDir::new(), &options, &Progress::hidden())
        .await?
        .check();
    Ok(())
}

#[apply(long_trial_with_own_server)]
async fn what_clients_of_two_servers_are_answered_under_faults_fits_together() {
    let options = Histories {
        seed: 7,
        count: 4,
        time: TIME_LIMIT,
        servers: 2,
        clients: 16,
        operations: 4_000,
        plant: None,
        keep: None,
    };
    record_histories(DataDir::new(), &options, &Progress::hidden())
        .await
        .check();
}

#[apply(long_trial_with_own_server)]
async fn slow_object_storage_slows_no_append_and_loses_no_turn() {
    let options = SlowObjects {
        seed: 7,
        time: Duration::from_secs(12),
        writers: 8,
        nodes: 16,
        // The machine may be busy.
        slower: 5.0,
        index_limit: INDEX_LIMIT,
    };
    objects(DataDir::new(), &options, &Progress::hidden())
        .await
        .check();
}

#[apply(long_trial_with_own_server)]
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

#[apply(long_trial_with_own_server)]
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

#[apply(long_trial_with_own_server)]
async fn n15_conditions_alone_separate_tenants() {
    mixed_reads(Layers::Conditions).await;
}

#[apply(long_trial_with_own_server)]
async fn n15_row_level_security_alone_separates_tenants() {
    mixed_reads(Layers::RowSecurity).await;
}

#[apply(long_trial_with_own_server)]
async fn f09_no_event_is_lost_when_workers_are_killed_and_receivers_fail() {
    let options = Push {
        seed: 7,
        events: 4_000,
        count: 3,
        time: TIME_LIMIT,
        writers: 8,
    };
    push(DataDir::new(), &options, &Progress::hidden())
        .await
        .check();
}

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use qdrant_edge::PointOperations;
use uuid::Uuid;

use super::*;

/// Logs the deletions of so many points that were not logged before.
fn add(log: &Log, points: usize) {
    let ids = (0..points).map(|_| PointId::Uuid(Uuid::new_v4())).collect();
    let delete = PointOperations::DeletePoints { ids };
    log.add(&UpdateOperation::PointOperation(delete));
}

fn is_writer_ahead(log: &Log) -> bool {
    log.lock().pace.as_ref().is_some_and(Pace::is_writer_ahead)
}

#[test]
fn a_copy_catches_up_with_a_writer_that_is_as_fast() {
    const STEP: usize = 100;
    let log = Log::default();
    add(&log, 300_000);
    let catching_up = log.catch_up();
    let mut rounds = 0;
    while log.len() > AHEAD {
        for _ in log.take().unwrap().points.chunks(STEP) {
            log.note_replayed(STEP);
            if !is_writer_ahead(&log) {
                add(&log, STEP);
            }
        }
        rounds += 1;
        assert!(rounds < 10, "{} changes are left", log.len());
    }
    drop(catching_up);
    assert!(!is_writer_ahead(&log));
}

#[test]
fn a_writer_that_is_ahead_waits_until_the_copy_has_got_more() {
    let log = Arc::new(Log::default());
    let catching_up = log.catch_up();
    add(&log, AHEAD + STEP);
    let replays = Arc::new(AtomicBool::new(false));
    let waiting = {
        let (log, replays) = (Arc::clone(&log), Arc::clone(&replays));
        thread::spawn(move || {
            log.keep_pace();
            assert!(replays.load(Ordering::SeqCst));
        })
    };
    const STEP: usize = 100;
    log.note_replayed(STEP);
    assert!(is_writer_ahead(&log));
    replays.store(true, Ordering::SeqCst);
    log.note_replayed(STEP * REPLAYED_FOR_EACH);
    waiting.join().unwrap();
    drop(catching_up);
}

#[test]
fn a_copy_that_ends_holds_no_writer_back() {
    let log = Log::default();
    let catching_up = log.catch_up();
    add(&log, 2 * AHEAD);
    assert!(is_writer_ahead(&log));
    drop(catching_up);
    let began = Instant::now();
    log.keep_pace();
    assert!(began.elapsed() < LONGEST_WAIT / 2);
    let _catching_up = log.catch_up();
    add(&log, 2 * AHEAD);
    log.abandon();
    assert!(!is_writer_ahead(&log));
    assert!(log.take().is_err());
}

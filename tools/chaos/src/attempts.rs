//! Single attempts of calls: how long they may take, and how failed ones are counted and reported.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use fastrand::Rng;
use tonic::{Code, Request};

use super::report::Report;
use recollect_tests::Failure;

/// Deadline of one attempt.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time that an attempt is cut off after.
const LONGEST_CUT_MILLIS: u64 = 15;
/// What a server may answer during a fault.
pub(super) const ANSWERS_OF_FAULTS: [Code; 4] = [
    Code::Unavailable,
    Code::ResourceExhausted,
    Code::Aborted,
    Code::DeadlineExceeded,
];
/// Failures that the report has in words.
const TOLD: usize = 5;

/// A request with the deadline of an attempt.
pub(super) fn limited<T>(request: T) -> Request<T> {
    let mut request = Request::new(request);
    request.set_timeout(CALL_TIMEOUT);
    request
}

/// How long the caller waits for an attempt. It cuts this share of them off in the middle, and
/// the others only long after their deadline.
pub(super) fn patience(cut: f64, rng: &mut Rng) -> Duration {
    match rng.f64() < cut {
        true => Duration::from_millis(rng.u64(0..=LONGEST_CUT_MILLIS)),
        false => CALL_TIMEOUT * 2,
    }
}

/// Whether the connection broke, rather than the server answered. Other clients report
/// UNAVAILABLE for it, tonic has several codes.
pub(super) fn is_of_transport(failure: &Failure) -> bool {
    failure.reason.is_empty()
}

/// Failed attempts of all callers.
#[derive(Default)]
pub(super) struct Failures {
    /// By code and reason.
    counts: Mutex<BTreeMap<String, usize>>,
    /// Those that a scenario does not allow, in words.
    noticed: Mutex<Vec<String>>,
}

impl Failures {
    /// Counts a failed attempt; its code and reason.
    pub(super) fn count(&self, failure: &Failure) -> String {
        let reason = match is_of_transport(failure) {
            true => "of the connection",
            false => &failure.reason,
        };
        let name = format!("{:?} {reason}", failure.code);
        let mut counts = self.counts.lock().unwrap();
        *counts.entry(name.clone()).or_default() += 1;
        name
    }

    /// Adds a failure that the scenario does not allow.
    pub(super) fn notice(&self, failure: String) {
        self.noticed.lock().unwrap().push(failure);
    }

    /// Attempts counted so far.
    pub(super) fn total(&self) -> usize {
        self.counts.lock().unwrap().values().sum()
    }

    /// Adds the counts to a report, and under `noticed` what the scenario does not allow.
    pub(super) fn tell(&self, noticed: &str, report: &mut Report) {
        for (name, count) in self.counts.lock().unwrap().iter() {
            report.figure(format!("failed attempts: {name}"), *count);
        }
        let all = self.noticed.lock().unwrap();
        report.zero(noticed, all.len());
        for one in all.iter().take(TOLD) {
            report.problem(one.clone());
        }
    }
}

//! Counts how calls end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tonic::{Code, Status};

use recollect_tests::Failure;

/// Served calls are also counted by windows of this length.
pub(super) const WINDOW: Duration = Duration::from_millis(250);

/// How the calls of one phase ended. Clones count together.
#[derive(Clone)]
pub(super) struct Meter(Arc<Mutex<Counts>>);

struct Counts {
    start: Instant,
    /// Latencies in milliseconds.
    served: Histogram<u64>,
    refused: Histogram<u64>,
    windows: Vec<u64>,
    unhinted: usize,
    late: usize,
    others: BTreeMap<String, usize>,
}

impl Meter {
    pub(super) fn new() -> Self {
        let histogram = || Histogram::new(3).unwrap();
        Self(Arc::new(Mutex::new(Counts {
            start: Instant::now(),
            served: histogram(),
            refused: histogram(),
            windows: Vec::new(),
            unhinted: 0,
            late: 0,
            others: BTreeMap::new(),
        })))
    }

    /// Counts a call. Returns how long its caller should wait before the next one.
    pub(super) fn count<T>(&self, result: Result<T, Status>, began: Instant) -> Duration {
        let mut counts = self.0.lock().unwrap();
        let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Err(status) = result else {
            counts.served.saturating_record(milliseconds);
            let window = counts.start.elapsed().as_millis() / WINDOW.as_millis();
            let window = usize::try_from(window).unwrap_or(usize::MAX);
            if counts.windows.len() <= window {
                counts.windows.resize(window + 1, 0);
            }
            counts.windows[window] += 1;
            return Duration::ZERO;
        };
        let failure = Failure::from(status);
        match failure.code {
            Code::ResourceExhausted => {
                counts.refused.saturating_record(milliseconds);
                counts.unhinted += usize::from(failure.retry.is_none());
            }
            // tonic's client says CANCELLED at its own deadline.
            Code::DeadlineExceeded | Code::Cancelled => counts.late += 1,
            code => {
                let name = format!("{code:?} {}", failure.reason);
                *counts.others.entry(name).or_default() += 1;
            }
        }
        failure.retry.unwrap_or(Duration::from_millis(100))
    }

    /// Served calls a second, over the first part of the phase.
    pub(super) fn rate(&self, time: Duration) -> f64 {
        self.windows(time).iter().sum::<u64>() as f64 / time.as_secs_f64()
    }

    /// Served calls by window, over the first part of the phase.
    pub(super) fn windows(&self, time: Duration) -> Vec<u64> {
        let mut windows = self.0.lock().unwrap().windows.clone();
        let count = time.as_millis() / WINDOW.as_millis();
        windows.resize(usize::try_from(count).unwrap_or(0), 0);
        windows
    }

    /// A quantile of the latency of served calls.
    pub(super) fn served(&self, quantile: f64) -> Duration {
        let counts = self.0.lock().unwrap();
        Duration::from_millis(counts.served.value_at_quantile(quantile))
    }

    /// A quantile of the latency of refusals.
    pub(super) fn refused(&self, quantile: f64) -> Duration {
        let counts = self.0.lock().unwrap();
        Duration::from_millis(counts.refused.value_at_quantile(quantile))
    }

    /// Calls refused with RESOURCE_EXHAUSTED.
    pub(super) fn refused_count(&self) -> u64 {
        self.0.lock().unwrap().refused.len()
    }

    /// Refusals that do not say when to come back.
    pub(super) fn unhinted(&self) -> usize {
        self.0.lock().unwrap().unhinted
    }

    /// Calls that ended by their deadline.
    pub(super) fn late(&self) -> usize {
        self.0.lock().unwrap().late
    }

    /// Other failures, by code and reason.
    pub(super) fn others(&self) -> BTreeMap<String, usize> {
        self.0.lock().unwrap().others.clone()
    }
}

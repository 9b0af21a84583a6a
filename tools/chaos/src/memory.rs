//! The resident memory of a process over time.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::interval;

const INTERVAL: Duration = Duration::from_millis(200);

/// Samples a process until it is dropped.
pub(super) struct Memory {
    samples: Arc<Mutex<Vec<(Instant, u64)>>>,
    task: JoinHandle<()>,
}

impl Memory {
    /// Starts to sample a process.
    pub(super) fn watch(pid: i32) -> Self {
        let samples: Arc<Mutex<Vec<(Instant, u64)>>> = Arc::default();
        let task = tokio::spawn({
            let samples = Arc::clone(&samples);
            async move {
                let mut ticks = interval(INTERVAL);
                loop {
                    ticks.tick().await;
                    if let Some(mebibytes) = resident(pid) {
                        samples.lock().unwrap().push((Instant::now(), mebibytes));
                    }
                }
            }
        });
        Self { samples, task }
    }

    /// The largest size between two moments, in MiB; 0 without a sample.
    pub(super) fn peak(&self, from: Instant, to: Instant) -> u64 {
        let samples = self.samples.lock().unwrap();
        let within = samples.iter().filter(|(at, _)| (from..=to).contains(at));
        within.map(|(_, size)| *size).max().unwrap_or(0)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The resident memory of a process in MiB.
fn resident(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes / 1024)
}

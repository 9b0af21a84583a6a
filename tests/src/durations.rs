//! How long each test took, to find those that a run waits for.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

/// How many are listed.
const LISTED: usize = 25;

static DURATIONS: Mutex<Vec<(&str, Duration)>> = Mutex::new(Vec::new());

/// Remembers how long a test took, without its wait for a slot.
pub(crate) fn note(name: &'static str, duration: Duration) {
    DURATIONS.lock().unwrap().push((name, duration));
}

/// A table of the slowest tests.
pub(crate) fn slowest() -> String {
    let mut durations = DURATIONS.lock().unwrap().clone();
    durations.sort_by_key(|&(_, duration)| std::cmp::Reverse(duration));
    let total: Duration = durations.iter().map(|&(_, duration)| duration).sum();
    let mut table = format!("slowest tests, of {:.0} s in all:\n", total.as_secs_f64());
    for (name, duration) in durations.iter().take(LISTED) {
        let _ = writeln!(table, "{:>7.1} s  {name}", duration.as_secs_f64());
    }
    table
}

//! Waiting for a condition instead of for a time.

use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(25);

/// Asks again and again until `check` gives a value.
///
/// # Panics
/// If it has not by the deadline; the message names what was waited for.
pub async fn eventually_some<T>(
    what: &str,
    deadline: Duration,
    mut check: impl AsyncFnMut() -> Option<T>,
) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = check().await {
            return value;
        }
        assert!(
            start.elapsed() < deadline,
            "waited {deadline:?} in vain: {what}"
        );
        tokio::time::sleep(PAUSE).await;
    }
}

/// Asks again and again until `check` is true.
///
/// # Panics
/// If it is not by the deadline; the message names what was waited for.
pub async fn eventually(what: &str, deadline: Duration, mut check: impl AsyncFnMut() -> bool) {
    eventually_some(what, deadline, async || check().await.then_some(())).await;
}

//! Starts tasks. Each has a name, reports its panic, and ends by itself: its owner closes a
//! channel, cancels a token or aborts the handle. Services start tasks here alone.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

const PANICS: &str = "recollect_task_panics_total";
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Work that panics after this time has worked.
const WORKED: Duration = Duration::from_secs(600);

/// Starts background work, which may go on after the call that starts it.
pub fn spawn<T: Send + 'static>(
    name: &'static str,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    #[expect(clippy::disallowed_methods, reason = "the task is named and reported")]
    tokio::spawn(reporting_panics(name, work))
}

/// Starts work of one call, in the span of that call. It must end soon after the call.
pub fn spawn_for_call<T: Send + 'static>(
    name: &'static str,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    spawn(name, work.in_current_span())
}

/// Does work that goes on until `stop`. If it panics, it begins again after a pause of one second,
/// which doubles up to a minute while it panics again within ten minutes.
pub async fn supervised<S, W: Future<Output = ()>>(
    name: &'static str,
    stop: CancellationToken,
    with: Arc<S>,
    work: impl Fn(Arc<S>, CancellationToken) -> W,
) {
    let mut pause = SHORTEST_PAUSE;
    loop {
        let started = Instant::now();
        let done = AssertUnwindSafe(work(Arc::clone(&with), stop.clone())).catch_unwind();
        if done.await.is_ok() {
            return;
        }
        count_panic(name);
        if started.elapsed() > WORKED {
            pause = SHORTEST_PAUSE;
        }
        tracing::error!(
            task = name,
            pause_ms = pause.as_millis(),
            "a task panicked; it begins again after a pause"
        );
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(pause) => {}
        }
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

/// Logs a panic of the work, and lets it go on.
pub async fn reporting_panics<T>(name: &'static str, work: impl Future<Output = T>) -> T {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(done) => done,
        Err(panic) => {
            count_panic(name);
            tracing::error!(task = name, "a task panicked");
            resume_unwind(panic)
        }
    }
}

/// Counts a panic of a task. The log has its place, and not its message, which may have data of
/// users.
fn count_panic(name: &'static str) {
    metrics::counter!(PANICS, "task" => name).increment(1);
}

/// Describes the metrics of tasks to the global recorder.
pub fn describe_metrics() {
    metrics::describe_counter!(PANICS, "Panics of background tasks, by task.");
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_that_panics_begins_again_after_growing_pauses() {
        let stop = CancellationToken::new();
        let begun = Arc::new(AtomicU32::new(0));
        let work = |begun: Arc<AtomicU32>, stop: CancellationToken| async move {
            if begun.fetch_add(1, Ordering::Relaxed) < 3 || stop.is_cancelled() {
                panic!("broken");
            }
        };
        let started = Instant::now();
        supervised("test", stop.clone(), Arc::clone(&begun), work).await;
        assert_eq!(begun.load(Ordering::Relaxed), 4);
        assert_eq!(started.elapsed().as_secs(), 1 + 2 + 4);
        // It does not begin again after the stop.
        stop.cancel();
        supervised("test", stop, Arc::clone(&begun), work).await;
        assert_eq!(begun.load(Ordering::Relaxed), 5);
    }
}

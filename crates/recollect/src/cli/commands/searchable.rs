//! Waits until stored messages and memories are searchable.

use std::time::{Duration, Instant};

use memory_contract::proto::{GetIndexStatusRequest, IndexState};

use crate::cli::client::Client;
use crate::cli::output::{Progress, count, duration};

/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// How long the index may not answer before waiting for it ends with an error.
const AWAY: Duration = Duration::from_secs(5);

/// Waits until everything that was stored before the call can be searched.
///
/// # Errors
/// Why it cannot be searched yet, or why that is unknown, for people.
pub async fn wait_until_searchable(
    client: &Client,
    timeout: Duration,
    progress: &Progress,
) -> Result<(), String> {
    let begin = Instant::now();
    let mut answered = begin;
    progress.step("Waiting until everything can be searched");
    loop {
        let asked = Instant::now();
        let status = client
            .admin()
            .get_index_status(GetIndexStatusRequest {})
            .await
            .map_err(|status| client.failure(&status).to_string())?
            .into_inner();
        let lag = status
            .lag
            .and_then(|lag| Duration::try_from(lag).ok())
            .unwrap_or(Duration::MAX);
        // Where others go on storing, the index is never done; but what is
        // younger than this wait is not ours.
        if status.pending_count == 0 || lag < asked - begin {
            return Ok(());
        }
        if status.state() != IndexState::Unavailable {
            answered = asked;
        }
        let left = count(status.pending_count, "change");
        let error = match status.last_error.as_str() {
            "" => String::new(),
            error => format!(" ({error})"),
        };
        if asked - answered > AWAY {
            return Err(format!(
                "the index does not answer; not indexed yet: {left}{error}"
            ));
        }
        if asked - begin > timeout {
            return Err(format!(
                "not indexed after {}: {left}{error}",
                duration(timeout)
            ));
        }
        progress.detail(&format!(
            "Waiting until everything can be searched: {left} to come"
        ));
        tokio::time::sleep(LOOK).await;
    }
}

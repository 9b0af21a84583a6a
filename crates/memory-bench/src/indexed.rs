//! Waits for the index of a tenant.

use std::time::{Duration, Instant};

use memory_contract::proto::GetIndexStatusRequest;

use crate::{Failure, clients::Clients, progress};

/// The longest wait for the index.
const INDEX: Duration = Duration::from_secs(1_800);

/// Waits until the index is complete.
pub async fn indexed(clients: &mut Clients) -> Result<(), Failure> {
    let step = progress::step("indexing");
    let begin = Instant::now();
    loop {
        let status = clients
            .admin
            .get_index_status(GetIndexStatusRequest {})
            .await?
            .into_inner();
        if status.dead_letter_count > 0 {
            return Err(format!("could not be indexed: {}", status.last_error).into());
        }
        if status.pending_count == 0 {
            step.finish_and_clear();
            return Ok(());
        }
        if begin.elapsed() > INDEX {
            return Err(format!("{} changes still not indexed", status.pending_count).into());
        }
        step.set_message(format!("indexing, {} to go", status.pending_count));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

//! Plans, the log of attempts, and briefings made of both.

mod briefing;
mod log;
mod stored;

use memory_contract::proto::ListIterationsRequest;

/// All attempts of a thread.
fn all_of(thread_id: &str) -> ListIterationsRequest {
    ListIterationsRequest {
        thread_id: thread_id.to_owned(),
        ..Default::default()
    }
}

//! Plans, the log of attempts, and briefings made of both.

mod briefing;
mod log;
mod stored;

use memory_contract::proto::ListAttemptsRequest;
use recollect_tests::by_id;

/// All attempts of a thread.
fn all_of(thread_id: &str) -> ListAttemptsRequest {
    ListAttemptsRequest {
        thread: by_id(thread_id),
        ..Default::default()
    }
}

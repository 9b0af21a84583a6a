//! Reads ids.

use memory_contract::{Invalid, MessageName, RequestId, ThreadId, check};

/// Reads `thread_id`.
pub fn thread_id_from(value: &str) -> Result<ThreadId, Invalid> {
    check::uuid("thread_id", value).map(ThreadId::from)
}

/// Reads `request_id`; `None` for an empty one.
pub fn request_id_from(value: &str) -> Result<Option<RequestId>, Invalid> {
    Ok(check::optional_uuid("request_id", value)?.map(RequestId::from))
}

/// Reads `expected_head`: `None` expects nothing, and an empty string expects a thread
/// without messages.
pub fn expected_head_from(value: Option<&str>) -> Result<Option<Option<MessageName>>, Invalid> {
    value
        .map(|name| check::optional_message_name("expected_head", name))
        .transpose()
}

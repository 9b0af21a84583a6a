//! Fields of threads.

use std::time::Duration;

use memory_contract::{Invalid, check, convert::duration_in, limits};
use prost_types::Duration as ProtoDuration;

pub(super) fn title_from(title: String) -> Result<String, Invalid> {
    check::text("title", title, limits::TITLE_CHARS)
}

pub(super) fn ttl_from(ttl: Option<ProtoDuration>) -> Result<Option<Duration>, Invalid> {
    duration_in("ttl", ttl, limits::TTL_MIN, limits::TTL_MAX)
}

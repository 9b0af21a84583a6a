//! Reads the method of a search, and the revision that the index must have reached.

use std::time::Duration;

use memory_contract::proto::SearchMethod;
use memory_contract::{Invalid, check, duration_in, limits};
use memory_recall::Method;
use memory_store::Revision;
use prost_types::Duration as ProtoDuration;

/// Reads `method`.
pub(in crate::services) fn method_from(method: i32) -> Result<Method, Invalid> {
    match SearchMethod::try_from(method) {
        Ok(SearchMethod::Unspecified | SearchMethod::Hybrid) => Ok(Method::Hybrid),
        Ok(SearchMethod::Dense) => Ok(Method::Dense),
        Ok(SearchMethod::Lexical) => Ok(Method::Lexical),
        Err(_) => Err(Invalid::new(
            "method",
            "must be SEARCH_METHOD_HYBRID, _DENSE or _LEXICAL",
        )),
    }
}

/// Reads `top_k` of a search: 1 to [`limits::TOP_K_MAX`], and [`limits::SEARCH_TOP_K`]
/// if it is unset.
pub(in crate::services) fn search_top_k_from(top_k: Option<i32>) -> Result<usize, Invalid> {
    let (default, max) = (limits::SEARCH_TOP_K, limits::TOP_K_MAX);
    let top_k = check::range_or("top_k", top_k, default, 1, max)?;
    Ok(usize::try_from(top_k).unwrap_or_default())
}

/// Reads `max_wait`, the longest wait for `at_least_as_fresh`: 0 to [`limits::MAX_WAIT`].
pub(in crate::services) fn max_wait_from(
    wait: Option<ProtoDuration>,
) -> Result<Option<Duration>, Invalid> {
    duration_in("max_wait", wait, Duration::ZERO, limits::MAX_WAIT)
}

/// Reads `at_least_as_fresh`; `None` for an empty token.
pub(in crate::services) fn revision_from(token: String) -> Result<Option<Revision>, Invalid> {
    if token.is_empty() {
        return Ok(None);
    }
    let revision = token.parse::<Revision>();
    revision
        .map(Some)
        .map_err(|error| Invalid::new("at_least_as_fresh", error.to_string()))
}

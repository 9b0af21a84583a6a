//! Reads the method of a search, and the revision that the index must have reached.

use std::time::Duration;

use memory_contract::proto::{
    SearchMethod, build_context_request, recall_request, search_memories_request, search_request,
};
use memory_contract::{Invalid, check, duration_in, limits};
use memory_recall::{Freshness, Method};
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

/// The `freshness` of any request.
pub(in crate::services) enum AskedFreshness {
    AtLeast(String),
    Eventual,
}

macro_rules! asked_freshness {
    ($($request:ident),+) => {$(
        impl From<$request::Freshness> for AskedFreshness {
            fn from(asked: $request::Freshness) -> Self {
                match asked {
                    $request::Freshness::AtLeastAsFresh(revision) => Self::AtLeast(revision),
                    $request::Freshness::Eventual(()) => Self::Eventual,
                }
            }
        }
    )+};
}

asked_freshness!(
    recall_request,
    search_request,
    build_context_request,
    search_memories_request
);

/// Reads `freshness`; unset means [`Freshness::Newest`].
pub(in crate::services) fn freshness_from(
    asked: Option<impl Into<AskedFreshness>>,
) -> Result<Freshness, Invalid> {
    match asked.map(Into::into) {
        None => Ok(Freshness::Newest),
        Some(AskedFreshness::Eventual) => Ok(Freshness::Eventual),
        Some(AskedFreshness::AtLeast(token)) => match token.parse::<Revision>() {
            Ok(revision) => Ok(Freshness::AtLeast(revision)),
            Err(error) => Err(Invalid::new("at_least_as_fresh", error.to_string())),
        },
    }
}

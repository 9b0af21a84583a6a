//! Reads how a search is made: its method, the revision that the index must have reached, and when
//! the query is asked.

use std::time::Duration;

use memory_contract::proto::{self, SearchMethod, freshness::Requirement};
use memory_contract::{
    Invalid, check,
    convert::{duration_in, timestamp_of},
    limits,
};
use memory_recall::{Clock, Freshness, Method, clock};
use memory_store::Revision;
use time::OffsetDateTime;

/// Reads `method`.
pub fn method_from(method: i32) -> Result<Method, Invalid> {
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
pub fn search_top_k_from(top_k: Option<i32>) -> Result<usize, Invalid> {
    let (default, max) = (limits::SEARCH_TOP_K, limits::TOP_K_MAX);
    let top_k = check::range_or("top_k", top_k, default, 1, max)?;
    Ok(usize::try_from(top_k).unwrap_or_default())
}

/// Reads `query_time`; unset means now, in UTC.
pub fn clock_from(asked: Option<proto::QueryTime>) -> Result<Clock, Invalid> {
    let proto::QueryTime {
        reference_time,
        time_zone,
    } = asked.unwrap_or_default();
    let within = |invalid: Invalid| invalid.within("query_time");
    let reference = timestamp_of("reference_time", reference_time).map_err(within)?;
    let zone = check::text("time_zone", time_zone, limits::TIME_ZONE_CHARS).map_err(within)?;
    let reference = reference.unwrap_or_else(OffsetDateTime::now_utc);
    clock(reference, &zone)
        .map_err(|unknown| within(Invalid::new("time_zone", unknown.to_string())))
}

/// Reads `freshness` and its wait; unset means [`Freshness::Newest`].
pub fn freshness_from(asked: Option<proto::Freshness>) -> Result<(Freshness, Duration), Invalid> {
    let proto::Freshness {
        requirement,
        max_wait,
    } = asked.unwrap_or_default();
    let within = |invalid: Invalid| invalid.within("freshness");
    let wait = duration_in("max_wait", max_wait, Duration::ZERO, limits::MAX_WAIT);
    let wait = wait.map_err(within)?.unwrap_or(limits::DEFAULT_WAIT);
    let freshness = match requirement {
        None => Freshness::Newest,
        Some(Requirement::Eventual(())) => Freshness::Eventual,
        Some(Requirement::AtLeastAsFresh(token)) => match token.parse::<Revision>() {
            Ok(revision) => Freshness::AtLeast(revision),
            Err(error) => {
                return Err(within(Invalid::new("at_least_as_fresh", error.to_string())));
            }
        },
    };
    Ok((freshness, wait))
}

//! Prefers messages of the times that a query names.

use std::collections::HashMap;

use memory_contract::{MessageId, limits, message::MessageFilter};
use memory_times::{Clock, Timestamp, UnknownZone};
use time::OffsetDateTime;

use crate::query::{NamedTime, RecallQuery};
use crate::rank::Ranked;

/// How much it counts that a message is of a named time, and how high it ranks among these, 0.0 to
/// 1.0; the rest is its rank among all.
const SHARE: f32 = 0.6;
/// The part of [`SHARE`] of a message that ranks lowest among those of the time. Of few messages
/// even the lowest may be the answer.
const LEAST: f32 = 0.25;

/// The past times that a query names, in its order: at most [`limits::NAMED_TIMES`].
pub(super) fn past_times(query: &RecallQuery) -> Vec<NamedTime> {
    let Some(clock) = &query.clock else {
        return Vec::new();
    };
    let read = clock.named_times(&query.query).into_iter();
    let past = read.filter(|time| time.start < clock.reference());
    let named = past.filter_map(|time| {
        Some(NamedTime {
            text: query.query.get(time.text)?.to_owned(),
            start: moment(time.start)?,
            end: moment(time.end)?,
        })
    });
    named.take(limits::NAMED_TIMES).collect()
}

/// When and where a query is asked. `zone`: a name of the IANA database; empty: UTC.
///
/// # Errors
/// The database has no such zone.
pub fn clock(asked: OffsetDateTime, zone: &str) -> Result<Clock, UnknownZone> {
    let asked = Timestamp::from_nanosecond(asked.unix_timestamp_nanos());
    // All years of the contract are within its range.
    Clock::new(asked.unwrap_or(Timestamp::MAX), zone)
}

fn moment(time: Timestamp) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp_nanos(time.as_nanosecond()).ok()
}

/// A filter that also requires messages from the first to the last of the times; `None` without a
/// time, or if nothing passes it.
pub(super) fn during(filter: &MessageFilter, times: &[NamedTime]) -> Option<MessageFilter> {
    let start = times.iter().map(|time| time.start).min()?;
    let end = times.iter().map(|time| time.end).max()?;
    let start = filter.start.map_or(start, |given| given.max(start));
    let end = filter.end.map_or(end, |given| given.min(end));
    (start < end).then(|| MessageFilter {
        start: Some(start),
        end: Some(end),
        ..filter.clone()
    })
}

/// Weighs a ranking of all candidates by that of the named times, `then`, too, and adds what it lacks.
pub(super) fn prefer(ranked: &mut Vec<Ranked>, then: Vec<Ranked>) {
    let weights = then.iter().map(|one| (one.id, one.weight));
    let mut weights: HashMap<MessageId, f32> = weights.collect();
    let then_weight = |weight: f32| SHARE * (LEAST + (1.0 - LEAST) * weight);
    for one in &mut *ranked {
        let own = weights.remove(&one.id).map_or(0.0, then_weight);
        one.weight = (1.0 - SHARE) * one.weight + own;
    }
    let others = then.into_iter();
    let others = others.filter(|one| weights.contains_key(&one.id));
    ranked.extend(others.map(|one| Ranked {
        weight: then_weight(one.weight),
        ..one
    }));
    ranked.sort_by(|left, right| right.weight.total_cmp(&left.weight));
}

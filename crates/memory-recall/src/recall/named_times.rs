//! Prefers messages of the times that a query names.

use std::collections::HashMap;

use memory_contract::{MessageId, limits, message::MessageFilter};
use memory_times::{Clock, Timestamp, UnknownZone};
use time::{Duration, OffsetDateTime};

use crate::query::{NamedTime, RecallQuery};
use crate::rank::Ranked;

/// How much it counts that a message is of a time that is named by its distance from now, such as
/// "yesterday", 0.0 to 1.0; its rank among all messages is the rest.
/// docs/notes/recall-quality.md has the figures.
const RELATIVE_SHARE: f32 = 0.4;
/// The same for a date, a month or a year, which say when something happened rather than when it was
/// told.
const CALENDAR_SHARE: f32 = 0.2;
/// How long after a date, a month or a year people tell what happened then.
const TOLD_WITHIN: Duration = Duration::days(3);

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
            is_of_calendar: time.is_of_calendar,
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

/// A filter that also requires messages from the first to the last of the times, and of the days in
/// which people tell of them; `None` without a time, or if nothing passes it.
pub(super) fn during(filter: &MessageFilter, times: &[NamedTime]) -> Option<MessageFilter> {
    let start = times.iter().map(|time| time.start).min()?;
    let end = times.iter().map(told_by).max()?;
    let start = filter.start.map_or(start, |given| given.max(start));
    let end = filter.end.map_or(end, |given| given.min(end));
    (start < end).then(|| MessageFilter {
        start: Some(start),
        end: Some(end),
        ..filter.clone()
    })
}

fn told_by(time: &NamedTime) -> OffsetDateTime {
    match time.is_of_calendar {
        true => time.end.saturating_add(TOLD_WITHIN),
        false => time.end,
    }
}

/// Weighs a ranking of all candidates by that of the named times, `then`, too, and adds what it lacks.
/// A message of these times gains in proportion to its relevance, compared with the most relevant one
/// of all, so that those of a day on which nothing answers the query gain little.
pub(super) fn prefer(ranked: &mut Vec<Ranked>, then: Vec<Ranked>, times: &[NamedTime]) {
    let share = match times.iter().any(|time| time.is_of_calendar) {
        true => CALENDAR_SHARE,
        false => RELATIVE_SHARE,
    };
    let relevances = ranked.iter().chain(&then).filter_map(|one| one.relevance);
    let best = relevances.fold(f32::MIN_POSITIVE, f32::max);
    // That of a message that waits to be indexed is not known.
    let gain = |one: &Ranked| share * one.relevance.map_or(1.0, |relevance| relevance / best);
    let gains = then.iter().map(|one| (one.id, gain(one)));
    let mut gains: HashMap<MessageId, f32> = gains.collect();
    let least = ranked.last().map_or(0.0, |one| one.weight);
    for one in &mut *ranked {
        one.weight = (1.0 - share) * one.weight + gains.remove(&one.id).unwrap_or_default();
    }
    let others = then.into_iter().filter_map(|one| {
        let weight = (1.0 - share) * least + gains.get(&one.id)?;
        Some(Ranked { weight, ..one })
    });
    ranked.extend(others);
    ranked.sort_by(|left, right| right.weight.total_cmp(&left.weight));
}

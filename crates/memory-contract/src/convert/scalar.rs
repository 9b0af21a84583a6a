//! Converts times, durations and numbers.

use std::time::Duration;

use prost_types::{Duration as ProtoDuration, Timestamp};
use time::OffsetDateTime;

use crate::{Invalid, duration_text::format_duration};

/// Sends a time.
pub fn timestamp(time: OffsetDateTime) -> Timestamp {
    Timestamp {
        seconds: time.unix_timestamp(),
        nanos: i32::try_from(time.nanosecond()).unwrap_or_default(),
    }
}

/// Checks that the `end_time` of a period is later than its `start_time`, if both are set.
///
/// # Errors
/// An end at or before the start.
pub fn check_period(
    start: Option<OffsetDateTime>,
    end: Option<OffsetDateTime>,
) -> Result<(), Invalid> {
    check_period_of("", start, end)
}

/// As [`check_period`], for fields whose names begin with `prefix`.
///
/// # Errors
/// An end at or before the start.
pub fn check_period_of(
    prefix: &str,
    start: Option<OffsetDateTime>,
    end: Option<OffsetDateTime>,
) -> Result<(), Invalid> {
    match start.zip(end) {
        Some((start, end)) if start >= end => Err(Invalid::new(
            format!("{prefix}end_time"),
            format!("must be later than {prefix}start_time"),
        )),
        _ => Ok(()),
    }
}

/// Reads a time in the years 1 to 9999, rounded down to the microsecond.
///
/// # Errors
/// A time out of that range, or nanoseconds of a second or more.
pub fn timestamp_of(
    field: &str,
    value: Option<Timestamp>,
) -> Result<Option<OffsetDateTime>, Invalid> {
    let Some(Timestamp { seconds, nanos }) = value else {
        return Ok(None);
    };
    let invalid = || Invalid::new(field, "must be a time in the years 1 to 9999");
    if !(0..1_000_000_000).contains(&nanos) {
        return Err(invalid());
    }
    // Postgres stores microseconds: rounding here makes the first answer equal to later
    // reads.
    let micros = i64::from(nanos / 1_000) * 1_000;
    let time = OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| invalid())?
        + time::Duration::nanoseconds(micros);
    if !(1..=9999).contains(&time.year()) {
        return Err(invalid());
    }
    Ok(Some(time))
}

/// Reads a duration between `min` and `max`.
///
/// # Errors
/// A duration out of that range.
pub fn duration_in(
    field: &str,
    value: Option<ProtoDuration>,
    min: Duration,
    max: Duration,
) -> Result<Option<Duration>, Invalid> {
    let Some(value) = value else {
        return Ok(None);
    };
    let ProtoDuration { seconds, nanos } = value;
    // Not prost's own conversion, which overflows at the smallest number.
    let seconds = u64::try_from(seconds).ok();
    let nanos = u32::try_from(nanos)
        .ok()
        .filter(|nanos| *nanos < 1_000_000_000);
    seconds
        .zip(nanos)
        .map(|(seconds, nanos)| Duration::new(seconds, nanos))
        .filter(|duration| (min..=max).contains(duration))
        .map(Some)
        .ok_or_else(|| {
            let (min, max) = (format_duration(min), format_duration(max));
            Invalid::new(field, format!("must be {min} to {max}"))
        })
}

/// Sends a duration, rounded down to the millisecond.
pub fn duration(duration: Duration) -> ProtoDuration {
    ProtoDuration {
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(duration.subsec_millis()).unwrap_or_default() * 1_000_000,
    }
}

/// Sends a duration to the nanosecond.
pub fn exact_duration(duration: Duration) -> ProtoDuration {
    ProtoDuration {
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(duration.subsec_nanos()).unwrap_or_default(),
    }
}

/// Reads a number between `min` and `max`.
///
/// # Errors
/// A number out of that range, or NaN.
pub fn optional_float(
    field: &str,
    value: Option<f32>,
    min: f32,
    max: f32,
) -> Result<Option<f32>, Invalid> {
    match value {
        Some(number) if !(min..=max).contains(&number) => Err(Invalid::new(
            field,
            format!("must be {min} to {max}, is {number}"),
        )),
        other => Ok(other),
    }
}

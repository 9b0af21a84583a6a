//! Durations as people write them: `90d`, `1h30m`, `1.5s`, `250ms`.
//!
//! Configuration structs use the module with serde:
//! `#[serde(with = "memory_contract::duration_text")]`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

const LONG_UNITS: [(&str, u64); 3] = [("d", 86_400), ("h", 3_600), ("m", 60)];

/// Shows a duration; [`parse_duration`] reads the same duration back.
pub fn format_duration(duration: Duration) -> String {
    let nanos = duration.subsec_nanos();
    let mut seconds = duration.as_secs();
    match (seconds, nanos) {
        (0, 0) => return "0s".to_owned(),
        (0, 1_000_000..) => return decimal(nanos / 1_000_000, nanos % 1_000_000, 6) + "ms",
        (0, 1_000..) => return decimal(nanos / 1_000, nanos % 1_000, 3) + "us",
        (0, _) => return format!("{nanos}ns"),
        _ => {}
    }
    let mut text = String::new();
    for (unit, size) in LONG_UNITS {
        let count = seconds / size;
        seconds %= size;
        if count > 0 {
            text += &format!("{count}{unit}");
        }
    }
    if seconds > 0 || nanos > 0 {
        text += &decimal(seconds, nanos, 9);
        text.push('s');
    }
    text
}

/// A number with `places` decimals, without zeros at its end.
fn decimal(whole: impl std::fmt::Display, fraction: u32, places: usize) -> String {
    match fraction {
        0 => whole.to_string(),
        fraction => format!("{whole}.{fraction:0places$}")
            .trim_end_matches('0')
            .to_owned(),
    }
}

/// Reads a duration such as `90d`, `1h 30m` or `250ms`.
///
/// # Errors
/// Text that is empty, has an unknown unit, or is out of range.
pub fn parse_duration(text: &str) -> Result<Duration, humantime::DurationError> {
    humantime::parse_duration(text)
}

/// Writes a duration with [`format_duration`].
///
/// # Errors
/// Only those of the serializer.
pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format_duration(*duration))
}

/// Reads a duration with [`parse_duration`].
///
/// # Errors
/// Anything but the text of a duration.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map_err(D::Error::custom)
}

/// The same for an optional duration: `#[serde(with = "memory_contract::duration_text::option")]`.
pub mod option {
    use super::{Deserialize, Deserializer, Duration, Serializer};

    /// Writes a duration, or nothing.
    ///
    /// # Errors
    /// Only those of the serializer.
    pub fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => super::serialize(duration, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a duration, or nothing.
    ///
    /// # Errors
    /// Anything but the text of a duration.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        #[derive(Deserialize)]
        struct Text(#[serde(with = "super")] Duration);

        Ok(Option::<Text>::deserialize(deserializer)?.map(|Text(duration)| duration))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, duration) in [
            ("0s", Duration::ZERO),
            ("250ms", Duration::from_millis(250)),
            ("1.5s", Duration::from_millis(1_500)),
            ("20s", Duration::from_secs(20)),
            ("1h30m", Duration::from_secs(5_400)),
            ("1d", Duration::from_secs(86_400)),
            ("90d", Duration::from_secs(90 * 86_400)),
            ("12.3ms", Duration::from_micros(12_300)),
            ("3us", Duration::from_micros(3)),
            ("1.007us", Duration::from_nanos(1_007)),
            ("7ns", Duration::from_nanos(7)),
            ("1d1h1m1.000000001s", Duration::new(90_061, 1)),
        ] {
            assert_eq!(format_duration(duration), text);
            assert_eq!(parse_duration(text), Ok(duration));
        }
    }

    proptest! {
        #[test]
        fn every_duration_is_read_back(seconds in 0..=u64::from(u32::MAX), nanos in 0_u32..1_000_000_000) {
            for duration in [
                Duration::new(seconds, nanos),
                Duration::from_secs(seconds),
                Duration::from_nanos(nanos.into()),
                Duration::from_millis(seconds),
            ] {
                prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
            }
        }
    }
}

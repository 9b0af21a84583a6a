//! The pause that a service asks for.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use time::{OffsetDateTime, format_description::well_known::Rfc2822};

/// The longest pause that a service may ask for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(3_600);

/// The pause that an answer asks for, at most an hour: `retry-after-ms`, or `retry-after` in seconds or
/// as a date (RFC 9110, section 10.2.3). `None` if it asks for none that can be read.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |value: Option<&HeaderValue>| {
        value.and_then(|value| value.to_str().ok().map(|text| text.trim().to_owned()))
    };
    let bounded = |seconds: f64| {
        let seconds = seconds.clamp(0.0, LONGEST_RETRY_AFTER.as_secs_f64());
        Duration::try_from_secs_f64(seconds).ok()
    };
    let milliseconds = text(headers.get("retry-after-ms")).and_then(|ms| ms.parse::<f64>().ok());
    if let Some(milliseconds) = milliseconds {
        return bounded(milliseconds / 1_000.0);
    }
    let asked = text(headers.get(RETRY_AFTER))?;
    if let Ok(seconds) = asked.parse::<f64>() {
        return bounded(seconds);
    }
    let at = OffsetDateTime::parse(&asked, &Rfc2822).ok()?;
    bounded((at - OffsetDateTime::from(now)).as_seconds_f64())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn asked(name: &'static str, value: &'static str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        // Fri, 20 Nov 2026 12:00:00 GMT
        retry_after(&headers, UNIX_EPOCH + Duration::from_secs(1_795_176_000))
    }

    #[test]
    fn a_provider_may_ask_for_a_pause_in_three_ways() {
        assert_eq!(asked("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(
            asked("retry-after-ms", "1500"),
            Some(Duration::from_millis(1_500))
        );
        assert_eq!(
            asked("retry-after", "Fri, 20 Nov 2026 12:00:30 GMT"),
            Some(Duration::from_secs(30))
        );
    }

    #[test]
    fn nonsense_and_endless_pauses_are_bounded() {
        assert_eq!(asked("retry-after", "soon"), None);
        assert_eq!(asked("retry-after", "-3"), Some(Duration::ZERO));
        assert_eq!(asked("retry-after", "1e300"), Some(LONGEST_RETRY_AFTER));
        assert_eq!(
            asked("retry-after", "Fri, 20 Nov 2020 12:00:30 GMT"),
            Some(Duration::ZERO)
        );
    }
}

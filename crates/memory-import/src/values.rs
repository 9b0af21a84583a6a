//! Converts JSON values.

use memory_contract::json::JsonObject;
use prost_types::Timestamp;
use serde_json::{Map, Value as Json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// An object as JSON text; empty without fields.
pub(crate) fn object_text(fields: &Map<String, Json>) -> String {
    JsonObject::from(fields.clone()).into_text()
}

/// A time as RFC 3339 text, or as seconds (or milliseconds) since 1970.
pub(crate) fn time_from(json: &Json) -> Result<Timestamp, String> {
    let wrong = || format!("{json} is not a time such as \"2025-03-01T09:00:00Z\"");
    let nanos = match json {
        Json::String(text) => OffsetDateTime::parse(text, &Rfc3339)
            .map_err(|_| wrong())?
            .unix_timestamp_nanos(),
        Json::Number(number) => {
            let number = number.as_f64().ok_or_else(wrong)?;
            let seconds = if number.abs() > 1e11 {
                number / 1e3
            } else {
                number
            };
            (seconds * 1e3).round() as i128 * 1_000_000
        }
        _ => return Err(wrong()),
    };
    Ok(Timestamp {
        seconds: i64::try_from(nanos.div_euclid(1_000_000_000)).map_err(|_| wrong())?,
        nanos: nanos.rem_euclid(1_000_000_000) as i32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_becomes_text_with_all_its_digits() {
        let json = json!({"a": [1, 2.5, null, true], "b": {"c": "d"}, "id": u64::MAX});
        let text = object_text(json.as_object().unwrap());
        assert!(text.contains("18446744073709551615"), "{text}");
        assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), json);
        assert_eq!(object_text(&Map::new()), "");
    }

    #[test]
    fn times_are_read_in_the_usual_forms() {
        let check = |json: Json, seconds: i64, nanos: i32| {
            assert_eq!(time_from(&json), Ok(Timestamp { seconds, nanos }), "{json}");
        };
        check(json!("1970-01-02T00:00:00Z"), 86_400, 0);
        check(
            json!("2025-03-01T10:00:00.5+01:00"),
            1_740_819_600,
            500_000_000,
        );
        check(json!(1_740_819_600), 1_740_819_600, 0);
        check(json!(1_740_819_600_250_i64), 1_740_819_600, 250_000_000);
        for wrong in [json!("yesterday"), json!(null), json!([1])] {
            assert!(time_from(&wrong).is_err(), "{wrong}");
        }
    }
}

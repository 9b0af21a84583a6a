//! Converts between JSON and `google.protobuf.Struct` and `Value`.

use std::collections::BTreeMap;

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Timestamp, Value};
use serde_json::Value as Json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// JSON as a protobuf value.
pub fn value_from(json: &Json) -> Value {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(value) => Kind::BoolValue(*value),
        Json::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
        Json::String(text) => Kind::StringValue(text.clone()),
        Json::Array(items) => Kind::ListValue(ListValue {
            values: items.iter().map(value_from).collect(),
        }),
        Json::Object(fields) => Kind::StructValue(struct_from(fields)),
    };
    Value { kind: Some(kind) }
}

/// A JSON object as a protobuf struct.
pub fn struct_from(fields: &serde_json::Map<String, Json>) -> Struct {
    let fields: BTreeMap<_, _> = fields
        .iter()
        .map(|(key, value)| (key.clone(), value_from(value)))
        .collect();
    Struct { fields }
}

/// A protobuf value as JSON.
pub fn json_of(value: &Value) -> Json {
    match &value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::BoolValue(value)) => Json::Bool(*value),
        // Protobuf's numbers are floats; a whole one is shown as such.
        Some(Kind::NumberValue(number)) if number.fract() == 0.0 && number.abs() < 9e15 => {
            Json::from(*number as i64)
        }
        Some(Kind::NumberValue(number)) => Json::from(*number),
        Some(Kind::StringValue(text)) => Json::String(text.clone()),
        Some(Kind::ListValue(list)) => list.values.iter().map(json_of).collect(),
        Some(Kind::StructValue(fields)) => Json::Object(
            fields
                .fields
                .iter()
                .map(|(key, value)| (key.clone(), json_of(value)))
                .collect(),
        ),
    }
}

/// A time as RFC 3339 text, or as seconds (or milliseconds) since 1970.
pub fn time_from(json: &Json) -> Result<Timestamp, String> {
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
    fn json_survives_the_way_through_protobuf() {
        let json = json!({"a": [1, 2.5, null, true], "b": {"c": "d"}, "big": -42});
        assert_eq!(json_of(&value_from(&json)), json);
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

//! Converts `google.protobuf.Struct` and `Value` to JSON and back.

use std::collections::HashMap;

use prost_types::{ListValue, Struct, Value as ProtoValue, value::Kind};
use serde::de::IgnoredAny;
use serde_json::{Map, Number, Value};

use crate::{Invalid, check, limits};

/// Integers up to here are exact in a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads an object of at most `max_bytes` as JSON, `max_depth` levels deep.
pub fn object(
    field: &str,
    value: Option<Struct>,
    max_bytes: usize,
    max_depth: usize,
) -> Result<Map<String, Value>, Invalid> {
    let Some(value) = value else {
        return Ok(Map::new());
    };
    let mut budget = max_bytes;
    let map = fields(field, value, max_depth, &mut budget, max_bytes, max_depth)?;
    Ok(map)
}

/// Reads JSON text of one value: at most 256 KiB, 32 levels deep. It is kept as it is.
pub fn text(field: &str, text: String) -> Result<String, Invalid> {
    let text = check::long_text(field, text, limits::TEXT_BYTES)?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Invalid::new(field, format!("must be JSON: {error}")))?;
    if depth_of(&value) > limits::JSON_DEPTH {
        return Err(Invalid::new(
            field,
            format!("must be at most {} levels deep", limits::JSON_DEPTH),
        ));
    }
    Ok(text)
}

/// Reads JSON text of an object: at most 256 KiB. It is kept as it is.
pub fn object_text(field: &str, text: String) -> Result<String, Invalid> {
    let text = check::long_text(field, text, limits::TEXT_BYTES)?;
    let object = serde_json::from_str::<HashMap<String, IgnoredAny>>(&text);
    match object {
        Ok(_) => Ok(text),
        Err(error) => Err(Invalid::new(
            field,
            format!("must be a JSON object: {error}"),
        )),
    }
}

/// Whether an object is at most `max_depth` levels deep.
pub fn is_within_depth(object: &Map<String, Value>, max_depth: usize) -> bool {
    object.values().map(depth_of).max().unwrap_or(0) < max_depth
}

pub(super) fn depth_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        Value::Array(items) => 1 + items.iter().map(depth_of).max().unwrap_or(0),
        Value::Object(object) => 1 + object.values().map(depth_of).max().unwrap_or(0),
    }
}

/// Sends an object.
pub fn to_struct(map: Map<String, Value>) -> Struct {
    Struct {
        fields: map
            .into_iter()
            .map(|(key, value)| (key, to_value(value)))
            .collect(),
    }
}

/// Sends an object; an empty one is left out.
pub fn to_optional_struct(map: Map<String, Value>) -> Option<Struct> {
    (!map.is_empty()).then(|| to_struct(map))
}

/// Sends a value.
pub fn to_value(value: Value) -> ProtoValue {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(flag) => Kind::BoolValue(flag),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
        Value::String(text) => Kind::StringValue(text),
        Value::Array(items) => Kind::ListValue(ListValue {
            values: items.into_iter().map(to_value).collect(),
        }),
        Value::Object(map) => Kind::StructValue(to_struct(map)),
    };
    ProtoValue { kind: Some(kind) }
}

fn fields(
    field: &str,
    value: Struct,
    depth: usize,
    budget: &mut usize,
    max_bytes: usize,
    max_depth: usize,
) -> Result<Map<String, Value>, Invalid> {
    if depth == 0 {
        return Err(Invalid::new(
            field,
            format!("must be at most {max_depth} levels deep"),
        ));
    }
    spend(field, 2, budget, max_bytes)?;
    let mut map = Map::new();
    for (key, inner) in value.fields {
        check::no_nul(field, &key)?;
        // Quotes, colon and comma.
        spend(field, key.len() + 4, budget, max_bytes)?;
        let inner = any(field, inner, depth - 1, budget, max_bytes, max_depth)?;
        map.insert(key, inner);
    }
    Ok(map)
}

fn any(
    field: &str,
    value: ProtoValue,
    depth: usize,
    budget: &mut usize,
    max_bytes: usize,
    max_depth: usize,
) -> Result<Value, Invalid> {
    Ok(match value.kind {
        None | Some(Kind::NullValue(_)) => {
            spend(field, 4, budget, max_bytes)?;
            Value::Null
        }
        Some(Kind::BoolValue(flag)) => {
            spend(field, 5, budget, max_bytes)?;
            Value::Bool(flag)
        }
        Some(Kind::NumberValue(number)) => {
            spend(field, 8, budget, max_bytes)?;
            Value::Number(self::number(field, number)?)
        }
        Some(Kind::StringValue(text)) => {
            check::no_nul(field, &text)?;
            spend(field, text.len() + 2, budget, max_bytes)?;
            Value::String(text)
        }
        Some(Kind::ListValue(list)) => {
            if depth == 0 {
                return Err(Invalid::new(
                    field,
                    format!("must be at most {max_depth} levels deep"),
                ));
            }
            spend(field, 2, budget, max_bytes)?;
            let mut items = Vec::with_capacity(list.values.len());
            for item in list.values {
                spend(field, 1, budget, max_bytes)?;
                items.push(any(field, item, depth - 1, budget, max_bytes, max_depth)?);
            }
            Value::Array(items)
        }
        Some(Kind::StructValue(inner)) => {
            Value::Object(fields(field, inner, depth, budget, max_bytes, max_depth)?)
        }
    })
}

/// Keeps integers: 5 is stored as 5 and not as 5.0.
fn number(field: &str, number: f64) -> Result<Number, Invalid> {
    if number.fract() == 0.0
        && number.abs() < EXACT
        && !(number == 0.0 && number.is_sign_negative())
    {
        #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
        return Ok(Number::from(number as i64));
    }
    Number::from_f64(number)
        .ok_or_else(|| Invalid::new(field, "must not contain NaN or infinite numbers"))
}

fn spend(field: &str, bytes: usize, budget: &mut usize, max_bytes: usize) -> Result<(), Invalid> {
    match budget.checked_sub(bytes) {
        Some(rest) => {
            *budget = rest;
            Ok(())
        }
        None => Err(Invalid::new(
            field,
            format!("must have at most {max_bytes} bytes as JSON"),
        )),
    }
}

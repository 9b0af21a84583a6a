//! Renders contexts into chat formats. Each has the content of the blocks and nothing
//! else.

mod anthropic;
mod openai;
mod pairs;
mod text;

pub use anthropic::AnthropicPrompt;

pub(super) use anthropic::anthropic;
pub(super) use openai::openai;
pub(super) use text::text;

use serde_json::{Map, Value};

/// The fields of a `json!` object.
fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

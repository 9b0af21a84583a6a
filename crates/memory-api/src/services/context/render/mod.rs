//! The forms in which models are given a context. Each holds what the blocks
//! hold, and nothing else.

mod anthropic;
mod openai;
mod pairs;
mod text;
pub(in crate::services) mod words;

pub(super) use anthropic::anthropic;
pub(super) use openai::openai;
pub(super) use text::text;

use prost_types::Struct;
use serde_json::Value;

/// An object as the wire has it.
fn object(value: Value) -> Struct {
    match value {
        Value::Object(fields) => memory_contract::to_struct(fields),
        _ => Struct::default(),
    }
}

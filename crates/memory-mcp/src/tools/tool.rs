//! What every tool is.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::Api;
use crate::failure::Failure;
use crate::owner::Owner;

/// The API and the owner of one call.
pub(crate) struct Call {
    pub(crate) api: Api,
    pub(crate) owner: Owner,
}

/// What a tool does to stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    Adds,
    /// Adds, and may retire something older.
    Corrects,
    Deletes,
}

/// A tool, implemented by its arguments.
pub(super) trait MemoryTool: DeserializeOwned + JsonSchema + Send + 'static {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// When to call it, and what comes back.
    const DESCRIPTION: &'static str;
    const EFFECT: Effect;
    type Answer: Serialize + JsonSchema + 'static;

    /// Carries it out.
    fn run(self, call: &Call) -> impl Future<Output = Result<Self::Answer, Failure>> + Send;

    /// The answer as text for a model.
    fn text(answer: &Self::Answer) -> String;
}

/// Checks a number against the bounds in the schema.
pub(super) fn within(name: &str, value: i32, bounds: RangeInclusive<i32>) -> Result<i32, Failure> {
    match bounds.contains(&value) {
        true => Ok(value),
        false => Err(Failure::input(format!(
            "`{name}` must be {} to {}",
            bounds.start(),
            bounds.end()
        ))),
    }
}

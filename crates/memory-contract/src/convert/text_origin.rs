//! Who wrote a text: stored as one word, sent as an origin and a model's name.

use crate::proto::TextOrigin;

/// What is stored of a text that the built-in algorithm wrote.
pub(super) const EXTRACTIVE: &str = "extractive";

/// Who wrote a text, and the model's name; empty if it was no model.
pub fn text_origin(made_by: &str) -> (TextOrigin, String) {
    let origin = match made_by {
        EXTRACTIVE => TextOrigin::Extractive,
        "caller" => TextOrigin::Caller,
        "worker" => TextOrigin::Worker,
        model => return (TextOrigin::Model, model.to_owned()),
    };
    (origin, String::new())
}

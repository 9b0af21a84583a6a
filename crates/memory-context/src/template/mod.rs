//! Callers' templates, run in a sandbox.

mod query;
mod sandbox;

pub use query::QueryTemplate;
pub use sandbox::RENDERED_BYTES;

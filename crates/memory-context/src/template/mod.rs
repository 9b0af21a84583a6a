//! Callers' templates, run in a sandbox.

mod message;
mod query;
mod sandbox;

pub use message::MessageTemplate;
pub use query::QueryTemplate;
pub use sandbox::RENDERED_BYTES;

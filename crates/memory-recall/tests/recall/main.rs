//! Recall and indexing over a real store and both index backends.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that fails may say so by panicking"
)]

mod conformance;
mod embedder;
mod groups;
mod hooked;
mod indexer;
mod memories;
mod paired;
mod pending;
mod recall;
mod slow_worker;
mod tenants;
mod world;

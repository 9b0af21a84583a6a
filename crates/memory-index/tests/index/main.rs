//! Indexing over a real store and both index backends.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that fails may say so by panicking"
)]

mod conformance;
mod differential;
mod groups;
#[allow(dead_code, reason = "the tests of recall use the rest")]
mod hooked;
mod indexer;
mod indexes;
mod point;
mod simulation;
mod slow_worker;
#[allow(dead_code, reason = "the tests of recall use the rest")]
mod world;

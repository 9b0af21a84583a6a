//! Recall over a real store and both index backends.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that fails may say so by panicking"
)]

#[path = "../../../memory-index/tests/index/hooked.rs"]
#[allow(dead_code, reason = "the tests of the index use the rest")]
mod hooked;
mod memories;
mod pending;
#[path = "../../../memory-index/tests/index/point.rs"]
#[allow(dead_code, reason = "the tests of the index use the rest")]
mod point;
mod recall;
mod service;
mod tenants;
#[path = "../../../memory-index/tests/index/world.rs"]
#[allow(dead_code, reason = "the tests of the index use the rest")]
mod world;

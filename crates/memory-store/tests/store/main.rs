//! Tests of the store against a private Postgres cluster: one for all tests, with a
//! database for each.

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

use memory_testing as cluster;

mod access;
mod appending;
mod concurrent;
mod connecting;
mod contents;
mod deletions;
mod distill;
mod distill_model;
mod documents;
mod ephemeral;
mod erasures;
mod fair;
mod grouped;
mod history;
mod index_collections;
mod isolation;
mod listing;
mod memories;
mod nodes;
mod outbox;
mod paths;
mod plans;
mod queries;
mod recall;
mod schema;
mod simulation;
mod subscriptions;
mod threads;
mod usage;
mod watching;
mod windows;
mod working;
mod working_model;
mod world;

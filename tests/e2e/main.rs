//! All end-to-end tests. `README.md` says how they are run.
#![deny(dead_code, reason = "a test without #[apply(trial)] would never run")]
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests"
)]

mod access;
mod branches;
mod chaos;
mod clients;
mod console;
mod context;
mod distill;
mod documents;
mod erasure;
mod files;
mod formats;
mod history;
mod http;
mod interfaces;
mod isolation;
mod jobs;
mod language_models;
mod mcp;
mod memories;
mod memory_files;
mod messages;
mod nodes;
mod pages;
mod participants;
mod plans;
mod policies;
mod proxy;
mod recall;
mod requests;
mod servers;
mod subscriptions;
mod table;
mod threads;
mod transfer;
mod watch;
mod working;

use std::process::ExitCode;

use recollect_tests::{BULK, Client, Key, PLAIN, SHARED};

fn main() -> ExitCode {
    recollect_tests::run_trials()
}

/// A caller of the server with a model, for tenant `acme`.
async fn acme() -> Client {
    SHARED.client(Key::Acme).await
}

/// A caller of the server without a model, for tests that need none.
async fn plain() -> Client {
    PLAIN.client(Key::Acme).await
}

/// A caller of the server for tests that do not wait for the index.
async fn bulk() -> Client {
    BULK.client(Key::Acme).await
}

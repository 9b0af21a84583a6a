//! All end-to-end tests. `README.md` says how they are run.
#![deny(dead_code, reason = "a test without #[apply(trial)] would never run")]
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod access;
mod append;
mod branches;
mod chat_rules;
mod cli;
mod context;
mod context_formats;
mod context_limits;
mod context_nodes;
mod context_prompt;
mod context_recalled;
mod coverage;
mod crash;
mod degraded;
mod derived;
mod diary;
mod distill;
mod distilled;
mod embedded;
mod ephemeral;
mod erasing;
mod explain;
mod external;
mod files;
mod foreign;
mod freshness;
mod gone;
mod heads;
mod history;
mod isolation;
mod language_models;
mod ledger;
mod limits;
mod listing;
mod memories;
mod models;
mod nodes;
mod nodes_context;
mod nodes_objects;
mod nodes_outage;
mod nodes_processes;
mod nodes_s3;
mod nodes_turns;
mod operations;
mod oversized;
mod parts;
mod plans;
mod policies;
mod qdrant;
mod recall;
mod search;
mod sessions;
mod threads;
mod tools;
mod transfer;
mod two_databases;
mod watch;
mod watch_processes;
mod windows;
mod working;
mod wrong_values;

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

/// A caller of the server where nobody waits for the index.
async fn bulk() -> Client {
    BULK.client(Key::Acme).await
}

//! All end-to-end tests. `README.md` says how they are run.
#![deny(dead_code, reason = "a test that is not registered never runs")]
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod append;
mod branches;
mod chat_rules;
mod cli;
mod context;
mod context_formats;
mod context_limits;
mod context_prompt;
mod context_recalled;
mod coverage;
mod crash;
mod degraded;
mod diary;
mod embedded;
mod erasing;
mod explain;
mod external;
mod freshness;
mod history;
mod isolation;
mod limits;
mod listing;
mod operations;
mod oversized;
mod parts;
mod qdrant;
mod recall;
mod search;
mod threads;
mod tools;
mod transfer;

use std::process::ExitCode;

use recollect_tests::{Client, Key, PLAIN, SHARED};

fn main() -> ExitCode {
    let trials = [
        // Those that start servers of their own take longest, so they come first.
        crash::trials(),
        degraded::trials(),
        embedded::trials(),
        external::trials(),
        qdrant::trials(),
        freshness::trials(),
        cli::trials(),
        tools::trials(),
        threads::trials(),
        append::trials(),
        branches::trials(),
        history::trials(),
        oversized::trials(),
        parts::trials(),
        listing::trials(),
        erasing::trials(),
        transfer::trials(),
        recall::trials(),
        explain::trials(),
        search::trials(),
        context::trials(),
        context_formats::trials(),
        context_limits::trials(),
        context_prompt::trials(),
        context_recalled::trials(),
        isolation::trials(),
        limits::trials(),
        coverage::trials(),
        operations::trials(),
    ];
    recollect_tests::main_with(trials.into_iter().flatten().collect())
}

/// A caller of the server with a model, for tenant `acme`.
async fn acme() -> Client {
    SHARED.client(Key::Acme).await
}

/// A caller of the server without a model, for tests that need none.
async fn plain() -> Client {
    PLAIN.client(Key::Acme).await
}

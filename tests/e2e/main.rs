//! All end-to-end tests. `README.md` says how they are run.
#![deny(dead_code, reason = "a test that is not registered never runs")]
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod append;
mod branches;
mod cli;
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
mod nodes;
mod nodes_objects;
mod nodes_processes;
mod nodes_s3;
mod nodes_turns;
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
        nodes_processes::trials(),
        nodes_s3::trials(),
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
        nodes::trials(),
        nodes_objects::trials(),
        nodes_turns::trials(),
        erasing::trials(),
        transfer::trials(),
        recall::trials(),
        explain::trials(),
        search::trials(),
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

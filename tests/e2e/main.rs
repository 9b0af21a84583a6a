//! All end-to-end tests. `README.md` says how they are run.
#![deny(dead_code, reason = "a test that is not registered never runs")]
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
    let trials = [
        // Those that start servers of their own take longest, so they come first.
        crash::trials(),
        degraded::trials(),
        distill::trials(),
        embedded::trials(),
        ephemeral::trials(),
        external::trials(),
        language_models::trials(),
        windows::trials(),
        two_databases::trials(),
        watch_processes::trials(),
        policies::trials(),
        nodes_outage::trials(),
        memories::trials(),
        working::trials(),
        nodes_processes::trials(),
        nodes_s3::trials(),
        qdrant::trials(),
        freshness::trials(),
        access::trials(),
        cli::trials(),
        tools::trials(),
        threads::trials(),
        append::trials(),
        sessions::trials(),
        branches::trials(),
        heads::trials(),
        gone::trials(),
        models::trials(),
        history::trials(),
        oversized::trials(),
        parts::trials(),
        files::trials(),
        listing::trials(),
        nodes::trials(),
        nodes_context::trials(),
        nodes_objects::trials(),
        nodes_turns::trials(),
        plans::trials(),
        erasing::trials(),
        transfer::trials(),
        watch::trials(),
        recall::trials(),
        explain::trials(),
        search::trials(),
        context::trials(),
        context_formats::trials(),
        context_limits::trials(),
        context_nodes::trials(),
        context_prompt::trials(),
        context_recalled::trials(),
        isolation::trials(),
        foreign::trials(),
        distilled::trials(),
        ledger::trials(),
        limits::trials(),
        wrong_values::trials(),
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

/// A caller of the server where nobody waits for the index.
async fn bulk() -> Client {
    BULK.client(Key::Acme).await
}

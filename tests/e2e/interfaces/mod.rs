//! gRPC, JSON over HTTP and MCP give the same answers. Operations are generated from seeds:
//! each write is sent by one interface, each read and each wrong request by all that have it.

mod asking;
mod operations;
mod reads;
mod refusals;
mod run;
mod shown;
mod tally;
mod texts;
mod writes;

use recollect_tests::{Options, Server, apply, trial_with_own_server};
use run::Run;
use tally::Tally;

/// The seeds of a run that nothing else is asked of.
const SEEDS: u64 = 12;

#[apply(trial_with_own_server)]
async fn grpc_json_and_mcp_give_the_same_answers_to_generated_operations() {
    // Other tests would change how rare the words of a tenant are, and so the scores.
    let (_dir, server, client) = Server::start_own(&Options::with(&[
        "embedding.kind = \"none\"",
        "index.search_timeout = \"20s\"",
    ]))
    .await;
    let mut tally = Tally::default();
    for seed in memory_testing::seeds(SEEDS) {
        let run = Run::new(&server, &client, seed, &mut tally);
        run.carry_out_all().await;
    }
    tally.check();
}

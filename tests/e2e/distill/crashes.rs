//! Distilling with several workers, and with workers that are killed.

use memory_contract::proto::LedgerState;
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, SOON, Server, apply, eventually, http_get,
    trial_with_own_server,
};

use super::ledger::verify;
use super::{database, looked_at, small, states, summarized, talk, texts_of, thread};

const PLAIN: &str = "embedding.kind = \"none\"";
const THREADS: usize = 12;

/// Threads that are to be summarized.
async fn threads(client: &Client) -> Vec<String> {
    let mut threads = Vec::new();
    for _ in 0..THREADS {
        let thread_id = thread(client, small()).await;
        client.append(&thread_id, talk("aunt", 0..16)).await;
        threads.push(thread_id);
    }
    threads
}

/// Each thread has one summary, in time, and no fault.
async fn all_done(client: &Client, threads: &[String]) {
    for thread_id in threads {
        summarized(client, thread_id, 1).await;
        let states = states(
            client,
            thread_id,
            memory_contract::proto::LedgerKind::Summary,
        )
        .await;
        assert_eq!(states.len(), 2, "{states:?}");
        assert_eq!(states[1].0, LedgerState::Raw);
        assert_eq!(states[0].1 + states[1].1, 32);
        let verified = verify(client, thread_id).await;
        assert!(verified.ok, "{verified:?}");
    }
}

#[apply(trial_with_own_server)]
async fn b05_a_server_killed_while_it_distills_continues_after_a_restart() {
    let options = Options::with(&[PLAIN, "worker.distill.lanes = 1"]);
    let (dir, server, client) = Server::start_own(&options).await;
    let threads = threads(&client).await;
    eventually("distilling is under way", SOON, async || {
        let kind = memory_contract::proto::LedgerKind::Summary;
        states(&client, &threads[0], kind).await.len() == 2
    })
    .await;
    server.kill();

    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    all_done(&client, &threads).await;
    let database = database(server.ready().line["postgres"].as_str().unwrap()).await;
    for thread_id in &threads {
        looked_at(&database, thread_id).await;
        assert_eq!(texts_of(&database, thread_id).await.len(), 1);
    }
}

/// A server on an external database. Without an index it knows nothing of other
/// workers.
fn serve(dir: &DataDir, url: &str) -> Server {
    let lines = [
        PLAIN,
        "index.url = \"http://127.0.0.1:1\"",
        "worker.distill.lease = \"1h\"",
    ];
    Server::start(dir, &Options::serve(url, &lines))
}

#[apply(trial_with_own_server)]
async fn b05_two_processes_distill_each_message_once() {
    let (cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let servers = [serve(&dir, &url), serve(&dir, &url)];
    let client = servers[0].client(Key::Acme).await;
    let threads = threads(&client).await;
    all_done(&client, &threads).await;
    let database = cluster.superuser().await;
    for thread_id in &threads {
        looked_at(&database, thread_id).await;
        assert_eq!(texts_of(&database, thread_id).await.len(), 1);
    }
    let mut made = 0.0;
    for server in &servers {
        made += summaries(server).await;
    }
    assert_eq!(made, THREADS as f64);
}

/// The summaries that a server says it has made.
async fn summaries(server: &Server) -> f64 {
    let (_, metrics) = http_get(&server.ready().metrics_addr, "/metrics").await;
    let name = "recollect_distilled_total{kind=\"summary\",made_by=\"extractive\"} ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0.0, |number| number.parse().unwrap())
}

#[apply(trial_with_own_server)]
async fn a_server_that_stops_gives_its_threads_back() {
    let (cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = serve(&dir, &url);
    let client = server.client(Key::Acme).await;
    let threads = threads(&client).await;
    assert!(server.terminate().await.success());
    // A lease would be longer than anybody waits.
    let leased = "SELECT count(*) FROM recollect.distill_jobs WHERE lease_id IS NOT NULL";
    let database = cluster.superuser().await;
    let leased: i64 = database.query_one(leased, &[]).await.unwrap().get(0);
    assert_eq!(leased, 0);

    let server = serve(&dir, &url);
    let client = server.client(Key::Acme).await;
    all_done(&client, &threads).await;
}

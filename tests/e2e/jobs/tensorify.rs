//! A user of an agent provider in the manner of Tensorify.

use memory_contract::proto::{BuildContextRequest, MemoryMode, NodeRef};
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, Qdrant, SOON, Server, apply, by_session,
    context_request, eventually, history_request, mode, session, texts, trial_with_own_server,
};
use tonic::Code;

use crate::threads::ephemeral::{get, resolve, tables_of};

/// All texts of a context, in order.
async fn context_texts(client: &Client, request: BuildContextRequest) -> String {
    let context = client.context(request).await;
    format!("{:?}", context.blocks)
}

#[apply(trial_with_own_server)]
async fn j22_an_ephemeral_session_lives_on_two_replicas_and_ends_with_both() {
    let (cluster, url) = Cluster::migrated().await;
    let qdrant = Qdrant::new();
    let dir = DataDir::new();
    // A killed replica counts as running for two minutes by default.
    let lines = [
        &*qdrant.config(),
        "ephemeral.server_grace = \"3s\"",
        "worker.expiry_interval = \"1s\"",
    ];
    let options = Options::serve(&url, &lines).objects(&dir);
    let one = Server::start(&dir, &options);
    let other = Server::start(&dir, &options);
    let replicas = [one.client(Key::Acme).await, other.client(Key::Acme).await];

    // A trial chat: a load balancer sends each call to either replica.
    let trial = session("playground", "ada", "session:trial");
    let (thread, created) = resolve(&replicas[0], trial.clone()).await;
    assert!(created && thread.ephemeral);
    let thread_id = thread.thread_id;
    let turns = [
        ("My dog is called Pixel.", "What a good name."),
        ("I live in Lisbon.", "A fine city."),
        ("Which tram goes to the castle?", "Tram 28."),
    ];
    for (number, (question, answer)) in turns.into_iter().enumerate() {
        let request = BuildContextRequest {
            policy: Some(mode(MemoryMode::Hybrid)),
            thread: by_session(trial.clone()),
            max_tokens: None,
            ..context_request(&thread_id, question)
        };
        let context = context_texts(&replicas[number % 2], request).await;
        for (earlier, _) in &turns[..number] {
            assert!(context.contains(earlier), "{number}: {context}");
        }
        let (found, created) = resolve(&replicas[number % 2], trial.clone()).await;
        assert!(!created && found.thread_id == thread_id);
        let store = &replicas[(number + 1) % 2];
        store.append_turn(&thread_id, question, answer).await;
    }
    let planner = NodeRef {
        thread: by_session(trial),
        node_id: "planner".to_owned(),
    };
    replicas[0]
        .add_node_turn(&planner, "Plan.", "Planned.")
        .await;
    replicas[1].flush_node(&planner).await;
    let key = replicas[1].object_key(&planner).await;
    let object = dir.path().join("objects").join(key);
    let all: Vec<&str> = turns.into_iter().flat_map(|(q, a)| [q, a]).collect();
    let check = async |client: &Client| {
        let history = client.call(history_request(&thread_id)).await;
        assert_eq!(texts(&history.messages), all);
        assert_eq!(
            client.node_dialogue(&planner, "").await,
            ["Plan.", "Planned."]
        );
    };
    for client in &replicas {
        check(client).await;
    }
    assert!(object.is_file());

    // A rolling upgrade: one replica after the other starts anew, and the chat goes on.
    drop(replicas);
    assert!(one.terminate().await.success(), "{}", dir.log());
    let one = Server::start(&dir, &options);
    check(&one.client(Key::Acme).await).await;
    assert!(other.terminate().await.success(), "{}", dir.log());
    let other = Server::start(&dir, &options);
    check(&other.client(Key::Acme).await).await;

    // All have stopped, one of them by a crash: nothing is left of the chat.
    one.kill();
    assert!(other.terminate().await.success(), "{}", dir.log());
    let one = Server::start(&dir, &options);
    let client = one.client(Key::Acme).await;
    eventually("the chat ends", SOON, async || {
        let found = client.threads().get_thread(get(&thread_id)).await;
        found.is_err_and(|status| status.code() == Code::NotFound)
    })
    .await;
    let database = cluster.superuser().await;
    eventually("its rows and its object are erased", SOON, async || {
        // Its audit log stays, without content.
        tables_of(&database, &thread_id).await == ["transactions"] && !object.exists()
    })
    .await;
}

//! Memories of nodes on separate servers: crashes, several processes, unavailable object
//! storage.

use std::collections::HashSet;
use std::fs;

use memory_contract::proto::{GetNodeMemoryStatusRequest, NodeRef};
use recollect_tests::{
    Cluster, DataDir, Failure, Key, Options, SOON, Server, apply, eventually, node_turn, thread_of,
    trial_with_own_server,
};
use tonic::Code;

use super::objects::{ask, flush, planner, read};

/// A server whose worker does everything at once.
fn quick() -> Options {
    Options::with(&[
        "embedding.kind = \"none\"",
        "worker.nodes.flush_after = \"50ms\"",
        "worker.nodes.interval = \"50ms\"",
        "worker.expiry_interval = \"1s\"",
    ])
}

#[apply(trial_with_own_server)]
async fn d14_an_acknowledged_turn_survives_a_crash_before_its_flush() {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (dir, server, client) = Server::start_own(&options).await;
    let node = planner(&client, "app").await;
    client.add_node_turn(&node, "1", "2").await;
    client.flush_node(&node).await;
    client.add_node_turn(&node, "3", "4").await;
    server.kill();
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let expected = ["1", "2", "3", "4"];
    assert_eq!(client.node_dialogue(&node, "").await, expected);
    let flushed = client.flush_node(&node).await;
    assert_eq!(flushed.flushed_turn_count, 1);
    assert_eq!(client.node_dialogue(&node, "").await, expected);
}

#[apply(trial_with_own_server)]
async fn d14_a_waiting_turn_is_flushed_and_a_deleted_memory_leaves_no_object() {
    let (dir, _server, client) = Server::start_own(&quick()).await;
    let (node, other) = (planner(&client, "app").await, planner(&client, "app").await);
    for node in [&node, &other] {
        client.add_node_turn(node, "1", "2").await;
    }
    let objects = dir.data().join("objects");
    let key = |node: &NodeRef| format!("acme/node_memory/app/{}/planner.json", thread_of(node));
    eventually("the turns are flushed", SOON, async || {
        let memories = client.node_memories(thread_of(&node)).await;
        objects.join(key(&other)).is_file() && memories[0].waiting_turn_count == 0
    })
    .await;
    let written = read(&objects.join(key(&node)));
    assert_eq!(written["messages"][1]["content"], "2");
    assert_eq!(client.node_dialogue(&node, "").await, ["1", "2"]);

    client.delete_thread(thread_of(&node)).await;
    let history = client.refused(ask(&node)).await;
    history.is(Code::NotFound, "THREAD_NOT_FOUND");
    eventually("its object is erased", SOON, async || {
        !objects.join(key(&node)).exists()
    })
    .await;
    assert!(
        objects.join(key(&other)).is_file(),
        "another thread's stays"
    );
    eventually("nothing is left to do", SOON, async || {
        let request = GetNodeMemoryStatusRequest {};
        let status = client.call(request).await;
        status.pending_deletion_count == 0
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn d15_a_memory_can_be_cleared_while_the_objects_are_out_of_reach() {
    let (dir, _server, client) = Server::start_own(&quick()).await;
    let node = planner(&client, "app").await;
    client.add_node_turn(&node, "1", "2").await;
    client.flush_node(&node).await;
    let key = client.object_key(&node).await;
    // A file is where the directory was.
    let (objects, away) = (dir.data().join("objects"), dir.path().join("away"));
    fs::rename(&objects, &away).unwrap();
    fs::write(&objects, "").unwrap();

    let reason = "OBJECT_STORE_UNAVAILABLE";
    let history = client.refused(ask(&node)).await;
    let failure = history.is(Code::Unavailable, reason);
    assert!(failure.retry.is_some(), "{failure:?}");
    // Turns are taken, and wait.
    client.add_node_turn(&node, "3", "4").await;
    let failed = client.refused(flush(&node)).await;
    failed.is(Code::Unavailable, reason);
    let memory = &client.node_memories(thread_of(&node)).await[0];
    assert_eq!(memory.waiting_turn_count, 1);
    assert!(memory.last_error.contains("object storage"), "{memory:?}");

    assert_eq!(client.delete_node(&node).await, 4);
    assert!(client.node_dialogue(&node, "").await.is_empty());
    client.add_node_turn(&node, "5", "6").await;
    assert_eq!(client.node_dialogue(&node, "").await, ["5", "6"]);
    assert_eq!(client.delete_node(&node).await, 2);

    fs::remove_file(&objects).unwrap();
    fs::rename(&away, &objects).unwrap();
    assert!(client.node_dialogue(&node, "").await.is_empty());
    eventually("the old object is erased", SOON, async || {
        !objects.join(&key).exists()
    })
    .await;
}

/// A server that serves and does no work.
fn serve(dir: &DataDir, url: &str) -> Options {
    let options = Options::serve(url, &["embedding.kind = \"none\""]);
    options.objects(dir).without_worker()
}

#[apply(trial_with_own_server)]
async fn d22_writers_in_two_processes_never_lose_a_turn() {
    const WRITERS: usize = 8;
    const TURNS: usize = 12;

    let (_cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let servers = [
        Server::start(&dir, &serve(&dir, &url)),
        Server::start(&dir, &serve(&dir, &url)),
    ];
    let first = servers[0].client(Key::Acme).await;
    let node = planner(&first, "app").await;
    let writers = (0..WRITERS).map(|writer| {
        let (server, node) = (&servers[writer % 2], &node);
        async move {
            let client = server.client(Key::Acme).await;
            for number in 0..TURNS {
                let name = format!("w{writer}n{number}");
                client.add_node_turn(node, &name, &name).await;
                client.flush_node(node).await;
            }
        }
    });
    futures::future::join_all(writers).await;
    let dialogue = first.node_dialogue(&node, "").await;
    let distinct: HashSet<&String> = dialogue.iter().collect();
    assert_eq!(distinct.len(), WRITERS * TURNS);
    assert_eq!(dialogue.len(), 2 * WRITERS * TURNS, "each is there once");
    // Each writer's turns are in their order.
    for writer in 0..WRITERS {
        let own: Vec<&String> = dialogue
            .iter()
            .step_by(2)
            .filter(|text| text.starts_with(&format!("w{writer}n")))
            .collect();
        let expected: Vec<String> = (0..TURNS).map(|n| format!("w{writer}n{n}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>());
    }
    let memory = &first.node_memories(thread_of(&node)).await[0];
    assert_eq!(memory.waiting_turn_count, 0);
    let key = first.object_key(&node).await;
    let object = dir.path().join("objects").join(key);
    assert!(memory.size_bytes > 0 && object.is_file());
}

#[apply(trial_with_own_server)]
async fn d21_a_flushed_message_is_in_no_table() {
    let (cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url));
    let client = server.client(Key::Acme).await;
    let node = planner(&client, "app").await;
    client
        .add_node_turn(&node, "xyzzy asked", "xyzzy answered")
        .await;
    let admin = cluster.superuser().await;
    let tables = "SELECT relname::text FROM pg_class \
                  WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r'";
    let tables = admin.query(tables, &[]).await.unwrap();
    let holding = async || {
        let mut holding = Vec::new();
        for table in &tables {
            let name: String = table.get(0);
            let count =
                format!("SELECT count(*) FROM recollect.{name} t WHERE t::text LIKE '%xyzzy%'");
            let count: i64 = admin.query_one(&count, &[]).await.unwrap().get(0);
            if count > 0 {
                holding.push(name);
            }
        }
        holding
    };
    assert_eq!(holding().await, ["node_turns"]);
    client.flush_node(&node).await;
    assert!(holding().await.is_empty());
    assert_eq!(
        client.node_dialogue(&node, "").await,
        ["xyzzy asked", "xyzzy answered"]
    );

    // The audit log has one entry for each change.
    let actions = "SELECT action, actor, subject FROM recollect.transactions \
                   WHERE action LIKE '%node%' ORDER BY id";
    let actions = admin.query(actions, &[]).await.unwrap();
    let actions: Vec<(String, String)> =
        actions.iter().map(|row| (row.get(0), row.get(2))).collect();
    let expected = ["add_node_turn", "flush_node_memory"];
    assert_eq!(
        actions,
        expected.map(|a| (a.to_owned(), "planner".to_owned()))
    );

    // A memory ends with its time, object and all.
    let policy =
        "UPDATE recollect.threads SET policy = '{\"node_ttl\": {\"secs\": 2, \"nanos\": 0}}'";
    admin.batch_execute(policy).await.unwrap();
    client.add_node_turn(&node, "more", "more").await;
    client.flush_node(&node).await;
    let memory = client.node_memories(thread_of(&node)).await.remove(0);
    assert!(memory.expire_time.is_some());
    let key = client.object_key(&node).await;
    let object = dir.path().join("objects").join(key);
    assert!(object.is_file());
    drop(server);
    let mut options = Options {
        env: vec![("DATABASE_URL".to_owned(), url.clone())],
        ..quick()
    };
    let objects = dir.path().join("objects");
    options
        .config
        .push(format!("objects.url = \"file://{}\"", objects.display()));
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    eventually("the memory has ended", SOON, async || {
        client.node_dialogue(&node, "").await.is_empty() && !object.exists()
    })
    .await;
    assert!(client.node_memories(thread_of(&node)).await.is_empty());
}

#[apply(trial_with_own_server)]
async fn a_memory_has_a_largest_size() {
    let (_dir, _server, client) = Server::start_own(&Options::with(&[
        "embedding.kind = \"none\"",
        "objects.max_object_bytes = 5000",
    ]))
    .await;
    let node = planner(&client, "app").await;
    let text = "x".repeat(600);
    let mut stored = 0;
    let failure = loop {
        match client
            .nodes()
            .add_node_turn(node_turn(&node, &text, &text))
            .await
        {
            Ok(_) => stored += 1,
            Err(status) => break Failure::from(status),
        }
        if stored == 2 {
            client.flush_node(&node).await;
        }
        assert!(stored < 10);
    };
    failure.is(Code::FailedPrecondition, "NODE_MEMORY_FULL");
    assert_eq!(stored, 3);
    client.flush_node(&node).await;
    assert_eq!(client.node_dialogue(&node, "").await.len(), 6);
    assert!(client.node_memories(thread_of(&node)).await[0].size_bytes <= 5_000);
    client.delete_node(&node).await;
    client.add_node_turn(&node, &text, &text).await;
}

#[apply(trial_with_own_server)]
async fn without_object_storage_everything_else_works() {
    let (_cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let mut options = serve(&dir, &url);
    options.config.retain(|line| !line.starts_with("objects."));
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let node = planner(&client, "app").await;
    client.append_turn(thread_of(&node), "Q", "A").await;
    assert_eq!(client.all_messages(thread_of(&node)).await.len(), 2);
    let refused = [
        client.refused(node_turn(&node, "1", "2")).await,
        client.refused(ask(&node)).await,
        client.refused(flush(&node)).await,
    ];
    for failure in refused {
        let failure = failure.is(Code::Unavailable, "OBJECT_STORE_UNAVAILABLE");
        assert!(failure.message.contains("objects.url"), "{failure:?}");
    }
}

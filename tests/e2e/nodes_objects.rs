//! Memories of nodes: what is in object storage, and what becomes of it when
//! something breaks.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use memory_contract::proto::{
    AddNodeTurnRequest, DeleteThreadRequest, FileRef, FileType, FlushNodeMemoryRequest,
    GetNodeHistoryRequest, NodeMessageInput, NodeRef, file_ref,
};
use prost_types::Timestamp;
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, PLAIN, Refused as _, Server, app, eventually, node,
    node_turn, recollect, says, trials,
};
use serde_json::{Value, json};
use tonic::Code;

use crate::plain;

trials![
    d14_an_acknowledged_turn_survives_a_crash_before_its_flush,
    d14_a_forgotten_turn_is_flushed_and_what_is_deleted_leaves_no_object,
    d15_a_memory_can_be_cleared_while_the_objects_are_out_of_reach,
    an_object_that_cannot_be_read_is_kept_and_never_overwritten,
    d22_writers_in_two_processes_never_lose_a_turn,
    d21_a_flushed_message_is_in_no_table,
    a_memory_has_a_largest_size,
    without_object_storage_everything_else_works,
    d08_a_memory_lies_under_tenant_app_thread_and_node,
    d09_the_object_is_the_documented_json,
    d10_files_are_kept_as_references,
    d22_a_large_object_is_compressed_and_both_forms_are_read,
];

const SOON: Duration = Duration::from_secs(40);

/// A server whose worker does everything at once.
fn quick() -> Options {
    Options::with(&[
        "embedding.kind = \"none\"",
        "worker.nodes.flush_after = \"50ms\"",
        "worker.nodes.interval = \"50ms\"",
        "worker.expiry_interval = \"1s\"",
    ])
}

fn object(key: &str) -> PathBuf {
    PLAIN.data().join("objects").join(key)
}

async fn planner(client: &Client, app: &str) -> NodeRef {
    node(&client.thread(app).await, "planner")
}

fn read(path: &PathBuf) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn ask(node: &NodeRef) -> GetNodeHistoryRequest {
    GetNodeHistoryRequest {
        node: Some(node.clone()),
        ..Default::default()
    }
}

fn flush(node: &NodeRef) -> FlushNodeMemoryRequest {
    FlushNodeMemoryRequest {
        node: Some(node.clone()),
    }
}

async fn d08_a_memory_lies_under_tenant_app_thread_and_node() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    for (name, file) in [
        ("planner", "planner.json"),
        ("a/b c", "a%2Fb c.json"),
        ("..", "%2E%2E.json"),
    ] {
        let node = node(&thread_id, name);
        client.add_turn(node_turn(&node, "1", "2")).await;
        let key = client.flush_node(&node).await.object_key;
        assert_eq!(key, format!("acme/node_memory/{app}/{thread_id}/{file}"));
        assert!(object(&key).is_file(), "{key}");
        assert_eq!(client.node_dialogue(&node, "").await, ["1", "2"]);
    }
    // 128 characters of three bytes each, percent-encoded.
    let long = node(&thread_id, &"節".repeat(128));
    client.add_turn(node_turn(&long, "1", "2")).await;
    let key = client.flush_node(&long).await.object_key;
    assert!(object(&key).is_file(), "{key}");
}

fn at(seconds: i64) -> Option<Timestamp> {
    Some(Timestamp { seconds, nanos: 0 })
}

fn upload(id: &str) -> FileRef {
    FileRef {
        r#type: FileType::Image.into(),
        location: Some(file_ref::Location::UploadFileId(id.to_owned())),
        ..Default::default()
    }
}

async fn d09_the_object_is_the_documented_json() {
    let client = plain().await;
    let node = planner(&client, &app()).await;
    let request = AddNodeTurnRequest {
        node: Some(node.clone()),
        user: Some(NodeMessageInput {
            message_id: "msg-001".to_owned(),
            content: "Analyze this image".to_owned(),
            files: vec![upload("file-uuid-123")],
            create_time: at(1_767_780_000),
        }),
        assistant: Some(NodeMessageInput {
            message_id: "msg-002".to_owned(),
            content: "This is a landscape image...".to_owned(),
            files: Vec::new(),
            create_time: at(1_767_780_001),
        }),
        ..Default::default()
    };
    client.add_turn(request).await;
    let tokens = client.node_history(ask(&node)).await;
    let tokens: Vec<i32> = tokens.messages.iter().map(|m| m.token_count).collect();
    let key = client.flush_node(&node).await.object_key;
    let expected = json!({
        "version": 1,
        "messages": [
            {
                "message_id": "msg-001",
                "parent_message_id": null,
                "role": "user",
                "content": "Analyze this image",
                "files": [{
                    "type": "image",
                    "transfer_method": "local_file",
                    "upload_file_id": "file-uuid-123",
                    "belongs_to": "user"
                }],
                "token_count": tokens[0],
                "created_at": "2026-01-07T10:00:00Z"
            },
            {
                "message_id": "msg-002",
                "parent_message_id": "msg-001",
                "role": "assistant",
                "content": "This is a landscape image...",
                "files": [],
                "token_count": tokens[1],
                "created_at": "2026-01-07T10:00:01Z"
            }
        ]
    });
    assert_eq!(read(&object(&key)), expected);
}

async fn d10_files_are_kept_as_references() {
    use file_ref::Location;

    let client = plain().await;
    let node = planner(&client, &app()).await;
    let file = |kind: FileType, location| FileRef {
        r#type: kind.into(),
        location: Some(location),
        ..Default::default()
    };
    let request = AddNodeTurnRequest {
        node: Some(node.clone()),
        user: Some(NodeMessageInput {
            files: vec![
                file(FileType::Audio, Location::UploadFileId("up".into())),
                file(
                    FileType::Video,
                    Location::Url("https://example.com/v".into()),
                ),
            ],
            ..says("See.")
        }),
        assistant: Some(NodeMessageInput {
            files: vec![
                file(FileType::Document, Location::ToolFileId("made".into())),
                FileRef {
                    name: "n".to_owned(),
                    caption: "c".to_owned(),
                    ..file(FileType::Custom, Location::ToolFileId("too".into()))
                },
            ],
            ..says("Done.")
        }),
        ..Default::default()
    };
    client.add_turn(request).await;
    let key = client.flush_node(&node).await.object_key;
    let object = read(&object(&key));
    let expected = [
        json!([
            {"type": "audio", "transfer_method": "local_file", "upload_file_id": "up", "belongs_to": "user"},
            {"type": "video", "transfer_method": "remote_url", "url": "https://example.com/v",
             "belongs_to": "user"}
        ]),
        json!([
            {"type": "document", "transfer_method": "tool_file", "tool_file_id": "made",
             "belongs_to": "assistant"},
            {"type": "custom", "transfer_method": "tool_file", "tool_file_id": "too",
             "belongs_to": "assistant", "name": "n", "caption": "c"}
        ]),
    ];
    for (index, files) in expected.iter().enumerate() {
        assert_eq!(&object["messages"][index]["files"], files);
    }
}

async fn d14_an_acknowledged_turn_survives_a_crash_before_its_flush() {
    let dir = DataDir::new();
    let options = Options::with(&["embedding.kind = \"none\""]);
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let node = planner(&client, "app").await;
    client.add_turn(node_turn(&node, "1", "2")).await;
    client.flush_node(&node).await;
    client.add_turn(node_turn(&node, "3", "4")).await;
    server.kill();
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let expected = ["1", "2", "3", "4"];
    assert_eq!(client.node_dialogue(&node, "").await, expected);
    let flushed = client.flush_node(&node).await;
    assert_eq!(flushed.flushed_turn_count, 1);
    assert_eq!(client.node_dialogue(&node, "").await, expected);
}

async fn d14_a_forgotten_turn_is_flushed_and_what_is_deleted_leaves_no_object() {
    let dir = DataDir::new();
    let server = Server::start(&dir, &quick());
    let client = server.client(Key::Acme).await;
    let (node, other) = (planner(&client, "app").await, planner(&client, "app").await);
    for node in [&node, &other] {
        client.add_turn(node_turn(node, "1", "2")).await;
    }
    let objects = dir.data().join("objects");
    let key = |node: &NodeRef| format!("acme/node_memory/app/{}/planner.json", node.thread_id);
    eventually("the turns are flushed", SOON, async || {
        let memories = client.node_memories(&node.thread_id).await;
        objects.join(key(&other)).is_file() && memories[0].waiting_turn_count == 0
    })
    .await;
    let written = read(&objects.join(key(&node)));
    assert_eq!(written["messages"][1]["content"], "2");
    assert_eq!(client.node_dialogue(&node, "").await, ["1", "2"]);

    let request = DeleteThreadRequest {
        thread_id: node.thread_id.clone(),
    };
    client.threads().delete_thread(request).await.unwrap();
    let history = client.nodes().get_node_history(ask(&node)).await;
    history.refused().is(Code::NotFound, "THREAD_NOT_FOUND");
    eventually("its object is erased", SOON, async || {
        !objects.join(key(&node)).exists()
    })
    .await;
    assert!(
        objects.join(key(&other)).is_file(),
        "another thread's stays"
    );
    eventually("nothing is left to do", SOON, async || {
        let request = memory_contract::proto::GetNodeMemoryStatusRequest {};
        let status = client.admin().get_node_memory_status(request).await;
        status.unwrap().into_inner().pending_deletion_count == 0
    })
    .await;
}

async fn d15_a_memory_can_be_cleared_while_the_objects_are_out_of_reach() {
    let dir = DataDir::new();
    let server = Server::start(&dir, &quick());
    let client = server.client(Key::Acme).await;
    let node = planner(&client, "app").await;
    client.add_turn(node_turn(&node, "1", "2")).await;
    let key = client.flush_node(&node).await.object_key;
    // A file is where the directory was.
    let (objects, away) = (dir.data().join("objects"), dir.path().join("away"));
    fs::rename(&objects, &away).unwrap();
    fs::write(&objects, "").unwrap();

    let reason = "OBJECT_STORE_UNAVAILABLE";
    let history = client.nodes().get_node_history(ask(&node)).await;
    let failure = history.refused().is(Code::Unavailable, reason);
    assert!(failure.retry.is_some(), "{failure:?}");
    // Turns are taken, and wait.
    client.add_turn(node_turn(&node, "3", "4")).await;
    let failed = client.nodes().flush_node_memory(flush(&node)).await;
    failed.refused().is(Code::Unavailable, reason);
    let memory = &client.node_memories(&node.thread_id).await[0];
    assert_eq!(memory.waiting_turn_count, 1);
    assert!(memory.last_error.contains("object storage"), "{memory:?}");

    assert_eq!(client.clear_node(&node).await, 4);
    assert!(client.node_dialogue(&node, "").await.is_empty());
    client.add_turn(node_turn(&node, "5", "6")).await;
    assert_eq!(client.node_dialogue(&node, "").await, ["5", "6"]);
    assert_eq!(client.clear_node(&node).await, 2);

    fs::remove_file(&objects).unwrap();
    fs::rename(&away, &objects).unwrap();
    assert!(client.node_dialogue(&node, "").await.is_empty());
    eventually("the old object is erased", SOON, async || {
        !objects.join(&key).exists()
    })
    .await;
}

async fn an_object_that_cannot_be_read_is_kept_and_never_overwritten() {
    let client = plain().await;
    let node = planner(&client, &app()).await;
    client.add_turn(node_turn(&node, "1", "2")).await;
    let key = client.flush_node(&node).await.object_key;
    let good = fs::read(object(&key)).unwrap();
    let mut copies = HashSet::new();
    for broken in [
        "{\"version\": 1, \"mess",
        "{\"version\": 7, \"messages\": []}",
    ] {
        fs::write(object(&key), broken).unwrap();
        // Turns are taken, and wait.
        client.add_turn(node_turn(&node, "3", "4")).await;
        let failures = [
            client.nodes().get_node_history(ask(&node)).await.refused(),
            client
                .nodes()
                .flush_node_memory(flush(&node))
                .await
                .refused(),
        ];
        for failure in failures {
            let failure = failure.is(Code::DataLoss, "NODE_MEMORY_CORRUPT");
            assert_eq!(failure.metadata["object_key"], key);
            let copy = failure.metadata["kept_as"].clone();
            assert!(copy.starts_with("acme/node_memory_corrupt/"), "{copy}");
            assert_eq!(fs::read_to_string(object(&copy)).unwrap(), broken);
            copies.insert(copy);
        }
        assert_eq!(fs::read_to_string(object(&key)).unwrap(), broken);
        let memory = &client.node_memories(&node.thread_id).await[0];
        assert!(memory.last_error.contains("a copy is kept"), "{memory:?}");
    }
    assert_eq!(copies.len(), 2);

    // With a good object in its place everything goes on.
    fs::write(object(&key), &good).unwrap();
    let expected = ["1", "2", "3", "4", "3", "4"];
    assert_eq!(client.node_dialogue(&node, "").await, expected);
    assert_eq!(client.flush_node(&node).await.flushed_turn_count, 2);
    assert_eq!(client.node_dialogue(&node, "").await, expected);
    assert_eq!(
        client.node_memories(&node.thread_id).await[0].last_error,
        ""
    );

    // One that is gone is missed, not replaced.
    fs::remove_file(object(&key)).unwrap();
    client.add_turn(node_turn(&node, "5", "6")).await;
    let lost = client.nodes().flush_node_memory(flush(&node)).await;
    let lost = lost.refused().is(Code::DataLoss, "NODE_MEMORY_CORRUPT");
    assert_eq!(lost.metadata["kept_as"], "");

    // Or it starts afresh, and the copies stay.
    client.clear_node(&node).await;
    client.add_turn(node_turn(&node, "7", "8")).await;
    client.flush_node(&node).await;
    assert_eq!(client.node_dialogue(&node, "").await, ["7", "8"]);
    assert!(copies.iter().all(|copy| object(copy).is_file()));
}

/// A Postgres with the schema, and its URL.
async fn migrated() -> (Cluster, String) {
    let cluster = Cluster::start().await;
    let url = cluster.url();
    recollect(&["migrate"], &[("DATABASE_URL", &url)]).ok();
    (cluster, url)
}

/// A server that serves and does no work.
fn serve(dir: &DataDir, url: &str) -> Options {
    let objects = dir.path().join("objects");
    Options {
        command: "serve",
        env: vec![("DATABASE_URL".to_owned(), url.to_owned())],
        args: vec!["--no-worker".to_owned()],
        ..Options::with(&[
            "embedding.kind = \"none\"",
            "index.url = \"http://127.0.0.1:1\"",
            &format!("objects.url = \"file://{}\"", objects.display()),
        ])
    }
}

async fn d22_writers_in_two_processes_never_lose_a_turn() {
    const WRITERS: usize = 8;
    const TURNS: usize = 12;

    let (_cluster, url) = migrated().await;
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
                client.add_turn(node_turn(node, &name, &name)).await;
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
    let memory = &first.node_memories(&node.thread_id).await[0];
    assert_eq!(memory.waiting_turn_count, 0);
    let key = dir.path().join("objects").join(&memory.object_key);
    assert!(memory.size_bytes > 0 && key.is_file());
}

async fn d21_a_flushed_message_is_in_no_table() {
    let (cluster, url) = migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url));
    let client = server.client(Key::Acme).await;
    let node = planner(&client, "app").await;
    client
        .add_turn(node_turn(&node, "xyzzy asked", "xyzzy answered"))
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

    // Who did it is noted, once for each change.
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
    client.add_turn(node_turn(&node, "more", "more")).await;
    client.flush_node(&node).await;
    let memory = client.node_memories(&node.thread_id).await.remove(0);
    assert!(memory.expire_time.is_some());
    let object = dir.path().join("objects").join(&memory.object_key);
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
    assert!(client.node_memories(&node.thread_id).await.is_empty());
}

async fn a_memory_has_a_largest_size() {
    let dir = DataDir::new();
    let server = Server::start(
        &dir,
        &Options::with(&[
            "embedding.kind = \"none\"",
            "objects.max_object_bytes = 5000",
        ]),
    );
    let client = server.client(Key::Acme).await;
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
            Err(status) => break recollect_tests::Failure::from(status),
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
    assert!(client.node_memories(&node.thread_id).await[0].size_bytes <= 5_000);
    client.clear_node(&node).await;
    client.add_turn(node_turn(&node, &text, &text)).await;
}

async fn without_object_storage_everything_else_works() {
    let (_cluster, url) = migrated().await;
    let dir = DataDir::new();
    let mut options = serve(&dir, &url);
    options.config.retain(|line| !line.starts_with("objects."));
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let node = planner(&client, "app").await;
    client
        .append(&node.thread_id, recollect_tests::turn("Q", "A"))
        .await;
    assert_eq!(client.all_messages(&node.thread_id).await.len(), 2);
    let refused = [
        client
            .nodes()
            .add_node_turn(node_turn(&node, "1", "2"))
            .await
            .refused(),
        client.nodes().get_node_history(ask(&node)).await.refused(),
        client
            .nodes()
            .flush_node_memory(flush(&node))
            .await
            .refused(),
    ];
    for failure in refused {
        let failure = failure.is(Code::Unavailable, "OBJECT_STORE_UNAVAILABLE");
        assert!(failure.message.contains("objects.url"), "{failure:?}");
    }
}

async fn d22_a_large_object_is_compressed_and_both_forms_are_read() {
    let client = plain().await;
    let node = planner(&client, &app()).await;
    client.add_turn(node_turn(&node, "1", "2")).await;
    let key = client.flush_node(&node).await.object_key;
    let small = fs::read(object(&key)).unwrap();
    assert!(small.starts_with(b"{"));
    let long = "A sentence that is said again and again. ".repeat(1_000);
    client.add_turn(node_turn(&node, "3", &long)).await;
    client.flush_node(&node).await;
    let packed = fs::read(object(&key)).unwrap();
    assert!(
        packed.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
        "zstd's magic number"
    );
    let memory = &client.node_memories(&node.thread_id).await[0];
    assert!(
        memory.size_bytes > 40_000 && packed.len() < 4_000,
        "{memory:?}"
    );
    assert_eq!(
        client.node_dialogue(&node, "").await,
        ["1", "2", "3", &long]
    );
    // Somebody else may write it uncompressed.
    fs::write(object(&key), &small).unwrap();
    assert_eq!(client.node_dialogue(&node, "").await, ["1", "2"]);
    client.add_turn(node_turn(&node, "5", "6")).await;
    client.flush_node(&node).await;
    let memory = &client.node_memories(&node.thread_id).await[0];
    assert_eq!(memory.message_count, 4, "counted anew");
    // What followed the lost turn begins a way of its own.
    assert_eq!(client.node_dialogue(&node, "").await, ["5", "6"]);
}

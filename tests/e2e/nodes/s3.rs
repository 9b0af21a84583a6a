//! Memories of nodes in a store that speaks S3's protocol.

use std::time::Duration;

use memory_contract::proto::{
    FlushNodeMemoryRequest, GetNodeMemoryStatusRequest, ObjectStoreBackend,
    add_node_turn_request::Parent,
};
use recollect_tests::{
    Options, S3, S3Fault, SOON, Server, apply, eventually, http_get, node, node_turn,
    trial_with_own_server,
};
use serde_json::{Value, json};
use tonic::Code;

fn options(s3: &S3) -> Options {
    let mut options = Options::with(&[
        "embedding.kind = \"none\"",
        "worker.nodes.interval = \"100ms\"",
    ]);
    options.config.extend(s3.config());
    options
}

#[apply(trial_with_own_server)]
async fn d22_a_concurrent_write_is_never_overwritten() {
    let s3 = S3::new();
    let (_dir, server, client) = Server::start_own(&options(&s3)).await;
    let node = node(&client.thread("app").await, "a/b");
    client.add_node_turn(&node, "1", "2").await;
    client.flush_node(&node).await;
    let key = client.object_key(&node).await;
    let mut object: Value = serde_json::from_slice(&s3.object(&key).unwrap()).unwrap();
    assert_eq!(object["messages"][1]["content"], "2");
    assert_eq!(s3.refused(), 0);

    // Between the read and the write, another writer adds a turn.
    let last = object["messages"][1]["message_id"].clone();
    let others = |id: &str, parent: &Value, role: &str, content: &str| {
        json!({
            "message_id": id, "parent_message_id": parent, "role": role, "content": content,
            "files": [], "token_count": 1, "created_at": "2026-01-07T10:00:00Z"
        })
    };
    let messages = object["messages"].as_array_mut().unwrap();
    messages.push(others("x", &last, "user", "theirs"));
    messages.push(others("y", &json!("x"), "assistant", "too"));
    client.add_node_turn(&node, "3", "4").await;
    s3.meddle(serde_json::to_vec(&object).unwrap());
    assert_eq!(client.flush_node(&node).await.flushed_turn_count, 1);
    assert_eq!(s3.refused(), 1);
    let (_, metrics) = http_get(&server.ready().metrics_addr, "/metrics").await;
    for counted in ["{outcome=\"done\"} 2", "{outcome=\"conflict\"} 1"] {
        let line = format!("recollect_object_writes_total{counted}");
        assert!(metrics.lines().any(|other| other == line), "{line}");
    }
    let stored: Value = serde_json::from_slice(&s3.object(&key).unwrap()).unwrap();
    let texts: Vec<&str> = stored["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["1", "2", "theirs", "too", "3", "4"]);
    assert_eq!(client.node_dialogue(&node, "").await, ["1", "2", "3", "4"]);
    // The other writer's turn can be a parent, too.
    let theirs = client.node_dialogue(&node, "y").await;
    assert_eq!(theirs, ["1", "2", "theirs", "too"]);
    let mut more = node_turn(&node, "5", "6");
    more.parent = Some(Parent::ParentMessageId("y".to_owned()));
    client.call(more).await;
    let on = client.node_dialogue(&node, "").await;
    assert_eq!(on, ["1", "2", "theirs", "too", "5", "6"]);

    // Turns can be added while the store refuses.
    s3.set_fault(S3Fault::Forbidden);
    client.add_node_turn(&node, "7", "8").await;
    let request = FlushNodeMemoryRequest {
        node: Some(node.clone()),
    };
    let failed = client.refused(request).await;
    failed.is(Code::Unavailable, "OBJECT_STORE_UNAVAILABLE");
    let status = client.call(GetNodeMemoryStatusRequest {}).await;
    assert_eq!(status.backend(), ObjectStoreBackend::S3);
    assert_eq!(status.failing_node_count, 1);
    assert!(!status.last_error.is_empty());
    s3.set_fault(S3Fault::None);
    assert_eq!(client.flush_node(&node).await.flushed_turn_count, 2);

    assert_eq!(client.delete_node(&node).await, 10);
    eventually("the object is erased", SOON, async || {
        s3.object(&key).is_none()
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn d15_a_slow_deletion_takes_nothing_that_was_written_after_it() {
    let s3 = S3::new();
    let (_dir, _server, client) = Server::start_own(&options(&s3)).await;
    let node = node(&client.thread("app").await, "planner");
    client.add_node_turn(&node, "1", "2").await;
    client.flush_node(&node).await;
    let key = client.object_key(&node).await;
    s3.hold_deletions(true);
    // It does not wait for the store for ever.
    assert_eq!(client.delete_node(&node).await, 2);
    assert!(s3.object(&key).is_some());
    assert!(client.node_dialogue(&node, "").await.is_empty());
    client.add_node_turn(&node, "3", "4").await;
    let flush = {
        let (client, node) = (client.clone(), node.clone());
        tokio::spawn(async move { client.flush_node(&node).await })
    };
    let answers = async || client.node_dialogue(&node, "").await == ["3", "4"];
    eventually("the new turn is read", SOON, answers).await;
    let early = tokio::time::timeout(Duration::from_secs(1), async {
        while !flush.is_finished() {
            assert!(answers().await);
        }
    });
    assert!(early.await.is_err(), "a flush waits for the deletion");
    s3.hold_deletions(false);
    assert_eq!(flush.await.unwrap().flushed_turn_count, 1);
    assert!(answers().await);
    assert!(s3.object(&key).is_some());
}

#[apply(trial_with_own_server)]
async fn d15_an_object_written_after_its_deletion_is_erased_too() {
    let s3 = S3::new();
    let mut options = options(&s3);
    options.config.push("objects.timeout = \"1s\"".to_owned());
    let (_dir, _server, client) = Server::start_own(&options).await;
    let node = node(&client.thread("app").await, "planner");
    client.add_node_turn(&node, "1", "2").await;
    s3.hold_writes(true);
    let request = FlushNodeMemoryRequest {
        node: Some(node.clone()),
    };
    let failed = client.refused(request).await;
    failed.is(Code::Unavailable, "OBJECT_STORE_UNAVAILABLE");
    assert_eq!(client.delete_node(&node).await, 2);
    eventually("the object is deleted", SOON, async || s3.deletions() > 0).await;
    assert_eq!((s3.writes(), s3.object_count()), (0, 0));

    // The store carries out what it was asked for long ago.
    s3.hold_writes(false);
    eventually("the object is written", SOON, async || s3.writes() > 0).await;
    eventually("the object is erased again", SOON, async || {
        s3.object_count() == 0
    })
    .await;
}

//! Memories of nodes: their objects in storage, also when
//! something breaks.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use memory_contract::proto::{
    AddNodeTurnRequest, FileRef, FileType, FlushNodeMemoryRequest, GetNodeHistoryRequest,
    NodeMessageInput, NodeRef, file_ref,
};
use prost_types::Timestamp;
use recollect_tests::{Client, PLAIN, SOON, app, apply, eventually, node, says, thread_of, trial};
use serde_json::{Value, json};
use tonic::Code;

use crate::plain;

fn object(key: &str) -> PathBuf {
    PLAIN.data().join("objects").join(key)
}

pub async fn planner(client: &Client, app: &str) -> NodeRef {
    node(&client.thread(app).await, "planner")
}

pub fn read(path: &PathBuf) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

pub fn ask(node: &NodeRef) -> GetNodeHistoryRequest {
    GetNodeHistoryRequest {
        node: Some(node.clone()),
        ..Default::default()
    }
}

pub fn flush(node: &NodeRef) -> FlushNodeMemoryRequest {
    FlushNodeMemoryRequest {
        node: Some(node.clone()),
    }
}

#[apply(trial)]
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
        client.add_node_turn(&node, "1", "2").await;
        client.flush_node(&node).await;
        let key = client.object_key(&node).await;
        assert_eq!(key, format!("acme/node_memory/{app}/{thread_id}/{file}"));
        assert!(object(&key).is_file(), "{key}");
        assert_eq!(client.node_dialogue(&node, "").await, ["1", "2"]);
    }
    // 128 characters of three bytes each, percent-encoded.
    let long = node(&thread_id, &"節".repeat(128));
    client.add_node_turn(&long, "1", "2").await;
    client.flush_node(&long).await;
    let key = client.object_key(&long).await;
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

#[apply(trial)]
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
    client.call(request).await;
    let tokens = client.call(ask(&node)).await;
    let tokens: Vec<i32> = tokens.messages.iter().map(|m| m.token_count).collect();
    client.flush_node(&node).await;
    let key = client.object_key(&node).await;
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

#[apply(trial)]
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
    client.call(request).await;
    client.flush_node(&node).await;
    let key = client.object_key(&node).await;
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

#[apply(trial)]
async fn an_object_that_cannot_be_read_is_kept_and_never_overwritten() {
    let client = plain().await;
    let node = planner(&client, &app()).await;
    client.add_node_turn(&node, "1", "2").await;
    client.flush_node(&node).await;
    let key = client.object_key(&node).await;
    let good = fs::read(object(&key)).unwrap();
    let mut copies = HashSet::new();
    for broken in [
        "{\"version\": 1, \"mess",
        "{\"version\": 7, \"messages\": []}",
    ] {
        fs::write(object(&key), broken).unwrap();
        // Turns are taken, and wait.
        client.add_node_turn(&node, "3", "4").await;
        let failures = [
            client.refused(ask(&node)).await,
            client.refused(flush(&node)).await,
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
        let memory = &client.node_memories(thread_of(&node)).await[0];
        assert!(memory.last_error.contains("a copy is kept"), "{memory:?}");
    }
    assert_eq!(copies.len(), 2);

    // With a valid object in its place everything works again.
    fs::write(object(&key), &good).unwrap();
    let expected = ["1", "2", "3", "4", "3", "4"];
    assert_eq!(client.node_dialogue(&node, "").await, expected);
    assert_eq!(client.flush_node(&node).await.flushed_turn_count, 2);
    assert_eq!(client.node_dialogue(&node, "").await, expected);
    assert_eq!(
        client.node_memories(thread_of(&node)).await[0].last_error,
        ""
    );

    // A missing object is an error and is not replaced.
    fs::remove_file(object(&key)).unwrap();
    client.add_node_turn(&node, "5", "6").await;
    let lost = client.refused(flush(&node)).await;
    let lost = lost.is(Code::DataLoss, "NODE_MEMORY_CORRUPT");
    assert_eq!(lost.metadata["kept_as"], "");

    // Or it starts afresh, and the copies go, because they have what was said.
    assert!(copies.iter().all(|copy| object(copy).is_file()));
    client.delete_node(&node).await;
    eventually("the copies are erased", SOON, async || {
        !copies.iter().any(|copy| object(copy).exists())
    })
    .await;
    client.add_node_turn(&node, "7", "8").await;
    client.flush_node(&node).await;
    assert_eq!(client.node_dialogue(&node, "").await, ["7", "8"]);
}

#[apply(trial)]
async fn d22_a_large_object_is_compressed_and_both_forms_are_read() {
    let client = plain().await;
    let node = planner(&client, &app()).await;
    client.add_node_turn(&node, "1", "2").await;
    client.flush_node(&node).await;
    let key = client.object_key(&node).await;
    let small = fs::read(object(&key)).unwrap();
    assert!(small.starts_with(b"{"));
    let long = "A sentence that is said again and again. ".repeat(1_000);
    client.add_node_turn(&node, "3", &long).await;
    client.flush_node(&node).await;
    let packed = fs::read(object(&key)).unwrap();
    assert!(
        packed.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
        "zstd's magic number"
    );
    let memory = &client.node_memories(thread_of(&node)).await[0];
    assert!(
        memory.size_bytes > 40_000 && packed.len() < 4_000,
        "{memory:?}"
    );
    assert_eq!(
        client.node_dialogue(&node, "").await,
        ["1", "2", "3", &long]
    );
    // Another writer may write it uncompressed.
    fs::write(object(&key), &small).unwrap();
    assert_eq!(client.node_dialogue(&node, "").await, ["1", "2"]);
    client.add_node_turn(&node, "5", "6").await;
    client.flush_node(&node).await;
    let memory = &client.node_memories(thread_of(&node)).await[0];
    assert_eq!(memory.message_count, 4, "counted anew");
    // The turn after the lost one begins a new path.
    assert_eq!(client.node_dialogue(&node, "").await, ["5", "6"]);
}

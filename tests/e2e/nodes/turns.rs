//! Memories of nodes: validation of turns, and the reported state of memories.

use memory_contract::proto::{
    AddNodeTurnRequest, DeleteNodeMemoryRequest, FlushNodeMemoryRequest,
    GetNodeMemoryStatusRequest, ListNodeMemoriesRequest, NodeRef, ObjectStoreBackend,
    add_node_turn_request::Parent,
};
use recollect_tests::{
    Key, PLAIN, app, apply, by_id, by_session, node, node_turn, says, session, thread_of, trial,
};
use tonic::Code;
use uuid::Uuid;

use super::dialogue::{after, ask, planner, with_ids};
use crate::plain;

#[apply(trial)]
async fn an_id_is_used_once_in_a_node() {
    let client = plain().await;
    let node = planner(&client).await;
    let first = with_ids(node_turn(&node, "1", "2"), "u", "a");
    client.call(first.clone()).await;
    for flushed in [false, true] {
        if flushed {
            client.flush_node(&node).await;
        }
        for (user, assistant, used) in [("u", "b", "u"), ("v", "a", "a"), ("a", "w", "a")] {
            let turn = with_ids(node_turn(&node, "3", "4"), user, assistant);
            let failure = client.refused(turn).await;
            let failure = failure.is(Code::AlreadyExists, "MESSAGE_ALREADY_EXISTS");
            assert_eq!(failure.metadata["message_id"], used);
        }
    }
    let same = with_ids(node_turn(&node, "3", "4"), "x", "x");
    let same = client.refused(same).await;
    same.names_field("assistant.message_id");
    assert_eq!(client.node_dialogue(&node, "").await, ["1", "2"]);
}

#[apply(trial)]
async fn a_parent_has_to_be_in_the_nodes_memory() {
    let client = plain().await;
    let node = planner(&client).await;
    client
        .call(with_ids(node_turn(&node, "1", "2"), "u", "a"))
        .await;
    let lost = after("nobody", node_turn(&node, "3", "4"));
    client.refused(lost).await.names_field("parent_message_id");
    let unnamed = after("", node_turn(&node, "3", "4"));
    client
        .refused(unnamed)
        .await
        .names_field("parent_message_id");
    let silent = node_turn(&node, "", "4");
    client.refused(silent).await.names_field("user.content");
}

#[apply(trial)]
async fn a_request_id_makes_a_turns_retry_safe() {
    let client = plain().await;
    let node = planner(&client).await;
    let request = AddNodeTurnRequest {
        request_id: Uuid::new_v4().to_string(),
        ..node_turn(&node, "1", "2")
    };
    let first = client.call(request.clone()).await;
    client.flush_node(&node).await;
    let again = client.call(request.clone()).await;
    assert!(!first.replayed && again.replayed);
    assert_eq!(first.user_message_id, again.user_message_id);
    assert_eq!(first.assistant_message_id, again.assistant_message_id);
    assert_eq!(client.node_dialogue(&node, "").await, ["1", "2"]);

    for other in [
        AddNodeTurnRequest {
            assistant: Some(says("3")),
            ..request.clone()
        },
        AddNodeTurnRequest {
            node: Some(NodeRef {
                node_id: "critic".to_owned(),
                ..node.clone()
            }),
            ..request.clone()
        },
        AddNodeTurnRequest {
            parent: Some(Parent::Root(())),
            ..request.clone()
        },
    ] {
        let failure = client.refused(other).await;
        failure.is(Code::AlreadyExists, "REQUEST_ID_REUSED");
    }

    // Twice at once.
    let request = AddNodeTurnRequest {
        request_id: Uuid::new_v4().to_string(),
        ..node_turn(&node, "3", "4")
    };
    let calls = (0..8).map(|_| client.call(request.clone()));
    let answers = futures::future::join_all(calls).await;
    assert_eq!(answers.iter().filter(|a| !a.replayed).count(), 1);
    assert_eq!(client.node_dialogue(&node, "").await, ["1", "2", "3", "4"]);
}

#[apply(trial)]
async fn a_turn_that_is_refused_leaves_no_memory() {
    let client = plain().await;
    let node = planner(&client).await;
    let lost = after("nobody", node_turn(&node, "1", "2"));
    client.refused(lost).await.names_field("parent_message_id");
    assert!(client.node_memories(thread_of(&node)).await.is_empty());
}

#[apply(trial)]
async fn a_conversation_can_be_named_by_its_session() {
    let client = plain().await;
    let names = session(&app(), "ada", "chat");
    let node = NodeRef {
        thread: by_session(names.clone()),
        node_id: "planner".to_owned(),
    };
    let early = client.refused(node_turn(&node, "1", "2")).await;
    early.is(Code::NotFound, "THREAD_NOT_FOUND");
    let thread = client.resolve(names).await;
    client.add_node_turn(&node, "1", "2").await;
    client.flush_node(&node).await;
    let same = NodeRef {
        thread: by_id(thread.thread_id),
        ..node
    };
    assert_eq!(client.node_dialogue(&same, "").await, ["1", "2"]);
}

#[apply(trial)]
async fn nodes_are_listed_page_by_page() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let names = ["c", "a", "b", "ä/b", ".."];
    for name in names {
        let node = node(&thread_id, name);
        client.add_node_turn(&node, "1", "2").await;
        client.add_node_turn(&node, "3", "4").await;
    }
    client.flush_node(&node(&thread_id, "b")).await;
    let mut request = ListNodeMemoriesRequest {
        thread: by_id(&thread_id),
        page_size: 2,
        ..Default::default()
    };
    let mut found = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        found.extend(page.node_memories);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    let listed: Vec<&str> = found.iter().map(|memory| memory.node_id.as_str()).collect();
    assert_eq!(listed, names);
    for memory in &found {
        let flushed = memory.node_id == "b";
        assert_eq!(memory.message_count, 4);
        assert_eq!(memory.waiting_turn_count, if flushed { 0 } else { 2 });
        assert_eq!(memory.flush_time.is_some(), flushed);
        assert_eq!(memory.size_bytes > 0, flushed);
        assert!(memory.update_time.is_some() && memory.expire_time.is_none());
        assert_eq!(memory.last_error, "");
    }
}

#[apply(trial)]
async fn no_tenant_reaches_anothers_nodes() {
    let (acme, globex) = (plain().await, PLAIN.client(Key::Globex).await);
    let node = planner(&acme).await;
    acme.add_node_turn(&node, "secret", "kept").await;
    let history = globex.refused(ask(&node, "")).await;
    history.is(Code::NotFound, "THREAD_NOT_FOUND");
    let add = globex.refused(node_turn(&node, "x", "y")).await;
    add.is(Code::NotFound, "THREAD_NOT_FOUND");
    for flushed in [false, true] {
        let request = FlushNodeMemoryRequest {
            node: Some(node.clone()),
        };
        let flush = globex.refused(request).await;
        flush.is(Code::NotFound, "THREAD_NOT_FOUND");
        let request = DeleteNodeMemoryRequest {
            node: Some(node.clone()),
        };
        let clear = globex.refused(request).await;
        clear.is(Code::NotFound, "THREAD_NOT_FOUND");
        assert_eq!(acme.node_dialogue(&node, "").await, ["secret", "kept"]);
        if !flushed {
            acme.flush_node(&node).await;
        }
    }
}

#[apply(trial)]
async fn the_state_of_node_memory_can_be_asked_for() {
    let client = PLAIN.client(Key::Globex).await;
    let thread_id = client.thread(&app()).await;
    client.add_node_turn(&node(&thread_id, "n"), "1", "2").await;
    let status = client.call(GetNodeMemoryStatusRequest {}).await;
    assert_eq!(status.backend(), ObjectStoreBackend::File);
    assert!(status.waiting_turn_count >= 1, "{status:?}");
    assert_eq!(status.failing_node_count, 0);
    assert_eq!(status.last_error, "");
}

//! A deleted message can be neither a parent nor a head, at any place in the tree.

use memory_contract::proto::{
    AppendMessagesRequest, BuildContextRequest, GetHistoryRequest, GetNodeHistoryRequest,
    MemoryMode, MemoryPolicy, MessageInput, Role, SetHeadRequest,
};
use recollect_tests::{
    Client, Failure, Refused as _, app, apply, by_id, context_request, history_request, mode, node,
    reply, say, texts, trial, turn,
};
use tonic::Code;
use uuid::Uuid;

use crate::access::done_to;
use crate::plain;

/// A thread whose first branch has lost its tail, while the second is active.
struct Pruned {
    client: Client,
    thread_id: String,
    /// The first branch's messages: the last two are deleted.
    first: Vec<String>,
    head: String,
}

impl Pruned {
    async fn new() -> Self {
        let client = plain().await;
        let thread_id = client.thread(&app()).await;
        let said = [turn("1", "2"), turn("3", "4"), turn("5", "6")].concat();
        let stored = client.append(&thread_id, said).await;
        let first: Vec<String> = stored.messages.into_iter().map(|m| m.message_id).collect();
        let other = reply(&first[1], Role::User, "another 3");
        let other = client.append(&thread_id, vec![other]).await;
        for tail in [&first[5], &first[4]] {
            delete(&client, &thread_id, tail).await;
        }
        Self {
            head: other.messages[0].message_id.clone(),
            client,
            thread_id,
            first,
        }
    }

    /// The state of the thread that a call could change.
    async fn state(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let (client, thread_id) = (&self.client, &self.thread_id);
        (
            client.get_thread(thread_id).await,
            client.all_messages(thread_id).await,
            done_to(client, thread_id).await,
        )
    }

    async fn append(&self, messages: Vec<MessageInput>, request_id: &str) -> Failure {
        let request = AppendMessagesRequest {
            thread: by_id(&self.thread_id),
            messages,
            request_id: request_id.to_owned(),
            ..Default::default()
        };
        let mut messages = self.client.messages();
        messages.append_messages(request).await.refused()
    }
}

async fn delete(client: &Client, thread_id: &str, message_id: &str) {
    client.delete_message(thread_id, message_id).await;
}

/// It is not found, and the error names the field.
#[track_caller]
fn missing(failure: Failure, field: &str) {
    let failure = failure.is(Code::NotFound, "MESSAGE_NOT_FOUND");
    assert_eq!(failure.metadata["field"], field);
    assert!(failure.message.contains(field), "{failure:?}");
}

#[apply(trial)]
async fn nothing_can_follow_a_deleted_message_of_another_branch() {
    let pruned = Pruned::new().await;
    let before = pruned.state().await;
    let request_id = Uuid::new_v4().to_string();
    for deleted in &pruned.first[4..] {
        let failure = pruned
            .append(vec![reply(deleted, Role::User, "7")], &request_id)
            .await;
        failure.names_field("messages[0].parent_message_id");
    }
    assert_eq!(pruned.state().await, before);
    // The request's id is not taken: with a parent that is there it is good.
    let Pruned {
        client,
        thread_id,
        first,
        head,
    } = &pruned;
    let left = AppendMessagesRequest {
        thread: by_id(thread_id),
        messages: vec![reply(&first[3], Role::User, "another 5")],
        request_id,
        expected_head: Some(head.clone()),
        ..Default::default()
    };
    let stored = client.call(left).await;
    assert_eq!((stored.messages[0].seq, stored.replayed), (8, false));
    let history = client.call(history_request(thread_id)).await;
    assert_eq!(texts(&history.messages), ["1", "2", "3", "4", "another 5"]);
}

#[apply(trial)]
async fn a_deleted_message_in_the_middle_of_a_batch_stops_all_of_it() {
    let pruned = Pruned::new().await;
    let before = pruned.state().await;
    let batch = vec![
        say(Role::User, "good"),
        reply(&pruned.first[3], Role::User, "good too"),
        reply(&pruned.first[5], Role::User, "bad"),
        say(Role::Assistant, "after it"),
    ];
    let failure = pruned.append(batch, "").await;
    failure.names_field("messages[2].parent_message_id");
    assert_eq!(pruned.state().await, before);
}

#[apply(trial)]
async fn nothing_can_follow_cleared_messages() {
    let pruned = Pruned::new().await;
    let (client, thread_id) = (&pruned.client, &pruned.thread_id);
    // Read once, so that it is remembered in memory if anything is.
    client.call(history_request(thread_id)).await;
    client.clear_thread(thread_id).await;
    let before = pruned.state().await;
    for deleted in pruned.first.iter().chain([&pruned.head]) {
        let failure = pruned
            .append(vec![reply(deleted, Role::User, "7")], "")
            .await;
        failure.names_field("messages[0].parent_message_id");
        missing(
            set_head(client, thread_id, deleted).await,
            "head_message_id",
        );
        missing(history(client, thread_id, deleted).await, "head_message_id");
    }
    assert_eq!(pruned.state().await, before);
    client.append_turn(thread_id, "a", "b").await;
    let history = client.call(history_request(thread_id)).await;
    assert_eq!(texts(&history.messages), ["a", "b"]);
}

async fn set_head(client: &Client, thread_id: &str, head: &str) -> Failure {
    let request = SetHeadRequest {
        thread: by_id(thread_id),
        head_message_id: head.to_owned(),
        expected_head: None,
    };
    client.refused(request).await
}

async fn history(client: &Client, thread_id: &str, head: &str) -> Failure {
    let request = GetHistoryRequest {
        head_message_id: head.to_owned(),
        ..history_request(thread_id)
    };
    client.refused(request).await
}

#[apply(trial)]
async fn a_deleted_message_cannot_be_a_head() {
    let pruned = Pruned::new().await;
    let (client, thread_id) = (&pruned.client, &pruned.thread_id);
    let before = pruned.state().await;
    let policy = |mode, recent_window| MemoryPolicy {
        mode: i32::from(mode),
        recent_window,
        ..Default::default()
    };
    for deleted in &pruned.first[4..] {
        missing(
            set_head(client, thread_id, deleted).await,
            "head_message_id",
        );
        missing(history(client, thread_id, deleted).await, "head_message_id");
        for policy in [
            policy(MemoryMode::Unspecified, None),
            policy(MemoryMode::Window, None),
            policy(MemoryMode::Hybrid, None),
            // Nothing is read back here, and yet it has to be there.
            policy(MemoryMode::Hybrid, Some(0)),
        ] {
            for query in ["", "3"] {
                let request = BuildContextRequest {
                    head_message_id: deleted.clone(),
                    policy: Some(policy.clone()),
                    query: query.to_owned(),
                    ..context_request(thread_id, "")
                };
                let failure = client.refused(request).await;
                missing(failure, "head_message_id");
            }
        }
    }
    assert_eq!(pruned.state().await, before);
    // The rest of the branch can be read.
    let request = GetHistoryRequest {
        head_message_id: pruned.first[3].clone(),
        ..history_request(thread_id)
    };
    let left = client.call(request).await;
    assert_eq!(texts(&left.messages), ["1", "2", "3", "4"]);
}

#[apply(trial)]
async fn a_node_is_not_asked_about_deleted_messages() {
    let pruned = Pruned::new().await;
    let (client, thread_id) = (&pruned.client, &pruned.thread_id);
    let planner = node(thread_id, "planner");
    client.add_node_turn(&planner, "Q", "A").await;
    for flushed in [false, true] {
        if flushed {
            client.flush_node(&planner).await;
        }
        for deleted in &pruned.first[4..] {
            let request = GetNodeHistoryRequest {
                node: Some(planner.clone()),
                current_message_id: deleted.clone(),
                ..Default::default()
            };
            let failure = client.refused(request).await;
            missing(failure, "current_message_id");
            let request = BuildContextRequest {
                policy: Some(mode(MemoryMode::Node)),
                node_id: "planner".to_owned(),
                current_message_id: deleted.clone(),
                ..context_request(thread_id, "And now?")
            };
            let failure = client.refused(request).await;
            missing(failure, "current_message_id");
        }
    }
}

//! Callers' own ids of messages.

use std::collections::HashSet;

use futures::future::join_all;
use memory_contract::proto::{
    AddNodeTurnRequest, AppendMessagesRequest, BuildContextRequest, DeleteMessageRequest,
    GetHistoryRequest, GetMessageRequest, GetObservationsRequest, LedgerKind, ListLedgerRequest,
    MemoryMode, Message, MessageInput, NodeMessageInput, PutWorkingMemoryRequest, Role,
    SetHeadRequest,
};
use recollect_tests::{
    Client, Key, Options, Server, app, apply, by_id, context_request, history_request, mode, node,
    reply, say, says, texts, trial, trial_with_own_server,
};
use tonic::Code;
use uuid::Uuid;

use crate::plain;

const ULID: &str = "01JD3Q7Z4M8T5V9W2X6Y0ZABCD";

fn named(id: &str, role: Role, text: &str) -> MessageInput {
    MessageInput {
        external_id: id.to_owned(),
        ..say(role, text)
    }
}

fn append(thread_id: &str, messages: Vec<MessageInput>) -> AppendMessagesRequest {
    AppendMessagesRequest {
        thread: by_id(thread_id),
        messages,
        ..Default::default()
    }
}

fn get(thread_id: &str, message_id: &str) -> GetMessageRequest {
    GetMessageRequest {
        thread: by_id(thread_id),
        message_id: message_id.to_owned(),
    }
}

fn history(thread_id: &str, head: &str) -> GetHistoryRequest {
    GetHistoryRequest {
        head_message_id: head.to_owned(),
        ..history_request(thread_id)
    }
}

/// A thread with a question `q1` and an answer `a1`.
async fn asked(client: &Client) -> String {
    let thread_id = client.thread(&app()).await;
    let messages = vec![
        named("q1", Role::User, "Who is Pixel?"),
        named("a1", Role::Assistant, "A dog."),
    ];
    client.append(&thread_id, messages).await;
    thread_id
}

#[apply(trial)]
async fn l14_own_ids_of_messages_come_back_as_they_came() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let uuid = Uuid::new_v4().to_string().to_uppercase();
    let longest = "é".repeat(128);
    let ids = [ULID, "msg_68f0/a b:c", &uuid, "日本語 🦀", &longest];
    for (number, id) in ids.iter().enumerate() {
        let message = named(id, Role::User, &format!("number {number}"));
        let stored = client.append(&thread_id, vec![message]).await;
        assert_eq!(stored.messages[0].external_id, *id);
        let found = client.call(get(&thread_id, id)).await.message.unwrap();
        assert_eq!(found.external_id, *id);
        assert_eq!(found.message_id, stored.messages[0].message_id);
        assert_ne!(found.message_id, *id);
    }
    client.append_text(&thread_id, "without one").await;
    let of = |messages: &[Message]| -> Vec<String> {
        messages.iter().map(|one| one.external_id.clone()).collect()
    };
    let expected: Vec<&str> = ids.into_iter().chain([""]).collect();
    assert_eq!(of(&client.all_messages(&thread_id).await), expected);
    let read = client.call(history_request(&thread_id)).await;
    assert_eq!(of(&read.messages), expected);
}

#[apply(trial)]
async fn l14_every_request_takes_an_own_id_of_a_message() {
    let client = &plain().await;
    let thread_id = asked(client).await;
    // Parents of the thread and of the same request, and the expected head.
    let request = AppendMessagesRequest {
        expected_head: Some("a1".to_owned()),
        ..append(
            &thread_id,
            vec![
                MessageInput {
                    external_id: "a2".to_owned(),
                    ..reply("q1", Role::Assistant, "A dog!")
                },
                MessageInput {
                    external_id: "q3".to_owned(),
                    ..reply("a2", Role::User, "Where does he swim?")
                },
                reply("a2", Role::User, "Where is he?"),
            ],
        )
    };
    let stored = client.call(request.clone()).await.messages;
    let branches: Vec<i32> = stored.iter().map(|one| one.branch).collect();
    assert_eq!(branches, [2, 2, 3]);
    let moved = AppendMessagesRequest {
        expected_head: Some("a1".to_owned()),
        ..append(&thread_id, vec![say(Role::User, "Hello?")])
    };
    let failure = client.refused(moved).await.is(Code::Aborted, "HEAD_MOVED");
    assert_eq!(failure.metadata["head"], stored[2].message_id);

    let read = client.call(history(&thread_id, "q3")).await;
    let expected = ["Who is Pixel?", "A dog!", "Where does he swim?"];
    assert_eq!(texts(&read.messages), expected);
    let context = BuildContextRequest {
        head_message_id: "q3".to_owned(),
        policy: Some(mode(MemoryMode::Window)),
        ..context_request(&thread_id, "And then?")
    };
    let by_uuid = BuildContextRequest {
        head_message_id: stored[1].message_id.clone(),
        ..context.clone()
    };
    assert_eq!(client.context(context).await, client.context(by_uuid).await);

    let set = |head: &str, expected: &str| SetHeadRequest {
        thread: by_id(&thread_id),
        head_message_id: head.to_owned(),
        expected_head: Some(expected.to_owned()),
    };
    let head = client.call(set("q3", &stored[2].message_id)).await;
    assert_eq!(head.thread.unwrap().head_message_id, stored[1].message_id);
    let failure = client.refused(set("a1", "a2")).await;
    failure.is(Code::Aborted, "HEAD_MOVED");
    let head = client.call(set("a1", "q3")).await.thread.unwrap();
    let answer = client.call(get(&thread_id, "a1")).await.message.unwrap();
    assert_eq!(head.head_message_id, answer.message_id);

    let observations = |head: &str| GetObservationsRequest {
        thread: by_id(&thread_id),
        head_message_id: head.to_owned(),
        ..Default::default()
    };
    let observed = client.call(observations("q3")).await;
    assert_eq!(observed.raw_message_count, 3);
    let ledger = |head: &str| ListLedgerRequest {
        thread: by_id(&thread_id),
        kind: LedgerKind::Summary.into(),
        head_message_id: head.to_owned(),
        include_texts: true,
        ..Default::default()
    };
    let ranges = client.call(ledger("q3")).await.ranges;
    assert_eq!(ranges[0].last_message_id, stored[1].message_id);

    let delete = |id: &str| DeleteMessageRequest {
        thread: by_id(&thread_id),
        message_id: id.to_owned(),
    };
    client.call(delete("q3")).await;
    for id in ["q3", "unknown"] {
        let missing = client.refused(get(&thread_id, id)).await;
        missing.is(Code::NotFound, "MESSAGE_NOT_FOUND");
        let missing = client.refused(history(&thread_id, id)).await;
        missing.is(Code::NotFound, "MESSAGE_NOT_FOUND");
        let missing = client.refused(observations(id)).await;
        missing.is(Code::NotFound, "MESSAGE_NOT_FOUND");
        let missing = client.refused(ledger(id)).await;
        missing.is(Code::NotFound, "MESSAGE_NOT_FOUND");
        let missing = client.refused(set(id, "a1")).await;
        missing.is(Code::NotFound, "MESSAGE_NOT_FOUND");
        assert!(!client.call(delete(id)).await.deleted);
        let orphan = append(&thread_id, vec![reply(id, Role::User, "?")]);
        let missing = client.refused(orphan).await;
        missing.names_field("messages[0].parent_message_id");
    }
}

#[apply(trial)]
async fn a_node_follows_messages_by_their_own_ids() {
    let client = &plain().await;
    let thread_id = asked(client).await;
    let node = node(&thread_id, "planner");
    let side = |id: &str, text: &str| {
        Some(NodeMessageInput {
            message_id: id.to_owned(),
            ..says(text)
        })
    };
    let turn = AddNodeTurnRequest {
        node: Some(node.clone()),
        user: side("q1", "plan it"),
        assistant: side("a1", "planned"),
        ..Default::default()
    };
    client.call(turn).await;
    client
        .append(&thread_id, vec![named("q2", Role::User, "And then?")])
        .await;
    let planned = ["plan it", "planned"];
    assert_eq!(client.node_dialogue(&node, "q2").await, planned);
    client.add_node_turn(&node, "go on", "done").await;
    for earlier in ["q1", "a1"] {
        assert_eq!(client.node_dialogue(&node, earlier).await, planned);
    }
    // A turn without an id belongs to the head.
    let planned = ["plan it", "planned", "go on", "done"];
    assert_eq!(client.node_dialogue(&node, "q2").await, planned);
    let question = client.call(get(&thread_id, "q2")).await.message.unwrap();
    let dialogue = client.node_dialogue(&node, &question.message_id).await;
    assert_eq!(dialogue, planned);
    let context = BuildContextRequest {
        policy: Some(mode(MemoryMode::Node)),
        node_id: "planner".to_owned(),
        current_message_id: "q2".to_owned(),
        ..context_request(&thread_id, "Go on.")
    };
    let by_uuid = BuildContextRequest {
        current_message_id: question.message_id,
        ..context.clone()
    };
    assert_eq!(client.context(context).await, client.context(by_uuid).await);
}

#[apply(trial)]
async fn l14_known_messages_are_not_stored_twice() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let mut question = named(ULID, Role::User, "Who?");
    question.name = "Ada".to_owned();
    question.metadata = recollect_tests::metadata(serde_json::json!({"b": 1, "a": [2]}));
    let request = AppendMessagesRequest {
        expected_head: Some(String::new()),
        ..append(
            &thread_id,
            vec![question.clone(), named("msg_1", Role::Assistant, "I.")],
        )
    };
    let first = client.call(request.clone()).await;
    client.append_text(&thread_id, "Later.").await;
    let again = client.call(request).await;
    assert!(!first.replayed && again.replayed);
    assert_eq!(again.messages, first.messages);

    // Stored apart, and repeated together.
    let third = named("msg_3", Role::User, "And who else?");
    let stored = client.append(&thread_id, vec![third.clone()]).await;
    let both = append(&thread_id, vec![third, question.clone()]);
    let both = client.call(both).await;
    assert!(both.replayed);
    assert_eq!(both.messages[0], stored.messages[0]);
    assert_eq!(both.messages[1], first.messages[0]);
    assert_eq!(client.all_messages(&thread_id).await.len(), 4);

    // The revision of a repeated append is reached like any other.
    let found = client
        .recall(recollect_tests::recall_request(
            &thread_id,
            "And who else?",
            &both.revision,
        ))
        .await;
    assert!(found.messages.iter().any(|one| {
        let message = one.message.as_ref().unwrap();
        message.external_id == "msg_3"
    }));
}

#[apply(trial)]
async fn an_own_id_names_one_message_of_a_thread() {
    let client = plain().await;
    let thread_id = asked(&client).await;
    let question = || named("q1", Role::User, "Who is Pixel?");
    let others = [
        named("q1", Role::User, "Who is Ada?"),
        named("q1", Role::Assistant, "Who is Pixel?"),
        MessageInput {
            name: "Ada".to_owned(),
            ..question()
        },
        MessageInput {
            metadata: recollect_tests::metadata(serde_json::json!({"a": 1})),
            ..question()
        },
        MessageInput {
            message_id: Uuid::new_v4().to_string(),
            ..question()
        },
        MessageInput {
            create_time: Some(prost_types::Timestamp::default()),
            ..question()
        },
        MessageInput {
            external_id: "q1".to_owned(),
            ..reply("a1", Role::User, "Who is Pixel?")
        },
    ];
    for other in others {
        let failure = client.refused(append(&thread_id, vec![other])).await;
        let failure = failure.is(Code::AlreadyExists, "MESSAGE_ALREADY_EXISTS");
        assert_eq!(failure.metadata["external_id"], "q1");
        assert!(failure.message.contains("q1"), "{}", failure.message);
    }
    // A known message beside a new one.
    let mixed = vec![say(Role::User, "Hello?"), question()];
    let failure = client.refused(append(&thread_id, mixed)).await;
    let failure = failure.is(Code::AlreadyExists, "MESSAGE_ALREADY_EXISTS");
    assert!(
        failure.message.contains("messages[1].external_id"),
        "{}",
        failure.message
    );
    // An erased message keeps its id.
    client.delete_message(&thread_id, "q1").await;
    let failure = client.refused(append(&thread_id, vec![question()])).await;
    failure.is(Code::AlreadyExists, "MESSAGE_ALREADY_EXISTS");
    assert_eq!(client.all_messages(&thread_id).await.len(), 1);

    // Another thread has ids of its own, and so has a thread that was cleared.
    let other = asked(&client).await;
    let [first, second] = [&thread_id, &other].map(|thread| get(thread, "a1"));
    let first = client.call(first).await.message.unwrap();
    let second = client.call(second).await.message.unwrap();
    assert_eq!(second.thread_id, other);
    assert_ne!(first.message_id, second.message_id);
    client.clear_thread(&thread_id).await;
    let stored = client.append(&thread_id, vec![question()]).await;
    assert!(!stored.replayed);
}

#[apply(trial)]
async fn a_message_id_is_preferred_to_an_own_id() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let first = client.append_text(&thread_id, "first").await.messages;
    let id = first[0].message_id.as_str();
    client
        .append(&thread_id, vec![named(id, Role::User, "second")])
        .await;
    let found = client.call(get(&thread_id, id)).await.message.unwrap();
    assert_eq!(found.external_id, "");
    client.delete_message(&thread_id, id).await;
    let found = client.call(get(&thread_id, id)).await.message.unwrap();
    assert_eq!(found.external_id, id);
}

#[apply(trial)]
async fn own_ids_within_an_append_are_checked() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let wrong = |messages: Vec<MessageInput>| client.refused(append(&thread_id, messages));
    let twice = vec![named("a", Role::User, "x"), named("a", Role::User, "x")];
    wrong(twice).await.names_field("messages[1].external_id");
    for id in ["a\nb", "\u{7f}", "\0", &"x".repeat(129)] {
        let message = named(id, Role::User, "x");
        wrong(vec![message])
            .await
            .names_field("messages[0].external_id");
    }
    let parent = "messages[0].parent_message_id";
    for messages in [
        vec![MessageInput {
            external_id: "a".to_owned(),
            ..reply("a", Role::User, "x")
        }],
        vec![reply("b", Role::User, "x"), named("b", Role::User, "y")],
    ] {
        wrong(messages).await.names_field(parent);
    }
    assert!(client.all_messages(&thread_id).await.is_empty());
}

#[apply(trial)]
async fn concurrent_appends_of_one_own_id_store_one_message() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let same = (0..8).map(|_| {
        let message = named(ULID, Role::User, "once");
        client.call(append(&thread_id, vec![message]))
    });
    let answers = join_all(same).await;
    let stored = answers.iter().filter(|answer| !answer.replayed).count();
    assert_eq!(stored, 1);
    let ids: HashSet<&str> = answers
        .iter()
        .map(|answer| answer.messages[0].message_id.as_str())
        .collect();
    assert_eq!(ids.len(), 1);

    let different = (0..8).map(|number| {
        let message = named("other", Role::User, &format!("number {number}"));
        let request = append(&thread_id, vec![message]);
        let client = &client;
        async move { client.messages().append_messages(request).await }
    });
    let answers = join_all(different).await;
    let stored = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(stored, 1);
    for refused in answers.into_iter().flat_map(Result::err) {
        assert_eq!(refused.code(), Code::AlreadyExists, "{refused:?}");
    }
    assert_eq!(client.all_messages(&thread_id).await.len(), 2);
}

#[apply(trial)]
async fn a_working_memory_is_aligned_by_own_ids() {
    let client = &plain().await;
    let thread_id = client.thread(&app()).await;
    let said = |(message_id, external_id, text): (&str, &str, &str)| Message {
        message_id: message_id.to_owned(),
        external_id: external_id.to_owned(),
        role: Role::User.into(),
        parts: say(Role::User, text).parts,
        create_time: Some(prost_types::Timestamp::default()),
        ..Default::default()
    };
    let put = |messages: Vec<Message>| PutWorkingMemoryRequest {
        thread: by_id(&thread_id),
        messages,
        ..Default::default()
    };
    let of = |answer: memory_contract::proto::PutWorkingMemoryResponse| -> Vec<(String, String)> {
        let memory = answer.working_memory.unwrap();
        let messages = memory.messages.into_iter();
        messages
            .map(|one| (one.message_id, one.external_id))
            .collect()
    };
    // The same messages again, with a new one at the end, as a cache of chat messages
    // sends them.
    let other = "01JD3Q7Z4M8T5V9W2X6Y0ZABCE";
    let first = vec![said((ULID, "", "same")), said(("", "msg_2", "same"))];
    let stored = of(client.call(put(first.clone())).await);
    let own = |stored: &[(String, String)]| -> Vec<String> {
        stored
            .iter()
            .map(|(_, external)| external.clone())
            .collect()
    };
    assert_eq!(own(&stored), [ULID, "msg_2"]);
    let mut second = first;
    second.push(said((other, other, "same")));
    let grown = of(client.call(put(second.clone())).await);
    assert_eq!(own(&grown), [ULID, "msg_2", other]);
    assert_eq!(grown[..2], stored[..]);
    let same = client.call(put(second)).await;
    assert_eq!(same.revision, "");
    assert_eq!(of(same), grown);
    // By the ids that were returned, and the first one is set aside.
    let kept = vec![said((&grown[1].0, "", "same")), said(("", other, "same"))];
    assert_eq!(of(client.call(put(kept)).await), grown[1..]);
    assert_eq!(client.all_messages(&thread_id).await.len(), 3);
    // A message that the thread has in another place, and an erased one.
    let turned = vec![said((other, "", "same")), said(("msg_2", "", "same"))];
    let turned = of(client.call(put(turned)).await);
    assert_eq!(own(&turned), [other, "msg_2"]);
    assert_eq!(turned[0], grown[2]);
    assert_ne!(turned[1].0, grown[1].0);
    client.delete_message(&thread_id, other).await;
    let erased = vec![said(("msg_2", "", "same")), said((other, "", "same"))];
    let failure = client.refused(put(erased)).await;
    let failure = failure.is(Code::AlreadyExists, "MESSAGE_ALREADY_EXISTS");
    assert!(
        failure.message.contains("messages[1].external_id"),
        "{}",
        failure.message
    );
    let both = vec![said(("a", "b", "x"))];
    let failure = client.refused(put(both)).await;
    let failure = failure.names_field("messages[0].message_id");
    assert!(failure.fields[0].1.contains("external id"), "{failure:?}");
}

#[apply(trial_with_own_server)]
async fn own_ids_survive_a_restart() {
    let options = Options::default();
    let (dir, server, client) = Server::start_own(&options).await;
    let thread_id = asked(&client).await;
    client.delete_message(&thread_id, "a1").await;
    assert!(server.stop().await.success());
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let question = client.call(get(&thread_id, "q1")).await.message.unwrap();
    assert_eq!(question.external_id, "q1");
    let again = vec![named("q1", Role::User, "Who is Pixel?")];
    assert!(client.append(&thread_id, again).await.replayed);
    let erased = append(&thread_id, vec![named("a1", Role::Assistant, "A dog.")]);
    let failure = client.refused(erased).await;
    failure.is(Code::AlreadyExists, "MESSAGE_ALREADY_EXISTS");
}

//! Watching a thread on one server.

use std::collections::HashSet;
use std::time::Duration;

use memory_contract::proto::{
    CreateApiKeyRequest, FileRef, ImportMessagesRequest, KeyScope, MemoryPolicy, MessageInput,
    MessagesAppended, Part, Role, SetHeadRequest, Thread, UpdateMessageRequest,
    UpdateThreadRequest, WatchThreadRequest, WatchThreadResponse, file_ref, part,
    watch_thread_response::Event,
};
use recollect_tests::{
    Client, Events, Key, PLAIN, Refused as _, Reported, Spawned, app, apply, by_id, by_session,
    mask, node, say, session, trial, watch_request,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio_stream::StreamExt as _;
use tonic::{Code, Request};

use crate::plain;
use crate::threads::ephemeral::ephemeral;

/// Does all kinds of things to a thread, and returns what they are called.
pub async fn change(client: &Client, thread_id: &str) -> Vec<&'static str> {
    let stored = client.append_turn(thread_id, "Q1", "A1").await;
    client.append_turn(thread_id, "Q2", "A2").await;
    let head = SetHeadRequest {
        thread: by_id(thread_id),
        head_message_id: stored.messages[1].message_id.clone(),
        expected_head: None,
    };
    client.call(head).await;
    let update = UpdateThreadRequest {
        thread: Some(Thread {
            thread_id: thread_id.to_owned(),
            policy: Some(MemoryPolicy {
                top_k: Some(7),
                ..Default::default()
            }),
            ..Default::default()
        }),
        update_mask: Some(mask(&["policy"])),
        precondition: None,
    };
    client.call(update).await;
    let update = UpdateMessageRequest {
        thread: by_id(thread_id),
        message_id: stored.messages[1].message_id.clone(),
        metadata: Some(r#"{"seen": true}"#.to_owned()),
    };
    client.call(update).await;
    client
        .delete_message(thread_id, &stored.messages[0].message_id)
        .await;
    client.clear_thread(thread_id).await;
    vec![
        "append_messages",
        "append_messages",
        "set_head",
        "update_thread",
        "update_message",
        "delete_message",
        "clear_thread",
    ]
}

pub async fn delete(client: &Client, thread_id: &str) {
    client.delete_thread(thread_id).await;
}

#[apply(trial)]
async fn a_watch_reports_changes_in_order_and_ends_with_the_thread() {
    let (one, other) = (plain().await, PLAIN.client(Key::AcmeToo).await);
    let app = app();
    let (thread_id, other_thread) = (one.thread(&app).await, one.thread(&app).await);
    one.append_turn(&thread_id, "Before?", "Before.").await;
    let mut events = one.watch(&thread_id, "").await;
    assert_eq!(events.first.actor, Key::Acme.name());
    one.append_turn(&other_thread, "Elsewhere?", "Elsewhere.")
        .await;

    for action in change(&other, &thread_id).await {
        let event = events.next().await;
        assert_eq!(event.action(), action);
        assert_eq!(event.actor, Key::AcmeToo.name());
        match action {
            "append_messages" | "clear_thread" => assert!(event.item_count() >= 2, "{event:?}"),
            "set_head" | "update_message" | "delete_message" => {
                assert!(!event.subject().is_empty(), "{event:?}")
            }
            _ => assert_eq!(event.item_count(), 1),
        }
    }
    one.add_node_turn(&node(&thread_id, "planner"), "Q", "A")
        .await;
    let event = events.next().await;
    assert_eq!(event.action(), "add_node_turn");
    assert_eq!(event.subject(), "planner");
    // A refused call is not a change.
    let head = SetHeadRequest {
        thread: by_id(&thread_id),
        head_message_id: uuid::Uuid::new_v4().to_string(),
        expected_head: None,
    };
    one.refused(head).await;

    delete(&one, &thread_id).await;
    let (rest, failure) = events.rest().await;
    assert_eq!(failure, None);
    let rest: Vec<String> = rest.iter().map(Reported::action).collect();
    assert_eq!(rest, ["delete_thread"]);
    let request = watch_request(&thread_id, "");
    let missing = one.threads().watch_thread(request).await.refused();
    missing.is(Code::NotFound, "THREAD_NOT_FOUND");
}

#[apply(trial)]
async fn a_watch_continues_after_its_cursor() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let events = client.watch(&thread_id, "").await;
    let start = events.first.cursor.clone();
    drop(events);
    let expected = change(&client, &thread_id).await;

    // From the start, from the middle, from the end. What comes once more is what
    // came just before.
    let mut events = client.watch(&thread_id, &start).await;
    let mut reported: Vec<WatchThreadResponse> = Vec::new();
    while reported
        .last()
        .is_none_or(|last| last.action() != "clear_thread")
    {
        reported.push(events.next().await);
    }
    let own = reported.len() - expected.len();
    let before = &reported[..own];
    assert!(before.iter().all(|event| event.action() == "create_thread"));
    let actions: Vec<String> = reported[own..].iter().map(Reported::action).collect();
    assert_eq!(actions, expected);
    let times: HashSet<String> = reported
        .iter()
        .map(|event| format!("{:?}", event.create_time))
        .collect();
    assert_eq!(
        times.len(),
        reported.len(),
        "nothing comes twice in one stream"
    );

    for (place, event) in reported.iter().enumerate() {
        let mut events = client.watch(&thread_id, &event.cursor).await;
        if place == reported.len() - 1 {
            client.append_turn(&thread_id, "Last?", "Last.").await;
        }
        let found = |event: &WatchThreadResponse| match reported.get(place + 1) {
            Some(next) => event.create_time == next.create_time,
            None => reported
                .iter()
                .all(|old| old.create_time != event.create_time),
        };
        while !found(&events.next().await) {}
    }
}

/// The appended messages that an event reports, or the next one that reports some.
async fn appended(events: &mut Events) -> MessagesAppended {
    loop {
        if let Some(Event::MessagesAppended(appended)) = events.next().await.event {
            return appended;
        }
    }
}

#[apply(trial)]
async fn a_watch_names_appended_messages_and_sends_their_content_on_request() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let mut named = client.watch(&thread_id, "").await;
    let mut whole = client.watch_contents(&thread_id, "").await;
    let start = named.first.cursor.clone();
    let stored = client.append_turn(&thread_id, "Q", "A").await;
    let known = client.all_messages(&thread_id).await;

    let reported = appended(&mut named).await;
    assert_eq!((reported.first_seq, reported.message_count), (1, 2));
    for (message, stored) in reported.messages.iter().zip(&stored.messages) {
        let named = (message.message_id.as_str(), message.seq);
        assert_eq!(named, (stored.message_id.as_str(), stored.seq));
        assert_eq!(message.message, None);
    }
    let reported = appended(&mut whole).await;
    let contents: Vec<_> = reported
        .messages
        .iter()
        .filter_map(|one| one.message.clone())
        .collect();
    assert_eq!(contents, known);
    assert!(!reported.content_omitted);

    // What was erased since is not sent any more.
    client
        .delete_message(&thread_id, &stored.messages[0].message_id)
        .await;
    for mut events in [
        client.watch(&thread_id, &start).await,
        client.watch_contents(&thread_id, &start).await,
    ] {
        let reported = appended(&mut events).await;
        assert_eq!((reported.first_seq, reported.message_count), (1, 2));
        let left: Vec<_> = reported.messages.iter().map(|one| one.seq).collect();
        assert_eq!(left, [2]);
    }
    client.clear_thread(&thread_id).await;
    let mut events = client.watch_contents(&thread_id, &start).await;
    assert_eq!(appended(&mut events).await.messages, []);
}

#[apply(trial)]
async fn a_watch_names_messages_by_external_ids() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let mut named = client.watch(&thread_id, "").await;
    let mut whole = client.watch_contents(&thread_id, "").await;
    let own = MessageInput {
        external_id: "msg_7".to_owned(),
        ..say(Role::User, "Q")
    };
    let stored = client
        .append(&thread_id, vec![own, say(Role::Assistant, "A")])
        .await;
    for events in [&mut named, &mut whole] {
        let messages = appended(events).await.messages;
        let ids: Vec<&str> = messages
            .iter()
            .map(|one| one.external_id.as_str())
            .collect();
        assert_eq!(ids, ["msg_7", ""]);
    }
    // Only a digest of the id is left of an erased message.
    client.delete_message(&thread_id, "msg_7").await;
    client
        .delete_message(&thread_id, &stored.messages[1].message_id)
        .await;
    let digest = Sha256::digest(format!("{thread_id}:msg_7")).to_vec();
    for (stored, digest) in stored.messages.iter().zip([digest, Vec::new()]) {
        let Some(Event::MessageDeleted(deleted)) = named.next().await.event else {
            panic!("a message was deleted");
        };
        assert_eq!(deleted.message_id, stored.message_id);
        assert_eq!(deleted.external_id_digest, digest);
    }
}

#[apply(trial)]
async fn an_event_has_as_much_content_as_fits() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let mut events = client.watch_contents(&thread_id, "").await;
    // The registered data of a file may be long, so room for it is reserved.
    let mut message = say(Role::User, &"x".repeat(40 << 10));
    let file = || Part {
        content: Some(part::Content::File(FileRef {
            r#type: memory_contract::proto::FileType::Image.into(),
            location: Some(file_ref::Location::Url(
                "https://example.com/x.png".to_owned(),
            )),
            ..Default::default()
        })),
        ..Default::default()
    };
    message.parts.extend((0..63).map(|_| file()));
    client.append(&thread_id, vec![message; 10]).await;
    let reported = appended(&mut events).await;
    assert_eq!(reported.messages.len(), 10);
    assert!(reported.content_omitted);
    let whole = reported.messages.iter().filter(|one| one.message.is_some());
    let whole = whole.count();
    assert!((1..10).contains(&whole), "{whole}");
    // A later event has its content again.
    client.append_text(&thread_id, "Short").await;
    let reported = appended(&mut events).await;
    assert!(!reported.content_omitted && reported.messages[0].message.is_some());
}

#[apply(trial)]
async fn a_watch_finds_the_thread_of_a_session() {
    let client = plain().await;
    let session = session(&app(), "ada", "thread:1");
    let request = WatchThreadRequest {
        thread: by_session(session.clone()),
        ..Default::default()
    };
    let answer = client.threads().watch_thread(request.clone()).await;
    answer.refused().is(Code::NotFound, "THREAD_NOT_FOUND");
    let thread_id = client.resolve(session).await.thread_id;
    let stream = client.threads().watch_thread(request.clone()).await;
    let mut events = Events::begin(stream.unwrap().into_inner()).await;
    client.append_turn(&thread_id, "Q", "A").await;
    let event = events.next().await;
    assert_eq!(event.action(), "append_messages");
    // The cursor is the thread's, however it is named.
    drop(client.watch(&thread_id, &event.cursor).await);
    let neither = WatchThreadRequest {
        thread: None,
        ..request
    };
    let answer = client.threads().watch_thread(neither).await;
    answer.refused().names_field("thread");
}

#[apply(trial)]
async fn a_cursor_belongs_to_its_thread() {
    let client = plain().await;
    let app = app();
    let (one, other) = (client.thread(&app).await, client.thread(&app).await);
    let cursor = client.watch(&one, "").await.first.cursor;
    for wrong in ["x", "AAAA", &cursor[1..], &format!("{cursor}AAAA")] {
        let request = watch_request(&one, wrong);
        let answer = client.threads().watch_thread(request).await;
        answer.refused().names_field("cursor");
    }
    let others = watch_request(&other, &cursor);
    let answer = client.threads().watch_thread(others).await;
    answer.refused().names_field("cursor");
    drop(client.watch(&one, &cursor).await);
}

#[apply(trial)]
async fn an_ephemeral_thread_can_be_watched() {
    let client = plain().await;
    let thread_id = ephemeral(&client, &app(), "ada").await;
    let mut events = client.watch(&thread_id, "").await;
    client.append_turn(&thread_id, "Q", "A").await;
    assert_eq!(events.actions(1).await, ["append_messages"]);
    delete(&client, &thread_id).await;
    assert_eq!(events.actions(1).await, ["delete_thread"]);
    assert_eq!(events.rest().await, (vec![], None));
}

#[apply(trial)]
async fn a_slow_reader_of_a_watch_misses_nothing() {
    const CHANGES: usize = 1_200;

    let client = plain().await;
    let app = app();
    let named = session(&app, "ada", "thread:long");
    let thread_id = client.resolve(named.clone()).await.thread_id;
    let slow = client.watch(&thread_id, "").await;
    let mut quick = client.watch(&thread_id, "").await;
    let requests: Vec<_> = (0..CHANGES)
        .map(|number| ImportMessagesRequest {
            thread: by_session(named.clone()),
            messages: vec![say(Role::User, &number.to_string())],
            request_id: uuid::Uuid::new_v4().to_string(),
            ..Default::default()
        })
        .collect();
    // More than the stream's window holds, while one reads and one does not.
    let import = async {
        let writer = PLAIN.client(Key::AcmeToo).await;
        let stream = tokio_stream::iter(requests);
        let answers = writer.messages().import_messages(stream).await;
        let answers: Vec<_> = answers.unwrap().into_inner().collect().await;
        answers.len()
    };
    let (imported, actions) = tokio::join!(import, quick.actions(CHANGES));
    assert_eq!(imported, CHANGES);
    assert!(actions.iter().all(|action| action == "append_messages"));
    delete(&client, &thread_id).await;
    let (events, failure) = slow.rest().await;
    assert_eq!(failure, None);
    assert_eq!(events.len(), CHANGES + 1);
    let in_order = events.is_sorted_by_key(|event| {
        let time = event.create_time.unwrap();
        (time.seconds, time.nanos)
    });
    assert!(in_order);
}

#[apply(trial)]
async fn a_watch_ends_at_the_callers_deadline() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let mut request = Request::new(watch_request(&thread_id, ""));
    request.set_timeout(Duration::from_secs(5));
    let stream = client.threads().watch_thread(request).await.unwrap();
    let events = Events::begin(stream.into_inner()).await;
    client.append_turn(&thread_id, "Q", "A").await;
    let (reported, failure) = events.rest().await;
    assert_eq!(reported.len(), 1, "{reported:?}");
    let failure = failure.expect("it cannot end well");
    failure.is(Code::DeadlineExceeded, "DEADLINE_EXCEEDED");
}

#[apply(trial)]
async fn a_watch_ends_when_its_key_is_revoked() {
    let admin = plain().await;
    let thread_id = admin.thread(&app()).await;
    let name = format!("key-{}", app());
    let request = CreateApiKeyRequest {
        name: name.clone(),
        scopes: vec![KeyScope::Read.into()],
        ..Default::default()
    };
    let made = admin.call(request).await;
    let header = format!("Bearer {}", made.secret);
    let reader = Client::with_authorization(&PLAIN.ready().addr, Some(&header)).await;
    let mut events = reader.watch(&thread_id, "").await;
    assert_eq!(events.first.actor, name);
    admin.append_turn(&thread_id, "Q", "A").await;
    assert_eq!(events.actions(1).await, ["append_messages"]);
    admin.revoke_key(&name).await;
    let (reported, failure) = events.rest().await;
    assert!(reported.is_empty());
    let failure = failure.expect("it cannot end well");
    failure.is(Code::Unauthenticated, "UNAUTHENTICATED");
}

#[apply(trial)]
async fn the_cli_prints_what_is_done() {
    let client = plain().await;
    let app = app();
    let session = session(&app, "ada", "thread:1");
    let thread_id = client.resolve(session).await.thread_id;
    let (addr, key) = (&PLAIN.ready().addr, Key::Acme.secret());
    let env = [("RECOLLECT_API_KEY", key.as_str())];
    let named = ["--app", &app, "--user", "ada", "--session", "thread:1"];
    let args = [&["watch", "--addr", addr][..], &named].concat();
    let lines = Spawned::start(&args, &env);
    let json = Spawned::start(&["watch", "--addr", addr, "--json", &thread_id], &env);
    assert!(lines.line().contains("watch"));
    let first: Value = serde_json::from_str(&json.line()).unwrap();
    assert!(first["started"].is_object(), "{first}");
    client.append_turn(&thread_id, "Q", "A").await;
    delete(&client, &thread_id).await;
    let line = lines.line();
    let words: Vec<&str> = line.split_whitespace().skip(2).collect();
    assert_eq!(words, ["append_messages", "2", Key::Acme.name(), "1"]);
    assert!(lines.line().contains("delete_thread"));
    for name in ["messagesAppended", "threadDeleted"] {
        let event: Value = serde_json::from_str(&json.line()).unwrap();
        assert!(event[name].is_object(), "{event}");
    }
    assert_eq!((lines.code(), json.code()), (Some(0), Some(0)));
    let missing = recollect_tests::recollect(&["watch", "--addr", addr, &thread_id], &env);
    assert_eq!(missing.code, Some(4), "{missing:?}");
}

#[apply(trial)]
async fn the_cli_stops_watching_at_once() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let key = Key::Acme.secret();
    let env = [("RECOLLECT_API_KEY", key.as_str())];
    let watch = Spawned::start(&["watch", "--addr", &PLAIN.ready().addr, &thread_id], &env);
    assert!(watch.line().contains("watch"));
    watch.interrupt();
    assert_eq!(watch.code(), Some(0));
}

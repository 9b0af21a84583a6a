//! Working memories expire and are deleted.

use std::time::Duration;

use memory_contract::proto::{
    BuildContextRequest, ContextBlockKind, DeleteWorkingMemoryRequest, GetWorkingMemoryRequest,
    GetWorkingMemoryResponse, MemoryMode, MemoryPolicy, PutWorkingMemoryRequest, Role,
    WorkingMemory,
};
use recollect_tests::{
    Client, DataDir, Key, Options, SOON, Server, app, apply, by_id, context_request, eventually,
    eventually_some, listed, metadata, reply, seconds, session, trial, trial_with_own_server,
};
use serde_json::json;

use super::{
    all_of, archive, get, put, put_in, put_memory, put_of, read, said, set_aside, texts,
    thread_with,
};
use crate::access::done_to;
use crate::plain;
use crate::threads::ephemeral::ephemeral;

fn full(thread_id: &str, ttl_seconds: i64) -> PutWorkingMemoryRequest {
    PutWorkingMemoryRequest {
        messages: vec![said(Role::User, "one"), said(Role::Assistant, "two")],
        summary: Some("Before that they met.".to_owned()),
        memories: vec![listed("Ada counts.")],
        data: Some(metadata(json!({"n": 2}))),
        ttl: (ttl_seconds > 0).then_some(seconds(ttl_seconds)),
        ..put_of(thread_id, Vec::new())
    }
}

async fn look(client: &Client, thread_id: &str) -> GetWorkingMemoryResponse {
    let request = GetWorkingMemoryRequest {
        thread: by_id(thread_id),
        ..Default::default()
    };
    read(client, request).await
}

async fn delete(client: &Client, thread_id: &str) -> bool {
    let request = DeleteWorkingMemoryRequest {
        thread: by_id(thread_id),
    };
    client.call(request).await.deleted
}

#[track_caller]
fn check_empty(memory: &WorkingMemory) {
    assert_eq!(texts(memory), [""; 0]);
    assert_eq!(memory.summary, "");
    assert_eq!(memory.memories, []);
    assert!(memory.data.is_empty());
    assert_eq!(memory.expire_time, None);
    assert_eq!((memory.message_tokens, memory.summary_tokens), (0, 0));
    assert_eq!(memory.context_percentage_total_used, 0.0);
    assert_eq!(memory.summarized_message_count, 0);
}

#[apply(trial)]
async fn r12_a_deleted_working_memory_leaves_the_history_and_promoted_memories() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    assert!(!delete(&client, &thread_id).await);
    let before = put_memory(&client, full(&thread_id, 0)).await;
    assert!(delete(&client, &thread_id).await);
    let after = get(&client, &thread_id).await;
    check_empty(&after);
    assert_ne!(after.etag, before.etag);
    assert!(!delete(&client, &thread_id).await);
    assert_eq!(archive(&client, &thread_id).await, ["one", "two"]);
    assert_eq!(set_aside(&client, &thread_id).await, 2);
    assert_eq!(client.all_memories(&app, "ada").await.len(), 1);
    // It starts again with what is said next.
    client.append_turn(&thread_id, "three", "four").await;
    assert_eq!(texts(&get(&client, &thread_id).await), ["three", "four"]);
    let done = done_to(&client, &thread_id).await;
    let deleted = done
        .iter()
        .filter(|(_, action, ..)| action == "delete_working_memory");
    assert_eq!(deleted.count(), 1);
}

#[apply(trial_with_own_server)]
async fn r13_without_a_ttl_a_working_memory_stays_over_a_restart() {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (dir, server, client) = Server::start_own(&options).await;
    let thread_id = client.thread(&app()).await;
    let stored = put_memory(&client, full(&thread_id, 0)).await;
    assert_eq!(stored.expire_time, None);
    drop(client);
    drop(server);
    let server = Server::start(&dir, &options);
    let client = Client::new(&server.ready().addr, Key::Acme).await;
    let mut found = get(&client, &thread_id).await;
    // It may have been promoted meanwhile.
    for one in &mut found.memories {
        one.persist_time = stored.memories[0].persist_time;
    }
    assert_eq!(found, stored);
}

#[apply(trial)]
async fn r13_a_working_memory_is_forgotten_when_its_time_has_come() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let stored = put_memory(&client, full(&thread_id, 1)).await;
    assert!(stored.expire_time.is_some());
    assert_eq!(texts(&stored), ["one", "two"]);
    let found = eventually_some("it is forgotten", SOON, async || {
        let found = look(&client, &thread_id).await;
        found
            .working_memory
            .as_ref()
            .unwrap()
            .expire_time
            .is_none()
            .then_some(found)
    })
    .await;
    assert!(!found.rebuilt);
    check_empty(&found.working_memory.unwrap());
    assert_eq!(archive(&client, &thread_id).await, ["one", "two"]);
    assert_eq!(set_aside(&client, &thread_id).await, 2);
    assert_eq!(client.all_memories(&app, "ada").await.len(), 1);
    client.append_turn(&thread_id, "three", "four").await;
    assert_eq!(texts(&get(&client, &thread_id).await), ["three", "four"]);
    // Another one may take its place as if it had never been.
    let mut request = put_in(session(&app, "ada", "fresh"), vec![said(Role::User, "x")]);
    request.ttl = Some(seconds(1));
    let short = put_memory(&client, request.clone()).await;
    eventually("nothing is there to have been read", SOON, async || {
        let answer = client
            .working_memories()
            .put_working_memory(request.clone())
            .await;
        answer.is_ok()
    })
    .await;
    assert_eq!(archive(&client, &short.thread_id).await, ["x", "x"]);
}

#[apply(trial_with_own_server)]
async fn r13_an_expired_working_memory_is_swept_without_being_read() {
    let dir = DataDir::new();
    let config = [
        "embedding.kind = \"none\"",
        "worker.expiry_interval = \"1s\"",
    ];
    let server = Server::start(&dir, &Options::with(&config));
    let client = Client::new(&server.ready().addr, Key::Acme).await;
    let thread_id = client.thread(&app()).await;
    put(&client, full(&thread_id, 1)).await;
    eventually("it is swept", SOON, async || {
        let done = done_to(&client, &thread_id).await;
        done.iter().any(|(actor, action, ..)| {
            (actor.as_str(), action.as_str()) == ("worker", "expire_working_memory")
        })
    })
    .await;
    check_empty(&get(&client, &thread_id).await);
    assert_eq!(set_aside(&client, &thread_id).await, 2);
}

/// Waits until its time is over, and does not read it.
async fn outlive(memory: &WorkingMemory) {
    let end = memory.expire_time.unwrap();
    let now = || {
        let now = std::time::SystemTime::now();
        now.duration_since(std::time::UNIX_EPOCH).unwrap()
    };
    let end = Duration::new(end.seconds.unsigned_abs(), end.nanos.unsigned_abs());
    tokio::time::sleep(end.saturating_sub(now()) + Duration::from_millis(50)).await;
}

#[apply(trial)]
async fn messages_after_an_expiry_are_in_full() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    outlive(&put_memory(&client, full(&thread_id, 1)).await).await;
    client.append_turn(&thread_id, "three", "four").await;
    let found = get(&client, &thread_id).await;
    assert_eq!(texts(&found), ["three", "four"]);
    assert_eq!(found.summary, "");
    assert_eq!(set_aside(&client, &thread_id).await, 2);
}

#[apply(trial)]
async fn no_context_uses_an_expired_working_memory() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = put_memory(&client, full(&thread_id, 1)).await;
    let request = BuildContextRequest {
        policy: Some(MemoryPolicy {
            mode: MemoryMode::Working.into(),
            memories_top_k: Some(0),
            ..Default::default()
        }),
        ..context_request(&thread_id, "What was before?")
    };
    outlive(&stored).await;
    let context = client.context(request).await;
    let kinds: Vec<_> = context.blocks.iter().map(|block| block.kind()).collect();
    assert_eq!(kinds, [ContextBlockKind::Input], "{context:?}");
}

#[apply(trial)]
async fn a_deleted_one_does_not_come_back_on_another_branch() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = put_memory(&client, full(&thread_id, 0)).await;
    assert!(delete(&client, &thread_id).await);
    let again = reply(&stored.messages[0].message_id, Role::Assistant, "two again");
    client.append(&thread_id, vec![again]).await;
    assert_eq!(get(&client, &thread_id).await.summary, "");
}

#[apply(trial)]
async fn r14_an_expired_working_memory_is_rebuilt_from_the_thread() {
    let client = plain().await;
    let app = app();
    let policy = MemoryPolicy {
        rebuild_expired: Some(true),
        ..Default::default()
    };
    let thread_id = thread_with(&client, &app, policy).await;
    client.append_turn(&thread_id, "first", "second").await;
    put(&client, full(&thread_id, 1)).await;
    let found = eventually_some("it is made anew", SOON, async || {
        let found = look(&client, &thread_id).await;
        found.rebuilt.then_some(found)
    })
    .await;
    let memory = found.working_memory.unwrap();
    assert_eq!(texts(&memory), ["first", "second", "one", "two"]);
    assert_eq!(memory.summary, "");
    assert_eq!(memory.memories, []);
    assert!(memory.data.is_empty());
    assert_eq!(memory.expire_time, None);
    assert_eq!(set_aside(&client, &thread_id).await, 0);
    // A read changes nothing: it is reported until a working memory is put.
    let again = look(&client, &thread_id).await;
    assert!(again.rebuilt);
    assert_eq!(again.working_memory.as_ref(), Some(&memory));
    put(&client, put_of(&thread_id, all_of(&memory))).await;
    let again = look(&client, &thread_id).await;
    assert!(!again.rebuilt);
    assert_eq!(again.working_memory.unwrap().messages.len(), 4);
}

#[apply(trial)]
async fn clearing_a_thread_erases_its_working_memory() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    put(&client, full(&thread_id, 0)).await;
    client.clear_thread(&thread_id).await;
    check_empty(&get(&client, &thread_id).await);
    assert!(!delete(&client, &thread_id).await);
}

#[apply(trial)]
async fn an_ephemeral_thread_has_a_working_memory() {
    let client = plain().await;
    let thread_id = ephemeral(&client, &app(), "ada").await;
    let put = put_memory(&client, full(&thread_id, 0)).await;
    assert_eq!(texts(&get(&client, &thread_id).await), texts(&put));
    assert_eq!(archive(&client, &thread_id).await, ["one", "two"]);
    assert!(delete(&client, &thread_id).await);
    check_empty(&get(&client, &thread_id).await);
}

//! A tenant stores at most so many messages and bytes.

use memory_contract::proto::import_messages_response::Outcome;
use memory_contract::proto::{
    AddMemoriesRequest, AgentEvent, AppendAttemptRequest, AppendEventsRequest,
    AppendMessagesRequest, DeleteMemoryFileRequest, ErrorReason, ExtractionStrategy,
    GetServerInfoRequest, GetThreadRequest, ImportMessagesRequest, InsertIntoMemoryFileRequest,
    MemoryPolicy, PutMemoryFileRequest, ReplaceInMemoryFileRequest, Role, StorageUsage,
};
use recollect_tests::{
    Client, Cluster, DataDir, Failure, Key, Options, Refused as _, SOON, Server, apply, attempt,
    by_id, by_session, eventually, eventually_some, history_request, memory, node, node_turn,
    of_user, plan, put_any, say, session, texts, trial_with_own_server, turn,
};
use tokio_stream::StreamExt as _;
use tonic::Code;
use uuid::Uuid;

const NO_MODEL: &str = "embedding.kind = \"none\"";

fn append(thread_id: &str, texts: &[&str]) -> AppendMessagesRequest {
    AppendMessagesRequest {
        thread: by_id(thread_id),
        messages: texts.iter().map(|text| say(Role::User, text)).collect(),
        ..Default::default()
    }
}

/// Checks that a quota of the tenant `acme` refused a call.
#[track_caller]
fn full(failure: Failure, limit: &str, setting: &str) {
    let failure = failure.is(Code::ResourceExhausted, "QUOTA_EXCEEDED");
    let quota = ("tenant:acme".to_owned(), limit.to_owned());
    assert_eq!(failure.quotas, [quota]);
    assert_eq!(failure.metadata["setting"], setting);
    // It says what to do: a retry alone does not help.
    assert_eq!(failure.retry, None);
    assert!(failure.message.contains("delete"), "{failure:?}");
    assert!(failure.message.contains(setting), "{failure:?}");
}

async fn usage(client: &Client) -> Option<StorageUsage> {
    client.call(GetServerInfoRequest {}).await.storage
}

#[apply(trial_with_own_server)]
async fn a_tenant_at_its_quota_of_messages_reads_and_deletes_and_then_writes_again() {
    let (_dir, server, acme) =
        Server::start_own(&Options::with(&[NO_MODEL, "server.tenant_messages = 6"])).await;
    let full = |failure| full(failure, "at most 6 messages", "server.tenant_messages");
    let thread_id = acme.thread("app").await;
    let last = AppendMessagesRequest {
        request_id: Uuid::new_v4().to_string(),
        ..append(&thread_id, &["5", "6"])
    };
    acme.call(append(&thread_id, &["1", "2", "3", "4"])).await;
    // More than fits is refused as a whole.
    full(acme.refused(append(&thread_id, &["a", "b", "c"])).await);
    acme.call(last.clone()).await;
    full(acme.refused(append(&thread_id, &["7"])).await);
    let acme_too = server.client(Key::AcmeToo).await;
    full(acme_too.refused(append(&thread_id, &["7"])).await);
    // Nothing of the refused calls is stored, and no thread was made for them.
    let new = session("app", "ada", "new");
    let first = AppendMessagesRequest {
        thread: by_session(new.clone()),
        messages: turn("Q", "A"),
        ..Default::default()
    };
    full(acme.refused(first.clone()).await);
    let find = GetThreadRequest {
        thread: by_session(new),
    };
    let missing = acme.refused(find).await;
    missing.is(Code::NotFound, "THREAD_NOT_FOUND");
    let stored = acme.all_messages(&thread_id).await;
    assert_eq!(texts(&stored), ["1", "2", "3", "4", "5", "6"]);

    // A retry of what is stored gets the first answer.
    assert!(acme.call(last.clone()).await.replayed);
    let other = AppendMessagesRequest {
        request_id: Uuid::new_v4().to_string(),
        ..last
    };
    full(acme.refused(other).await);
    // Reading goes on, and so do other tenants.
    let history = acme.call(history_request(&thread_id)).await;
    assert_eq!(history.messages.len(), 6);
    let globex = server.client(Key::Globex).await;
    let theirs = globex.thread("app").await;
    globex.call(append(&theirs, &["1", "2", "3", "4"])).await;

    acme.delete_message(&thread_id, &stored[0].message_id).await;
    let again = async |request: AppendMessagesRequest| {
        eventually("there is room again", 4 * SOON, async || {
            let mut messages = acme.messages();
            messages.append_messages(request.clone()).await.is_ok()
        })
        .await;
    };
    again(append(&thread_id, &["7"])).await;
    full(acme.refused(append(&thread_id, &["8"])).await);
    acme.delete_thread(&thread_id).await;
    again(first).await;
}

#[apply(trial_with_own_server)]
async fn a_tenant_at_its_quota_of_bytes_adds_no_content_of_any_kind() {
    let (_dir, _server, acme) =
        Server::start_own(&Options::with(&[NO_MODEL, "server.tenant_bytes = 20000"])).await;
    let full = |failure| full(failure, "at most 20000 bytes", "server.tenant_bytes");
    let thread_id = acme.thread("app").await;
    let long = "word ".repeat(800);
    for _ in 0..4 {
        acme.append_text(&thread_id, &long).await;
    }
    full(acme.refused(append(&thread_id, &[&long])).await);
    full(
        acme.refused(node_turn(&node(&thread_id, "n"), &long, "A"))
            .await,
    );
    let added = AddMemoriesRequest {
        user: of_user("app", "ada"),
        memories: (0..8)
            .map(|n| memory(&format!("{n} {}", &long[..600])))
            .collect(),
    };
    full(acme.refused(added).await);
    full(
        acme.refused(put_any(&thread_id, plan(&long, &["Step"])))
            .await,
    );
    let events = AppendEventsRequest {
        thread: by_id(&thread_id),
        events: vec![AgentEvent {
            r#type: "ran".to_owned(),
            json: format!("{{\"output\":\"{long}\"}}"),
            ..Default::default()
        }],
        ..Default::default()
    };
    full(acme.refused(events).await);
    let logged = AppendAttemptRequest {
        thread: by_id(&thread_id),
        attempt: Some(attempt("task", &long, "")),
        ..Default::default()
    };
    full(acme.refused(logged).await);

    // What is small enough fits, whatever was refused before.
    acme.append_text(&thread_id, "short").await;
    let usage = usage(&acme).await.unwrap();
    assert_eq!((usage.message_count, usage.max_message_count), (5, 0));
    assert_eq!(usage.max_stored_bytes, 20_000);
    assert!((16_000..20_000).contains(&usage.stored_bytes), "{usage:?}");
    assert!(usage.measure_time.is_some());
}

#[apply(trial_with_own_server)]
async fn f23_versions_of_files_count_for_the_quota_of_bytes() {
    const QUOTA: i64 = 2_000_000;
    let quota = format!("server.tenant_bytes = {QUOTA}");
    let (_dir, _server, acme) = Server::start_own(&Options::with(&[NO_MODEL, &quota])).await;
    let put = PutMemoryFileRequest {
        user: of_user("app", "ada"),
        path: "/log.md".to_owned(),
        text: "Nothing to report.\n".repeat(10_000),
        precondition: None,
    };
    acme.call(put).await;
    let insert = InsertIntoMemoryFileRequest {
        user: of_user("app", "ada"),
        path: "/log.md".to_owned(),
        line: 0,
        text: "One more day.".to_owned(),
        precondition: None,
    };
    // Each stores a version with the whole text.
    let mut inserted = 0;
    let refused = loop {
        let mut files = acme.memory_files();
        match files.insert_into_memory_file(insert.clone()).await {
            Ok(_) => inserted += 1,
            refused => break refused.refused(),
        }
        assert!(inserted < 10, "versions do not count");
    };
    full(refused, "at most 2000000 bytes", "server.tenant_bytes");
    assert!(inserted > 2, "{inserted}");
    let usage = usage(&acme).await.unwrap();
    assert!(usage.stored_bytes <= QUOTA, "{usage:?}");
    // A refused edit stores nothing, and takes no room.
    let missing = ReplaceInMemoryFileRequest {
        user: of_user("app", "ada"),
        path: "/absent.md".to_owned(),
        old_text: "x".to_owned(),
        ..Default::default()
    };
    let delete = DeleteMemoryFileRequest {
        user: of_user("app", "ada"),
        path: "/".to_owned(),
        erase_versions: true,
        precondition: None,
    };
    acme.call(delete).await;
    eventually("there is room again", 4 * SOON, async || {
        let mut files = acme.memory_files();
        let refused = files.replace_in_memory_file(missing.clone()).await;
        refused.unwrap_err().code() == Code::NotFound
    })
    .await;
    for _ in 0..20 {
        let refused = acme.refused(missing.clone()).await;
        refused.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
    }
}

#[apply(trial_with_own_server)]
async fn a_server_without_quotas_measures_nothing() {
    let (_dir, _server, acme) = Server::start_own(&Options::with(&[NO_MODEL])).await;
    acme.append_text(&acme.thread("app").await, "Hello").await;
    assert_eq!(usage(&acme).await, None);
}

#[apply(trial_with_own_server)]
async fn an_import_stores_what_the_quota_leaves_room_for() {
    let (_dir, _server, acme) =
        Server::start_own(&Options::with(&[NO_MODEL, "server.tenant_messages = 5"])).await;
    let request = |key: &str| ImportMessagesRequest {
        thread: by_session(session("app", "ada", key)),
        messages: turn("Q", "A"),
        request_id: Uuid::new_v4().to_string(),
        ..Default::default()
    };
    let requests = ["one", "two", "three", "four"].map(request);
    let import = async || {
        let stream = tokio_stream::iter(requests.clone());
        let answers = acme.messages().import_messages(stream).await.unwrap();
        let answers = answers.into_inner().map(|answer| answer.unwrap().outcome);
        answers.collect::<Vec<_>>().await
    };
    for replayed in [false, true] {
        let outcomes = import().await;
        assert_eq!(outcomes.len(), 4);
        for (outcome, place) in outcomes.iter().zip(0..) {
            match outcome {
                Some(Outcome::Imported(imported)) if place < 2 => {
                    assert_eq!(imported.replayed, replayed);
                }
                Some(Outcome::Error(error)) if place >= 2 => {
                    assert_eq!(error.reason(), ErrorReason::QuotaExceeded);
                    assert!(error.message.contains("server.tenant_messages"));
                }
                other => panic!("{place}: {other:?}"),
            }
        }
    }
    // The thread of a refused request was not made.
    let find = GetThreadRequest {
        thread: by_session(session("app", "ada", "three")),
    };
    acme.refused(find)
        .await
        .is(Code::NotFound, "THREAD_NOT_FOUND");
}

#[apply(trial_with_own_server)]
async fn servers_together_exceed_a_quota_only_until_they_have_measured() {
    const QUOTA: usize = 10;
    let (_cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let serve = |index| {
        let quota = format!("server.tenant_messages = {QUOTA}");
        Options::serve(&url, &[NO_MODEL, &quota]).index(&dir, index)
    };
    let servers = [
        Server::start(&dir, &serve("one")),
        Server::start(&dir, &serve("other")),
    ];
    let here = servers[0].client(Key::Acme).await;
    let there = servers[1].client(Key::Acme).await;
    let thread_id = here.thread("app").await;
    // Each measures at its first write.
    here.append_text(&thread_id, "first").await;
    there.append_text(&thread_id, "second").await;
    for client in [&here, &there] {
        eventually("the quota is exceeded", SOON, async || {
            let request = append(&thread_id, &["more"]);
            client.messages().append_messages(request).await.is_err()
        })
        .await;
    }
    // Neither accepts more than the whole quota.
    let stored = here.all_messages(&thread_id).await.len();
    assert!((QUOTA..=2 * QUOTA).contains(&stored), "{stored}");
    for client in [&here, &there] {
        let failure = client.refused(append(&thread_id, &["more"])).await;
        full(failure, "at most 10 messages", "server.tenant_messages");
    }
    // A server that starts knows what is stored.
    let [one, other] = servers;
    drop((here, there));
    one.stop().await;
    other.stop().await;
    let server = Server::start(&dir, &serve("one"));
    let client = server.client(Key::Acme).await;
    let failure = client.refused(append(&thread_id, &["more"])).await;
    full(failure, "at most 10 messages", "server.tenant_messages");
}

#[apply(trial_with_own_server)]
async fn a_full_tenant_still_gets_what_is_derived_from_its_messages() {
    let (_dir, _server, acme) =
        Server::start_own(&Options::with(&[NO_MODEL, "server.tenant_messages = 2"])).await;
    let policy = MemoryPolicy {
        extraction: ExtractionStrategy::Discrete.into(),
        ..Default::default()
    };
    acme.set_policy("app", policy).await;
    let thread_id = acme.thread_of("app", "ada").await;
    acme.append_turn(&thread_id, "I live in Bergen.", "How nice.")
        .await;
    full(
        acme.refused(append(&thread_id, &["more"])).await,
        "at most 2 messages",
        "server.tenant_messages",
    );
    eventually_some("a memory of the user", SOON, async || {
        let all = acme.all_memories("app", "ada").await;
        all.into_iter().find(|one| one.text.contains("Bergen"))
    })
    .await;
}

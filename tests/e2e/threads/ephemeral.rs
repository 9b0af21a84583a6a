//! Threads that end when they are idle, and when all servers have stopped.

use std::time::Duration;

use memory_contract::proto::{
    AppendMessagesRequest, CreateThreadRequest, DeleteThreadRequest, ErrorReason,
    ExportRecordsRequest, GetHistoryRequest, GetMessageRequest, GetThreadRequest,
    ImportMessagesRequest, ListBranchesRequest, ListMessagesRequest, ListThreadsRequest,
    MemoryMode, MemoryPolicy, MessageFilter, RecallReason, RecallRequest, RecallScope,
    ReindexRequest, ResolveThreadRequest, Role, SearchMethod, SearchRequest, SessionRef, Thread,
    UpdateThreadRequest, import_messages_response::Outcome,
};
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, Refused as _, SHARED, SOON, Server, app, apply, by_id,
    by_session, eventually, has_reason, history_request, http_get, ids, mask, recall_request,
    reply, say, search_request, send_signal, session, target_app, target_session, target_thread,
    texts, tool_call, tool_result, trial, trial_with_own_server, turn,
};
use rustix::process::Signal;
use serde_json::json;
use tokio_stream::StreamExt as _;
use tonic::Code;

use crate::plain;

/// The thread of a session, ephemeral if it has to be created.
pub async fn resolve(client: &Client, session: SessionRef) -> (Thread, bool) {
    let request = ResolveThreadRequest {
        session: Some(session),
        ephemeral: true,
        ..Default::default()
    };
    let response = client.call(request).await;
    (response.thread.unwrap(), response.created)
}

pub async fn ephemeral(client: &Client, app: &str, user: &str) -> String {
    let key = format!("thread:{}", uuid::Uuid::new_v4());
    let (thread, created) = resolve(client, session(app, user, &key)).await;
    assert!(thread.ephemeral && created);
    thread.thread_id
}

pub fn get(thread_id: &str) -> GetThreadRequest {
    GetThreadRequest {
        thread: by_id(thread_id),
    }
}

#[apply(trial_with_own_server)]
async fn t04_an_ephemeral_thread_ends_with_a_restart() {
    ends_with(async |server| {
        server.stop().await;
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn t04_an_ephemeral_thread_ends_with_a_kill() {
    ends_with(async |server| server.kill()).await;
}

async fn ends_with(end: impl AsyncFnOnce(Server)) {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (dir, server, client) = Server::start_own(&options).await;
    let kept = client.resolve(session("app", "ada", "kept")).await;
    client.append_turn(&kept.thread_id, "Stay?", "Yes.").await;
    let (brief, created) = resolve(&client, session("app", "ada", "brief")).await;
    assert!(created && brief.ephemeral && !kept.ephemeral);
    let stored = client.append_turn(&brief.thread_id, "Go?", "Soon.").await;
    assert_eq!(stored.messages.len(), 2);
    let again = client.resolve(session("app", "ada", "brief")).await;
    assert_eq!(again.thread_id, brief.thread_id);
    assert_eq!((again.message_count, again.last_seq), (2, 2));

    drop(client);
    end(server).await;
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let missing = client.refused(get(&brief.thread_id)).await;
    missing.is(Code::NotFound, "THREAD_NOT_FOUND");
    let (anew, created) = resolve(&client, session("app", "ada", "brief")).await;
    assert!(created && anew.thread_id != brief.thread_id);
    assert_eq!(anew.message_count, 0);
    let history = client.call(history_request(&kept.thread_id)).await;
    assert_eq!(texts(&history.messages), ["Stay?", "Yes."]);
}

#[apply(trial_with_own_server)]
async fn t04_nothing_is_left_of_an_ephemeral_thread_that_ended() {
    let (cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let options = serve(&dir, &url, "index");
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let thread_id = ephemeral(&client, "app", "ada").await;
    let brief = "The word is xylophagous.";
    client.append_turn(&thread_id, brief, "I see.").await;
    drop(client);
    assert!(server.stop().await.success(), "{}", dir.log());
    let database = cluster.superuser().await;
    let before = tables_of(&database, &thread_id).await;
    assert!(before.contains(&"messages".to_owned()), "{before:?}");

    let server = Server::start(&dir, &options);
    eventually("all of it is erased", SOON, async || {
        // Its audit log stays, without content.
        tables_of(&database, &thread_id).await == ["transactions"]
    })
    .await;
    drop(server);
}

/// The tables that have a row of a thread.
pub async fn tables_of(database: &tokio_postgres::Client, thread_id: &str) -> Vec<String> {
    let tables = "SELECT table_name::text FROM information_schema.columns
        WHERE table_schema = 'recollect' AND column_name = 'thread_id' ORDER BY table_name";
    let mut found = Vec::new();
    for row in database.query(tables, &[]).await.unwrap() {
        let table: String = row.get(0);
        let count = format!("SELECT FROM recollect.{table} WHERE thread_id::text = $1 LIMIT 1");
        if !database
            .query(&count, &[&thread_id])
            .await
            .unwrap()
            .is_empty()
        {
            found.push(table);
        }
    }
    found
}

/// A server on an external database, with a separate index.
fn serve(dir: &DataDir, url: &str, index: &str) -> Options {
    let lines = [
        "embedding.kind = \"none\"",
        "worker.expiry_interval = \"1s\"",
        "ephemeral.server_grace = \"10s\"",
    ];
    Options::serve(url, &lines).index(dir, index)
}

#[apply(trial_with_own_server)]
async fn t04_an_ephemeral_thread_lives_on_two_servers_until_both_have_stopped() {
    let (_cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let options = [serve(&dir, &url, "one"), serve(&dir, &url, "other")];
    let one = Server::start(&dir, &options[0]);
    let other = Server::start(&dir, &options[1]);
    let (here, there) = (one.client(Key::Acme).await, other.client(Key::Acme).await);
    let (thread, _) = resolve(&here, session("app", "ada", "brief")).await;
    let thread_id = thread.thread_id;
    here.append_turn(&thread_id, "Who?", "I.").await;
    let (found, created) = resolve(&there, session("app", "ada", "brief")).await;
    assert!(!created && found.ephemeral && found.thread_id == thread_id);
    there.append_turn(&thread_id, "And?", "You.").await;
    let all = ["Who?", "I.", "And?", "You."];
    for client in [&here, &there] {
        let history = client.call(history_request(&thread_id)).await;
        assert_eq!(texts(&history.messages), all);
    }

    // One after the other starts again: the thread stays.
    drop((here, there));
    one.kill();
    let one = Server::start(&dir, &options[0]);
    assert!(other.stop().await.success(), "{}", dir.log());
    let other = Server::start(&dir, &options[1]);
    let client = other.client(Key::Acme).await;
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(texts(&history.messages), all);

    drop(client);
    one.kill();
    other.kill();
    let one = Server::start(&dir, &options[0]);
    let client = one.client(Key::Acme).await;
    // They may be paused.
    client.call(get(&thread_id)).await;
    let new = ephemeral(&client, "app", "ada").await;
    eventually("the thread ends", SOON, async || {
        let found = client.threads().get_thread(get(&thread_id)).await;
        found.is_err_and(|status| status.code() == Code::NotFound)
    })
    .await;
    client.call(get(&new)).await;

    // Servers that stop as they should are not waited for.
    drop(client);
    assert!(one.stop().await.success(), "{}", dir.log());
    let other = Server::start(&dir, &options[1]);
    let client = other.client(Key::Acme).await;
    let missing = client.refused(get(&new)).await;
    missing.is(Code::NotFound, "THREAD_NOT_FOUND");
}

#[apply(trial_with_own_server)]
async fn t04_an_ephemeral_thread_outlives_a_pause_of_its_server_and_its_connections() {
    let (cluster, url) = Cluster::migrated().await;
    let admin = cluster.superuser().await;
    let dir = DataDir::new();
    let lines = ["embedding.kind = \"none\""];
    let one = Server::start(&dir, &Options::serve(&url, &lines).index(&dir, "one"));
    let here = one.client(Key::Acme).await;
    let thread_id = ephemeral(&here, "app", "ada").await;
    here.append_turn(&thread_id, "Who?", "I.").await;
    // A virtual machine is moved while the database fails over.
    send_signal(one.ready().pid, Signal::STOP);
    let ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
                 AND backend_type = 'client backend'";
    admin.query(ended, &[]).await.unwrap();
    let other = Server::start(&dir, &Options::serve(&url, &lines).index(&dir, "other"));
    let there = other.client(Key::Acme).await;
    there.append_turn(&thread_id, "And?", "You.").await;
    send_signal(one.ready().pid, Signal::CONT);
    eventually("the first server answers again", SOON, async || {
        let history = here
            .messages()
            .get_history(history_request(&thread_id))
            .await;
        history.is_ok_and(|history| {
            texts(&history.into_inner().messages) == ["Who?", "I.", "And?", "You."]
        })
    })
    .await;
    assert!(other.stop().await.success(), "{}", dir.log());
    let other = Server::start(&dir, &Options::serve(&url, &lines).index(&dir, "other"));
    other.client(Key::Acme).await.call(get(&thread_id)).await;
}

#[apply(trial_with_own_server)]
async fn t04_an_idle_ephemeral_thread_is_erased() {
    let dir = DataDir::new();
    let options = Options::with(&[
        "embedding.kind = \"none\"",
        "ephemeral.idle_ttl = \"7s\"",
        "worker.expiry_interval = \"1s\"",
    ]);
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let idle = ephemeral(&client, "app", "ada").await;
    let used = ephemeral(&client, "app", "ada").await;
    client.append_turn(&idle, "Q", "A").await;
    let metrics = async || http_get(&server.ready().metrics_addr, "/metrics").await.1;
    eventually("both are counted", SOON, async || {
        client.get_thread(&idle).await;
        client.call(history_request(&used)).await;
        let metrics = metrics().await;
        metrics.contains("recollect_ephemeral_threads 2")
            && !metrics.contains("recollect_ephemeral_bytes 0")
    })
    .await;
    eventually("the idle one is erased", SOON, async || {
        client.call(history_request(&used)).await;
        metrics().await.contains("recollect_ephemeral_threads 1")
    })
    .await;
    let missing = client.refused(get(&idle)).await;
    missing.is(Code::NotFound, "THREAD_NOT_FOUND");
    let append = AppendMessagesRequest {
        thread: by_id(idle),
        messages: turn("Q", "A"),
        ..Default::default()
    };
    let missing = client.refused(append).await;
    missing.is(Code::NotFound, "THREAD_NOT_FOUND");
    client.append_turn(&used, "Q", "A").await;
    eventually("nothing is held any more", SOON, async || {
        let metrics = metrics().await;
        metrics.contains("recollect_ephemeral_threads 0")
            && metrics.contains("recollect_ephemeral_bytes 0")
    })
    .await;

    // A use returns the expiry to which it postponed. Uses within a tenth of the idle time
    // postpone once.
    let (first, _) = resolve(&client, session("app", "ada", "shown")).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (again, _) = resolve(&client, session("app", "ada", "shown")).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let last = client.get_thread(&first.thread_id).await;
    let expiries = [first, again, last].map(|thread| {
        let expiry = thread.expire_time.unwrap();
        (expiry.seconds, expiry.nanos)
    });
    assert!(
        expiries[0] < expiries[1] && expiries[1] < expiries[2],
        "{expiries:?}"
    );
}

#[apply(trial_with_own_server)]
async fn t04_ephemeral_threads_have_limits() {
    let dir = DataDir::new();
    let options = Options::with(&[
        "embedding.kind = \"none\"",
        "ephemeral.max_bytes = 50000",
        "ephemeral.max_threads = 2",
    ]);
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let first = ephemeral(&client, "app", "ada").await;
    let second = ephemeral(&client, "app", "bob").await;
    let third = ResolveThreadRequest {
        session: Some(session("app", "", "global")),
        ephemeral: true,
        ..Default::default()
    };
    let refused = client.refused(third.clone()).await;
    refused.is(Code::ResourceExhausted, "EPHEMERAL_MEMORY_FULL");
    // Persistent threads do not count toward the limit.
    let thread_id = client.thread("app").await;
    let long = "word ".repeat(8_000);
    client.append_turn(&thread_id, &long, "A").await;

    let append = AppendMessagesRequest {
        thread: by_id(&first),
        messages: turn(&"word ".repeat(5_000), "A"),
        ..Default::default()
    };
    let stored = client.messages().append_messages(append.clone()).await;
    stored.unwrap();
    let elsewhere = AppendMessagesRequest {
        thread: by_id(&second),
        messages: [turn("Small", "A"), turn(&"word ".repeat(7_000), "A")].concat(),
        ..Default::default()
    };
    for request in [elsewhere.clone(), append.clone(), append] {
        let refused = client.refused(request).await;
        refused.is(Code::ResourceExhausted, "EPHEMERAL_MEMORY_FULL");
    }
    assert_eq!(client.get_thread(&second).await.message_count, 0);
    assert_eq!(client.all_messages(&second).await, []);
    assert_eq!(client.get_thread(&first).await.message_count, 2);

    client.delete_thread(&first).await;
    let stored = client.call(elsewhere).await;
    assert_eq!(stored.messages[3].seq, 4);
    client.call(third).await;
}

#[apply(trial)]
async fn an_ephemeral_thread_branches_and_is_listed() {
    let client = plain().await;
    let thread_id = ephemeral(&client, &app(), "ada").await;
    let first = client.append_turn(&thread_id, "Q", "A").await;
    let question = &first.messages[0].message_id;
    let second = client
        .append(&thread_id, vec![reply(question, Role::Assistant, "B")])
        .await;
    client.append(&thread_id, vec![say(Role::User, "C")]).await;
    assert_eq!(second.messages[0].branch, 2);

    let history = |head: &str| GetHistoryRequest {
        head_message_id: head.to_owned(),
        ..history_request(&thread_id)
    };
    let active = client.call(history("")).await;
    assert_eq!(texts(&active.messages), ["Q", "B", "C"]);
    let old = client.call(history(&first.messages[1].message_id)).await;
    assert_eq!(texts(&old.messages), ["Q", "A"]);

    let branches = client
        .call(ListBranchesRequest {
            thread: by_id(&thread_id),
            page_size: 1,
            ..Default::default()
        })
        .await;
    assert_eq!(branches.branches.len(), 1);
    assert_eq!(branches.branches[0].message_count, 2);
    assert!(!branches.branches[0].active && !branches.next_page_token.is_empty());

    let list = |filter: Option<MessageFilter>, order_by: &str| ListMessagesRequest {
        target: target_thread(&thread_id),
        filter,
        order_by: order_by.to_owned(),
        page_size: 2,
        ..Default::default()
    };
    let all = client.list(list(None, "seq desc")).await;
    assert_eq!(texts(&all), ["C", "B", "A", "Q"]);
    let filter = MessageFilter {
        roles: vec![Role::Assistant.into()],
        ..Default::default()
    };
    let answers = client.list(list(Some(filter), "seq")).await;
    assert_eq!(texts(&answers), ["A", "B"]);

    let one = GetMessageRequest {
        thread: by_id(&thread_id),
        message_id: question.clone(),
    };
    let one = client.call(one).await;
    assert_eq!(one.message.unwrap(), all[3]);
    client.delete_message(&thread_id, &all[0].message_id).await;
    let thread = client.get_thread(&thread_id).await;
    assert_eq!(thread.head_message_id, second.messages[0].message_id);
    assert_eq!((thread.message_count, thread.last_seq), (3, 4));

    let update = UpdateThreadRequest {
        thread: Some(Thread {
            thread_id: thread_id.to_owned(),
            title: "A title".to_owned(),
            ..Default::default()
        }),
        update_mask: Some(mask(&["title"])),
        precondition: None,
    };
    client.call(update).await;
    let thread = client.get_thread(&thread_id).await;
    assert!(thread.title == "A title" && thread.ephemeral);
    let wrong = AppendMessagesRequest {
        thread: by_id(thread_id),
        messages: vec![say(Role::User, "D")],
        expected_head: Some(question.clone()),
        ..Default::default()
    };
    client.refused(wrong).await.is(Code::Aborted, "HEAD_MOVED");
}

#[apply(trial)]
async fn an_ephemeral_history_keeps_tools_together_and_to_its_budget() {
    let client = plain().await;
    let thread_id = ephemeral(&client, &app(), "ada").await;
    for round in 0..10 {
        let id = format!("call-{round}");
        let messages = vec![
            say(Role::User, &format!("How warm is it in town {round}?")),
            tool_call(&id, "weather", json!({"town": round})),
            tool_result(&id, "It is 17 degrees."),
            say(Role::Assistant, "It is 17 degrees there."),
        ];
        client.append(&thread_id, messages).await;
    }
    let whole = client.call(history_request(&thread_id)).await;
    assert_eq!((whole.messages.len(), whole.truncated), (40, false));
    for quarters in 1..4 {
        let max_tokens = whole.total_tokens * quarters / 4;
        let history = client
            .call(GetHistoryRequest {
                max_tokens: Some(max_tokens),
                ..history_request(&thread_id)
            })
            .await;
        assert!(history.truncated && history.total_tokens <= max_tokens);
        assert_eq!(history.messages.len() % 4, 0, "whole turns");
        let newest = &whole.messages[40 - history.messages.len()..];
        assert_eq!(history.messages, newest);
    }
}

#[apply(trial)]
async fn an_ephemeral_thread_is_recalled() {
    let client = SHARED.client(Key::Acme).await;
    let thread_id = ephemeral(&client, &app(), "ada").await;
    client
        .append_turn(
            &thread_id,
            "Our greyhound is called Biscuit.",
            "What a nice name!",
        )
        .await;
    for round in 0..10 {
        let messages = turn(&format!("Tell me joke {round}."), "Knock, knock.");
        client.append(&thread_id, messages).await;
    }
    let last = client.append_turn(&thread_id, "Thanks.", "Any time.").await;
    let window = client
        .recall(RecallRequest {
            policy: Some(MemoryPolicy {
                mode: MemoryMode::Window.into(),
                window_size: Some(4),
                ..Default::default()
            }),
            ..recall_request(&thread_id, "", "")
        })
        .await;
    assert_eq!(window.messages.len(), 4);
    assert_eq!(texts(&window.messages)[2..], ["Thanks.", "Any time."]);

    for method in [
        SearchMethod::Unspecified,
        SearchMethod::Lexical,
        SearchMethod::Dense,
    ] {
        let request = RecallRequest {
            method: method.into(),
            policy: Some(MemoryPolicy {
                scope: RecallScope::Thread.into(),
                ..Default::default()
            }),
            ..recall_request(&thread_id, "What are greyhounds called?", &last.revision)
        };
        let found = client.recall(request).await;
        assert_eq!(found.degradations, []);
        let best = found.messages.iter().find(|message| message.rank == 1);
        let best = best.expect("a match");
        assert_eq!(texts([best]), ["Our greyhound is called Biscuit."]);
        assert!(has_reason(best, RecallReason::Match));
        // Its answer comes next, and the window comes last.
        assert_eq!(texts(&found.messages)[1], "What a nice name!");
        assert_eq!(texts(&found.messages).last().unwrap(), "Any time.");
    }
    // Without a user the scope of the user is the thread's.
    let unknown = ephemeral(&client, &app(), "").await;
    let stored = client
        .append_turn(&unknown, "The code is 4711.", "Noted.")
        .await;
    let found = client
        .search(SearchRequest {
            scope: RecallScope::User.into(),
            ..search_request(&unknown, "which code", &stored.revision)
        })
        .await;
    assert_eq!(texts(&found.matches)[0], "The code is 4711.");
}

#[apply(trial)]
async fn an_ephemeral_thread_is_found_and_listed_but_not_exported() {
    let client = plain().await;
    let app = app();
    let secret = "The parrot is called Archimedes.";
    let hidden = ephemeral(&client, &app, "ada").await;
    let stored = client.append_turn(&hidden, secret, "Hello parrot!").await;
    let kept = client.thread(&app).await;
    let other = ephemeral(&client, &app, "ada").await;
    let known = client
        .append_turn(&kept, "The parrot likes nuts.", "Good to know.")
        .await;

    let indexed = search_request(&hidden, "parrot", &stored.revision);
    client.search(indexed).await;
    for scope in [RecallScope::User, RecallScope::App] {
        for thread_id in [&kept, &other, &hidden] {
            let found = client
                .search(SearchRequest {
                    scope: scope.into(),
                    ..search_request(thread_id, "parrot", &known.revision)
                })
                .await;
            let found = texts(&found.matches);
            assert!(
                found.contains(&"The parrot likes nuts.".to_owned()),
                "{found:?}"
            );
            assert!(found.contains(&secret.to_owned()), "{found:?}");
        }
    }
    let threads = client
        .call(ListThreadsRequest {
            target: target_app(&app),
            ..Default::default()
        })
        .await;
    let listed: Vec<&str> = threads
        .threads
        .iter()
        .map(|one| one.thread_id.as_str())
        .collect();
    assert_eq!(listed, [other.as_str(), kept.as_str(), hidden.as_str()]);

    // An export of one is refused, and one of the app does not have it.
    let export = |target| ExportRecordsRequest {
        target,
        ..Default::default()
    };
    let of_one = export(target_thread(&hidden));
    let refused = client.transfers().export_records(of_one).await;
    refused
        .refused()
        .is(Code::FailedPrecondition, "EPHEMERAL_THREAD");
    let mut records = client
        .transfers()
        .export_records(export(target_app(&app)))
        .await
        .unwrap()
        .into_inner();
    let mut count = 0;
    while let Some(record) = records.message().await.unwrap() {
        assert!(!format!("{record:?}").contains("Archimedes"));
        count += 1;
    }
    assert_eq!(count, 4, "the kept thread, its messages, the summary");
    let reindex = ReindexRequest {
        thread: by_id(&hidden),
        ..Default::default()
    };
    let queued = client.call(reindex).await;
    assert_eq!(queued.queued_count, 2);

    // Another tenant cannot even see that it is there.
    let globex = recollect_tests::PLAIN.client(Key::Globex).await;
    let others = globex.refused(get(&hidden)).await;
    others.is(Code::NotFound, "THREAD_NOT_FOUND");
    let others = globex.refused(history_request(&hidden)).await;
    others.is(Code::NotFound, "THREAD_NOT_FOUND");
    let others = globex
        .refused(GetMessageRequest {
            thread: by_id(&hidden),
            message_id: stored.messages[0].message_id.clone(),
        })
        .await;
    others.is(Code::NotFound, "THREAD_NOT_FOUND");
    let others = globex.refused(search_request(&hidden, "parrot", "")).await;
    others.is(Code::NotFound, "THREAD_NOT_FOUND");
    let key = session(&app, "ada", "thread:same");
    let (mine, _) = resolve(&client, key.clone()).await;
    let (theirs, created) = resolve(&globex, key).await;
    assert!(created && mine.thread_id != theirs.thread_id);
    let (bobs, created) = resolve(&client, session(&app, "bob", "thread:same")).await;
    assert!(created && mine.thread_id != bobs.thread_id);
}

#[apply(trial)]
async fn an_ephemeral_thread_is_cleared_and_deleted() {
    let client = plain().await;
    let app = app();
    let (thread, _) = resolve(&client, session(&app, "ada", "thread:1")).await;
    let thread_id = thread.thread_id;
    client
        .append_turn(&thread_id, "The code is 4711.", "Noted.")
        .await;
    let cleared = client.clear_thread(&thread_id).await;
    assert_eq!(cleared.deleted_message_count, 2);
    assert_eq!(client.all_messages(&thread_id).await, []);
    let search = search_request(&thread_id, "code", &cleared.revision);
    assert_eq!(client.search(search).await.matches, []);
    let stored = client.append_turn(&thread_id, "Anew", "Yes").await;
    assert_eq!(stored.messages[0].seq, 3);

    let request = DeleteThreadRequest {
        thread: by_id(&thread_id),
    };
    let deleted = client.call(request.clone()).await;
    assert_eq!(deleted.deleted_message_count, 2);
    assert!(!client.call(request).await.deleted);
    let (anew, created) = resolve(&client, session(&app, "ada", "thread:1")).await;
    assert!(created && anew.thread_id != thread_id);
}

#[apply(trial)]
async fn a_retry_into_an_ephemeral_thread_stores_nothing_twice() {
    let client = plain().await;
    let thread_id = ephemeral(&client, &app(), "ada").await;
    let request = AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: turn("Q", "A"),
        request_id: uuid::Uuid::new_v4().to_string(),
        expected_head: Some(String::new()),
        ..Default::default()
    };
    let first = client.call(request.clone()).await;
    let again = client.call(request.clone()).await;
    assert!(again.replayed && !first.replayed);
    assert_eq!(ids_of(&first), ids_of(&again));
    assert_eq!(ids(&client.all_messages(&thread_id).await), ids_of(&first));
    let other = AppendMessagesRequest {
        messages: turn("Q", "B"),
        ..request
    };
    let refused = client.refused(other).await;
    refused.is(Code::AlreadyExists, "REQUEST_ID_REUSED");
}

fn ids_of(stored: &memory_contract::proto::AppendMessagesResponse) -> Vec<String> {
    let ids = stored.messages.iter();
    ids.map(|message| message.message_id.clone()).collect()
}

#[apply(trial)]
async fn a_session_is_ephemeral_or_kept_and_not_both() {
    let client = plain().await;
    let app = app();
    let kept = client.resolve(session(&app, "ada", "kept")).await;
    let (found, created) = resolve(&client, session(&app, "ada", "kept")).await;
    assert!(!created && !found.ephemeral && found.thread_id == kept.thread_id);

    let create = |key: &str, ephemeral| CreateThreadRequest {
        session: Some(session(&app, "ada", key)),
        ephemeral,
        ..Default::default()
    };
    let refused = client.refused(create("kept", true)).await;
    refused.is(Code::AlreadyExists, "THREAD_ALREADY_EXISTS");
    let brief = client.call(create("brief", true)).await.thread.unwrap();
    assert!(brief.ephemeral);
    for ephemeral in [true, false] {
        let refused = client.refused(create("brief", ephemeral)).await;
        refused.is(Code::AlreadyExists, "THREAD_ALREADY_EXISTS");
    }
    client.append_turn(&brief.thread_id, "Q", "A").await;
    let by_names = GetThreadRequest {
        thread: by_session(session(&app, "ada", "brief")),
    };
    let found = client.call(by_names).await.thread.unwrap();
    assert_eq!(found.thread_id, brief.thread_id);
    let listed = client
        .list(ListMessagesRequest {
            target: target_session(session(&app, "ada", "brief")),
            ..Default::default()
        })
        .await;
    assert_eq!(texts(&listed), ["Q", "A"]);
}

#[apply(trial)]
async fn an_import_into_an_ephemeral_thread_is_refused() {
    let (client, app) = (plain().await, app());
    let (brief, _) = resolve(&client, session(&app, "ada", "brief")).await;
    let requests: Vec<_> = ["brief", "kept"]
        .map(|key| ImportMessagesRequest {
            thread: by_session(session(&app, "ada", key)),
            messages: turn("Q", "A"),
            ..Default::default()
        })
        .into();
    let requests = tokio_stream::iter(requests);
    let stream = client.messages().import_messages(requests).await.unwrap();
    let answers: Vec<_> = stream.into_inner().collect().await;
    let outcomes: Vec<_> = answers
        .into_iter()
        .map(|answer| answer.unwrap().outcome.unwrap())
        .collect();
    let [Outcome::Error(refused), Outcome::Imported(kept)] = outcomes.as_slice() else {
        panic!("{outcomes:?}")
    };
    assert_eq!(refused.reason(), ErrorReason::EphemeralThread);
    assert_eq!(kept.message_count, 2);
    assert!(client.all_messages(&brief.thread_id).await.is_empty());
}

//! Watching threads of servers that are several, crash, or stop.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use memory_contract::convert::action_name;
use memory_contract::proto::{
    ListTransactionsRequest, ResolveThreadRequest, Role, Thread, UpdateThreadRequest,
    WatchThreadResponse,
};
use prost_types::{Duration as ProtoDuration, Timestamp};
use recollect_tests::{
    Client, Cluster, DataDir, Failure, Key, Options, Refused as _, Reported as _, Server, apply,
    by_id, eventually, mask, recollect, say, session, trial_with_own_server, watch_request,
};
use tonic::Code;

use super::events::{change, delete};
use crate::access::transactions;

/// A server on an external database, with a separate index.
fn serve(dir: &DataDir, url: &str, index: &str) -> Options {
    Options::serve(url, &["embedding.kind = \"none\""]).index(dir, index)
}

#[apply(trial_with_own_server)]
async fn a_watch_reports_changes_of_another_process() {
    let (_cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let servers = [
        Server::start(&dir, &serve(&dir, &url, "one")),
        Server::start(&dir, &serve(&dir, &url, "other")),
    ];
    let (here, there) = (
        servers[0].client(Key::Acme).await,
        servers[1].client(Key::AcmeToo).await,
    );
    let (thread_id, other_thread) = (here.thread("app").await, here.thread("app").await);
    let mut events = here.watch(&thread_id, "").await;
    let mut others = here.watch(&other_thread, "").await;
    let expected = change(&there, &thread_id).await;
    let mut cursor = String::new();
    for action in &expected {
        let event = events.next().await;
        assert_eq!(event.action(), *action);
        assert_eq!(event.actor, Key::AcmeToo.name());
        cursor = event.cursor;
    }
    // The other process continues at this one's position.
    let mut again = there.watch(&thread_id, &cursor).await;
    delete(&there, &thread_id).await;
    delete(&here, &other_thread).await;
    assert_eq!(events.actions(1).await, ["delete_thread"]);
    assert_eq!(others.actions(1).await, ["delete_thread"]);
    while again.next().await.action() != "delete_thread" {}
    assert_eq!(again.rest().await, (vec![], None));
}

#[apply(trial_with_own_server)]
async fn a_resumed_watch_misses_nothing_across_a_kill() {
    const WRITERS: usize = 4;

    let options = Options::with(&["embedding.kind = \"none\""]);
    let (dir, server, client) = Server::start_own(&options).await;
    let thread_id = client.thread("app").await;
    let mut events = client.watch(&thread_id, "").await;
    let mut writers = Vec::new();
    for _ in 0..WRITERS {
        let writer = server.client(Key::AcmeToo).await;
        let thread_id = thread_id.clone();
        writers.push(tokio::spawn(async move {
            let request = || memory_contract::proto::AppendMessagesRequest {
                thread: by_id(&thread_id),
                messages: vec![say(Role::User, "again")],
                ..Default::default()
            };
            while writer.messages().append_messages(request()).await.is_ok() {}
        }));
    }
    let mut reported: Vec<WatchThreadResponse> = Vec::new();
    while reported.len() < 100 {
        reported.push(events.next().await);
    }
    // The connection goes with the process, and what it had not sent.
    server.kill();
    let cursor = reported.last().unwrap().cursor.clone();
    for writer in writers {
        writer.await.unwrap();
    }
    drop(events);

    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let mut events = client.watch(&thread_id, &cursor).await;
    let update = UpdateThreadRequest {
        thread: Some(Thread {
            thread_id: thread_id.to_owned(),
            title: "The end".to_owned(),
            ..Default::default()
        }),
        update_mask: Some(mask(&["title"])),
        precondition: None,
    };
    client.call(update).await;
    while reported.last().unwrap().action() != "update_thread" {
        reported.push(events.next().await);
    }
    let time = |time: &Option<Timestamp>| time.map(|time| (time.seconds, time.nanos)).unwrap();
    let times: HashSet<_> = reported
        .iter()
        .map(|event| time(&event.create_time))
        .collect();
    let request = ListTransactionsRequest {
        thread: by_id(&thread_id),
        page_size: 500,
        ..Default::default()
    };
    let done = transactions(&client, request).await;
    assert!(done.len() > 100);
    for done in done
        .iter()
        .filter(|done| action_name(done.action()) != "create_thread")
    {
        assert!(times.contains(&time(&done.create_time)), "{done:?}");
    }
}

/// Notes a change of the thread in a transaction that stays open.
async fn note(database: &tokio_postgres::Client, thread_id: &str, action: &str) {
    let note = format!(
        "BEGIN; SELECT set_config('recollect.actor', 'slow', true); \
         SELECT recollect.audit('acme', '{action}', '{thread_id}', '', 3)"
    );
    database.batch_execute(&note).await.unwrap();
}

#[apply(trial_with_own_server)]
async fn a_change_that_commits_late_is_reported() {
    let (cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, "index"));
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    let (slow, slower) = (cluster.superuser().await, cluster.superuser().await);
    // One begins before the watch, one after it.
    note(&slower, &thread_id, "slower").await;
    let mut events = client.watch(&thread_id, "").await;
    let first = events.first.cursor.clone();
    note(&slow, &thread_id, "slow").await;

    // Others overtake them, for longer than any clock is inexact.
    let start = Instant::now();
    let mut reported = Vec::new();
    while start.elapsed() < Duration::from_secs(4) {
        client.append_turn(&thread_id, "Q", "A").await;
        reported.push(events.next().await);
    }
    assert!(reported.len() >= 3);
    assert!(
        reported
            .iter()
            .all(|event| event.action() == "append_messages")
    );
    slow.batch_execute("COMMIT").await.unwrap();
    let late = events.next().await;
    assert_eq!(
        (late.action().as_str(), late.actor.as_str()),
        ("slow", "slow")
    );
    client.append_turn(&thread_id, "Q", "A").await;
    reported.extend([late, events.next().await]);
    slower.batch_execute("COMMIT").await.unwrap();
    reported.push(events.next().await);
    assert_eq!(reported.last().unwrap().action(), "slower");
    let last = reported.len() - 1;
    let times: HashSet<_> = reported
        .iter()
        .map(|e| format!("{:?}", e.create_time))
        .collect();
    assert_eq!(
        times.len(),
        reported.len(),
        "nothing comes twice in one stream"
    );

    // A watch that resumes before these events gets them.
    let cursors = reported[..last].iter().map(|event| event.cursor.clone());
    for cursor in cursors.chain([first]) {
        let mut again = client.watch(&thread_id, &cursor).await;
        while again.next().await.action() != "slower" {}
    }
    // Settled events do not come again.
    let settled = eventually_quiet(&client, &thread_id).await;
    let mut again = client.watch(&thread_id, &settled).await;
    client.append_turn(&thread_id, "The", "end").await;
    let reported = [again.next().await, again.next().await];
    assert!(
        reported
            .iter()
            .all(|event| event.action() == "append_messages")
    );
}

/// The cursor of an append after which none of those before it is repeated.
async fn eventually_quiet(client: &Client, thread_id: &str) -> String {
    let mut events = client.watch(thread_id, "").await;
    let mut found = String::new();
    eventually("the past is settled", Duration::from_secs(20), async || {
        client.append_turn(thread_id, "Q", "A").await;
        found = events.next().await.cursor;
        let mut again = client.watch(thread_id, &found).await;
        client.append_turn(thread_id, "Q", "A").await;
        events.next().await;
        again.next().await.action() == "append_messages"
    })
    .await;
    found
}

#[apply(trial_with_own_server)]
async fn a_watch_reads_both_databases_and_continues_without_the_main_one() {
    let (mut main, chat) = (Cluster::start().await, Cluster::start().await);
    let (main_url, chat_url) = (main.url(), chat.url());
    let env = [
        ("DATABASE_URL", main_url.as_str()),
        ("RECOLLECT_DATABASE__CHAT_URL", chat_url.as_str()),
    ];
    recollect(&["migrate"], &env).ok();
    let dir = DataDir::new();
    let server = Server::start(
        &dir,
        &serve(&dir, &main_url, "index").env(env[1].0, env[1].1),
    );
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    let mut events = client.watch(&thread_id, "").await;
    client.append_turn(&thread_id, "Q", "A").await;
    assert_eq!(events.actions(1).await, ["append_messages"]);
    let writer = main.superuser().await;
    note(&writer, &thread_id, "noted").await;
    writer.batch_execute("COMMIT").await.unwrap();
    let event = events.next().await;
    assert_eq!(event.action(), "noted");

    main.crash();
    client.append_turn(&thread_id, "Q", "A").await;
    assert_eq!(events.actions(1).await, ["append_messages"]);
    let mut again = client.watch(&thread_id, &event.cursor).await;
    let mut anew = client.watch(&thread_id, "").await;
    client.append_turn(&thread_id, "Q", "A").await;
    for events in [&mut events, &mut again, &mut anew] {
        while events.next().await.action() != "append_messages" {}
    }

    main.restart().await;
    let writer = main.superuser().await;
    note(&writer, &thread_id, "back").await;
    writer.batch_execute("COMMIT").await.unwrap();
    for events in [&mut events, &mut again, &mut anew] {
        while events.next().await.action() != "back" {}
    }
}

#[apply(trial_with_own_server)]
async fn watches_hold_no_connection_and_have_a_limit() {
    const WATCHES: usize = 24;

    let limit = format!("server.max_watches = {WATCHES}");
    let (_dir, _server, client) = Server::start_own(&Options::with(&[
        "embedding.kind = \"none\"",
        "database.pool_size = 1",
        "database.max_overflow = 1",
        "server.stream_timeout = \"30s\"",
        "server.tenant_share = 1.0",
        "server.key_share = 1.0",
        &limit,
    ]))
    .await;
    let mut watches = Vec::new();
    for number in 0..WATCHES {
        if number % 4 == 0 {
            let thread_id = client.thread("app").await;
            watches.push((client.watch(&thread_id, "").await, thread_id));
        } else {
            let thread_id = watches.last().unwrap().1.clone();
            watches.push((client.watch(&thread_id, "").await, thread_id));
        }
    }
    let request = watch_request(&watches[0].1, "");
    let refused = client.threads().watch_thread(request.clone()).await;
    let refused = refused.refused();
    let refused = refused.is(Code::ResourceExhausted, "OVERLOADED");
    assert!(refused.retry.is_some(), "says when to come back");

    // Everything else works, and each watch gets its event.
    for (_, thread_id) in watches.iter().step_by(4) {
        client.append_turn(thread_id, "Q", "A").await;
    }
    for (events, _) in &mut watches {
        assert_eq!(events.actions(1).await, ["append_messages"]);
    }
    watches.truncate(WATCHES / 2);
    eventually("there is room again", Duration::from_secs(20), async || {
        let stream = client.threads().watch_thread(request.clone()).await;
        stream.is_ok()
    })
    .await;
    // The server's own limit of a stream.
    let (events, _) = watches.swap_remove(0);
    let (_, failure) = events.rest().await;
    let failure = failure.expect("it cannot end well");
    failure.is(Code::DeadlineExceeded, "DEADLINE_EXCEEDED");
}

#[apply(trial_with_own_server)]
async fn a_watch_ends_with_an_expired_thread_and_with_the_server() {
    let (dir, server, client) = Server::start_own(&Options::with(&[
        "embedding.kind = \"none\"",
        "worker.expiry_interval = \"1s\"",
    ]))
    .await;
    let request = ResolveThreadRequest {
        session: Some(session("app", "ada", "thread:brief")),
        ttl: Some(ProtoDuration {
            seconds: 5,
            nanos: 0,
        }),
        ..Default::default()
    };
    let brief = client.call(request).await.thread.unwrap().thread_id;
    let events = client.watch(&brief, "").await;
    let stays = client.thread("app").await;
    let others = client.watch(&stays, "").await;
    let (reported, failure) = events.rest().await;
    assert_eq!(failure, None);
    assert_eq!(reported.len(), 1);
    assert_eq!(reported[0].action(), "delete_thread");
    assert_eq!(reported[0].actor, "worker");

    let (status, (reported, failure)) = tokio::join!(server.terminate(), others.rest());
    assert!(reported.is_empty());
    let failure: Failure = failure.expect("it cannot end well");
    let failure = failure.is(Code::Unavailable, "SERVER_STOPPING");
    assert!(failure.retry.is_some(), "says when to come back");
    assert!(status.success(), "{}", dir.log());
    assert!(!dir.log().contains("did not end in time"), "{}", dir.log());
}

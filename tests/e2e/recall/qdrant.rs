//! Recall with a Qdrant by URL, and during its outages.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use memory_contract::proto::{
    Degradation, DegradationReason, GetServerInfoRequest, IndexBackend, IndexState,
    ListDeadLettersRequest, MemoryPolicy, MessageInput, RecallRequest, ReindexRequest, Role,
    SearchMethod, SearchRequest,
};
use recollect_tests::{
    Client, Cluster, DataDir, Fault, Key, Options, Qdrant, SOON, Server, Skipped, apply,
    at_least_within, eventually, history_request, recall_request, say, search_request, seconds,
    texts, trial_with_own_server,
};

use super::diary;

/// `serve` without a worker, or `worker`.
pub fn role(command: &'static str, url: &str, qdrant: &Qdrant) -> Options {
    let mut options = Options {
        command,
        env: vec![("DATABASE_URL".to_owned(), url.to_owned())],
        ..Options::with(&[&qdrant.config(), "index.search_timeout = \"20s\""])
    };
    if command == "serve" {
        options.args.push("--no-worker".to_owned());
    }
    options
}

/// The embedded Postgres with a Qdrant that may fail; failures are retried soon.
fn dev(qdrant: &Qdrant) -> Options {
    Options::with(&[
        &qdrant.config(),
        "worker.indexer.retry_base = \"50ms\"",
        "worker.indexer.retry_max = \"200ms\"",
        "worker.indexer.max_attempts = 3",
    ])
}

pub(super) fn reasons(degradations: &[Degradation]) -> Vec<DegradationReason> {
    degradations.iter().map(Degradation::reason).collect()
}

pub async fn index_ready(client: &Client) {
    eventually("the index is ready", SOON, async || {
        client.index_status().await.state() == IndexState::Ready
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn l02_api_and_worker_run_apart_on_postgres_and_qdrant() {
    let qdrant = Qdrant::new();
    let (_cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &role("serve", &url, &qdrant));
    let worker = Server::start(&dir, &role("worker", &url, &qdrant));
    let client = server.client(Key::Acme).await;
    index_ready(&client).await;
    let info = client.call(GetServerInfoRequest {}).await;
    assert_eq!(info.index_backend(), IndexBackend::Qdrant);
    let thread_id = client.thread("app").await;
    let stored = diary::store(&client, &thread_id).await;
    for (query, said) in [
        (
            "What pet do we have?",
            "We adopted a greyhound, he is called Biscuit.",
        ),
        ("QX-88213-B", "The order number of the sofa is QX-88213-B."),
    ] {
        let found = client
            .search(search_request(&thread_id, query, &stored.revision))
            .await;
        assert_eq!(found.degradations, []);
        assert!(
            texts(&found.matches)[..3].contains(&said.to_owned()),
            "{query}: {found:?}"
        );
    }
    let globex = server.client(Key::Globex).await;
    let other = globex.thread("app").await;
    let mut search = search_request(&other, "greyhound", "");
    search.scope = memory_contract::proto::RecallScope::App.into();
    assert_eq!(globex.search(search).await.matches, []);

    // The alias points to a collection with a version.
    let aliases = qdrant.aliases().await;
    assert_eq!(aliases.len(), 1);
    let status = client.index_status().await;
    assert_eq!(status.state(), IndexState::Ready);
    assert_eq!(status.point_count, 44);
    assert_eq!(status.collection, aliases[0].1);
    assert_ne!(aliases[0].0, aliases[0].1);
    assert!(worker.terminate().await.success(), "{}", dir.log());
    assert!(server.terminate().await.success(), "{}", dir.log());
}

#[apply(trial_with_own_server)]
async fn b02_recall_that_cannot_be_fresh_in_time_says_so() {
    let qdrant = Qdrant::new();
    let (_cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &role("serve", &url, &qdrant));
    // A worker makes the collection and ends before anything is in it.
    let worker = Server::start(&dir, &role("worker", &url, &qdrant));
    let client = server.client(Key::Acme).await;
    index_ready(&client).await;
    worker.kill();
    let thread_id = client.thread("app").await;
    let stored = diary::store(&client, &thread_id).await;
    let request = RecallRequest {
        freshness: at_least_within(&stored.revision, seconds(1)),
        policy: Some(MemoryPolicy {
            recent_window: Some(0),
            ..Default::default()
        }),
        ..recall_request(&thread_id, "greyhound Biscuit", "")
    };
    let start = Instant::now();
    let recalled = client.recall(request.clone()).await;
    let waited = start.elapsed();
    assert!(
        waited >= Duration::from_millis(900),
        "it waits for the index first: {waited:?}"
    );
    assert!(waited < Duration::from_secs(15), "{waited:?}");
    assert_eq!(
        reasons(&recalled.degradations),
        [DegradationReason::IndexLagging]
    );
    let found = texts(&recalled.messages);
    assert!(found.contains(&"We adopted a greyhound, he is called Biscuit.".to_owned()));

    // Without a revision the answer is what the index holds: nothing.
    let request = RecallRequest {
        freshness: recollect_tests::eventual(),
        ..request
    };
    let stale = client.recall(request.clone()).await;
    assert_eq!((stale.messages, stale.degradations), (vec![], vec![]));

    // A deadline that is shorter than max_wait shortens the wait.
    let mut timed = tonic::Request::new(RecallRequest {
        freshness: at_least_within(&stored.revision, seconds(30)),
        ..request
    });
    timed
        .metadata_mut()
        .insert("grpc-timeout", "20S".parse().unwrap());
    let recalled = client.call(timed).await;
    assert_eq!(
        reasons(&recalled.degradations),
        [DegradationReason::IndexLagging]
    );
}

#[apply(trial_with_own_server)]
async fn b03_deleted_messages_are_not_found_while_their_vectors_are_in_qdrant() {
    let qdrant = Qdrant::new();
    let (_cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &role("serve", &url, &qdrant));
    let worker = Server::start(&dir, &role("worker", &url, &qdrant));
    let client = server.client(Key::Acme).await;
    index_ready(&client).await;
    let thread_id = client.thread("app").await;
    let secret = "The treasure is under the oak.";
    let first = client.append_turn(&thread_id, secret, "I keep it.").await;
    let stored = diary::store(&client, &thread_id).await;
    let search = search_request(&thread_id, "treasure oak", &stored.revision);
    assert!(texts(&client.search(search).await.matches).contains(&secret.to_owned()));
    // From here on nothing reaches the index.
    worker.kill();
    let deleted = client
        .delete_message(&thread_id, &first.messages[0].message_id)
        .await;
    assert_eq!(
        client.index_status().await.point_count,
        46,
        "its vector is still there"
    );
    for method in [
        SearchMethod::Hybrid,
        SearchMethod::Dense,
        SearchMethod::Lexical,
    ] {
        let search = SearchRequest {
            method: method.into(),
            top_k: Some(100),
            ..search_request(&thread_id, "treasure under the oak", "")
        };
        let found = client.search(search).await;
        assert_eq!(found.degradations, []);
        assert!(!found.matches.is_empty());
        assert!(
            !texts(&found.matches).contains(&secret.to_owned()),
            "{method:?}"
        );
        let recall = RecallRequest {
            method: method.into(),
            policy: Some(MemoryPolicy {
                top_k: Some(100),
                ..Default::default()
            }),
            ..recall_request(&thread_id, "treasure under the oak", "")
        };
        let found = client.recall(recall).await;
        assert!(
            !texts(&found.messages).contains(&secret.to_owned()),
            "{method:?}"
        );
    }
    // A worker that comes back forgets it.
    let _worker = Server::start(&dir, &role("worker", &url, &qdrant));
    let search = search_request(&thread_id, "oak", &deleted.revision);
    assert_eq!(client.search(search).await.degradations, []);
    assert_eq!(client.index_status().await.point_count, 45);
}

#[apply(trial_with_own_server)]
async fn a_change_that_cannot_be_indexed_is_a_dead_letter_with_its_reason() -> Result<(), Skipped> {
    let qdrant = Qdrant::new();
    qdrant.refuses_writes()?;
    let (_dir, server, client) = Server::start_own(&dev(&qdrant)).await;
    index_ready(&client).await;
    let thread_id = client.thread("app").await;
    qdrant.set_fault(Fault::RefuseSpeaker("Mallory".to_owned()));
    let mallory = MessageInput {
        name: "Mallory".to_owned(),
        ..say(Role::User, "The needle is in the haystack.")
    };
    let said = vec![
        say(Role::User, "Before."),
        mallory,
        say(Role::User, "After."),
    ];
    let stored = client.append(&thread_id, said).await;
    eventually("it is given up", SOON, async || {
        let status = client.index_status().await;
        status.dead_letter_count == 1 && status.pending_count == 0
    })
    .await;
    let status = client.index_status().await;
    assert_eq!(status.point_count, 2, "the others are in the index");
    assert!(!status.last_error.is_empty() && status.last_error_time.is_some());
    let list = client.call(ListDeadLettersRequest::default()).await;
    assert_eq!(list.dead_letters.len(), 1);
    let letter = &list.dead_letters[0];
    assert_eq!(letter.thread_id, thread_id);
    assert_eq!(letter.message_id, stored.messages[1].message_id);
    assert_eq!(letter.attempts, 3);
    assert!(!letter.last_error.is_empty() && letter.fail_time.is_some());
    assert!(!letter.last_error.contains("needle"), "not what was said");
    // Another tenant has nothing to do with it.
    let globex = server.client(Key::Globex).await;
    let theirs = globex.index_status().await;
    assert_eq!(
        (theirs.dead_letter_count, theirs.last_error.as_str()),
        (0, "")
    );
    // A colleague without administration sees it.
    let colleague = server.client(Key::AcmeToo).await;
    assert_eq!(colleague.index_status().await.last_error, letter.last_error);
    let none = globex.call(ListDeadLettersRequest::default()).await;
    assert_eq!(none.dead_letters, []);

    let request = search_request(&thread_id, "needle haystack", &stored.revision);
    let found = client.search(request.clone()).await;
    assert_eq!(
        reasons(&found.degradations),
        [DegradationReason::NotIndexed]
    );
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(history.messages.len(), 3, "history has it");

    qdrant.set_fault(Fault::None);
    let reindex = ReindexRequest {
        thread: None,
        dead_letters_only: true,
    };
    let queued = client.call(reindex).await;
    assert_eq!(queued.queued_count, 1);
    eventually("it is in the index", SOON, async || {
        let status = client.index_status().await;
        (status.point_count, status.dead_letter_count) == (3, 0)
    })
    .await;
    let found = client.search(request).await;
    assert_eq!(found.degradations, []);
    assert_eq!(texts(&found.matches)[0], "The needle is in the haystack.");
    Ok(())
}

#[apply(trial_with_own_server)]
async fn a_full_disk_of_qdrant_delays_indexing_and_nothing_is_given_up() -> Result<(), Skipped> {
    let qdrant = Qdrant::new();
    qdrant.refuses_writes()?;
    let (_dir, _server, client) = Server::start_own(&dev(&qdrant)).await;
    index_ready(&client).await;
    let thread_id = client.thread("app").await;
    qdrant.set_fault(Fault::FullDisk);
    let stored = client.append_text(&thread_id, "The hat is blue.").await;
    let mut failures = BTreeSet::new();
    for _ in 0..6 {
        // More often than a change is attempted before it is given up.
        eventually("indexing fails again", SOON, async || {
            let time = client.index_status().await.last_error_time;
            time.is_some_and(|time| !failures.contains(&(time.seconds, time.nanos)))
        })
        .await;
        let time = client.index_status().await.last_error_time.unwrap();
        failures.insert((time.seconds, time.nanos));
    }
    let status = client.index_status().await;
    assert_eq!((status.pending_count, status.dead_letter_count), (1, 0));
    assert!(status.last_error.contains("No space left"), "{status:?}");
    let search = search_request(&thread_id, "hat", &stored.revision);
    let lagging = SearchRequest {
        freshness: at_least_within(&stored.revision, seconds(1)),
        ..search.clone()
    };
    let found = client.search(lagging).await;
    assert_eq!(texts(&found.matches), ["The hat is blue."]);
    assert_eq!(
        reasons(&found.degradations),
        [DegradationReason::IndexLagging]
    );
    qdrant.set_fault(Fault::None);
    let found = client.search(search).await;
    assert_eq!(found.degradations, []);
    assert_eq!(texts(&found.matches), ["The hat is blue."]);
    Ok(())
}

#[apply(trial_with_own_server)]
async fn an_outage_of_qdrant_degrades_recall_and_loses_nothing() {
    let qdrant = Qdrant::new();
    let mut options = dev(&qdrant);
    // An outage is not the messages' fault: they must not be given up.
    options.config.retain(|line| !line.contains("max_attempts"));
    let (_dir, server, client) = Server::start_own(&options).await;
    index_ready(&client).await;
    let thread_id = client.thread("app").await;
    let before = client.append_text(&thread_id, "The hat is blue.").await;
    let search = |query: &str, revision: &str| SearchRequest {
        freshness: at_least_within(revision, seconds(1)),
        ..search_request(&thread_id, query, "")
    };
    let found = client
        .search(search_request(&thread_id, "hat", &before.revision))
        .await;
    assert_eq!(found.degradations, []);

    for fault in [Fault::Unavailable, Fault::Slow(Duration::from_secs(20))] {
        qdrant.set_fault(fault.clone());
        let word = if fault == Fault::Unavailable {
            "scarf"
        } else {
            "glove"
        };
        let said = format!("The {word} is red.");
        let stored = client.append_text(&thread_id, &said).await;
        let start = Instant::now();
        let found = client.search(search(word, &stored.revision)).await;
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{fault:?} is waited for"
        );
        let reported = reasons(&found.degradations);
        assert!(
            reported.contains(&DegradationReason::IndexUnavailable),
            "{fault:?}: {reported:?}"
        );
        assert_eq!(texts(&found.matches)[0], said, "{fault:?}");
        let start = Instant::now();
        assert!(
            !client
                .call(history_request(&thread_id))
                .await
                .messages
                .is_empty()
        );
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "history does not notice"
        );
        qdrant.set_fault(Fault::None);
        eventually("the index catches up", SOON, async || {
            let status = client.index_status().await;
            status.pending_count == 0 && status.state() == IndexState::Ready
        })
        .await;
        let found = client.search(search(word, &stored.revision)).await;
        assert_eq!(found.degradations, [], "{fault:?}");
        assert_eq!(texts(&found.matches)[0], said);
    }
    // An outage concerns the process: administrators see its error.
    let status = client.index_status().await;
    assert_eq!(status.dead_letter_count, 0);
    assert!(!status.last_error.is_empty());
    let colleague = server.client(Key::AcmeToo).await;
    assert_eq!(colleague.index_status().await.last_error, "");
}

#[apply(trial_with_own_server)]
async fn a_qdrant_that_lost_everything_is_filled_again() {
    let qdrant = Qdrant::new();
    let (_dir, _server, client) = Server::start_own(&dev(&qdrant)).await;
    index_ready(&client).await;
    let thread_id = client.thread("app").await;
    let stored = diary::store(&client, &thread_id).await;
    let request = search_request(&thread_id, "violin lessons", &stored.revision);
    assert_eq!(client.search(request.clone()).await.degradations, []);
    qdrant.lose_everything().await;
    eventually("it is filled again", SOON, async || {
        let status = client.index_status().await;
        status.state() == IndexState::Ready && status.point_count == 44
    })
    .await;
    eventually("recall says no more that it is rebuilt", SOON, async || {
        let found = client.search(request.clone()).await;
        assert_eq!(
            texts(&found.matches)[0],
            "On Thursdays I have violin lessons."
        );
        found.degradations.is_empty()
    })
    .await;
}

//! Callers read their own writes, and never what was erased.

use std::time::{Duration, Instant};

use memory_contract::proto::{
    MemoryPolicy, RecallRequest, RecallScope, SearchMethod, SearchRequest,
};
use recollect_tests::{
    Client, Key, SHARED, SOON, Server, app, apply, by_id, eventually, ids, recall_request,
    search_request, texts, trial, trial_with_own_server, turn,
};

use super::diary;
use crate::acme;

#[apply(trial)]
async fn b02_recall_sees_messages_appended_just_before() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    diary::store(&client, &thread_id).await;
    for number in 0..5 {
        let text = format!("The password of door {number} is swordfish{number}.");
        let stored = client.append_text(&thread_id, &text).await;
        // Pushed out of the recent window, it can only come from the index.
        let last = client
            .append(&thread_id, [turn("a", "b"), turn("c", "d")].concat())
            .await;
        assert_ne!(stored.revision, last.revision);
        let query = format!("swordfish{number}");
        let recalled = client
            .recall(recall_request(&thread_id, &query, &stored.revision))
            .await;
        assert_eq!(recalled.degradations, []);
        assert!(texts(&recalled.messages).contains(&text), "{recalled:?}");
        let mut search = search_request(&thread_id, &query, &stored.revision);
        search.method = SearchMethod::Dense.into();
        search.top_k = Some(100);
        assert!(texts(&client.search(search).await.matches).contains(&text));
    }
}

#[apply(trial)]
async fn b02_many_writers_read_their_own_writes() {
    let client = acme().await;
    let app = app();
    let tasks = (0..6).map(|writer| {
        let (client, app) = (client.clone(), app.clone());
        async move {
            let thread_id = client.thread_of(&app, &format!("user-{writer}")).await;
            for number in 0..6 {
                let word = format!("gizmo{writer}x{number}");
                let text = format!("Remember {word}, please.");
                let stored = client.append_text(&thread_id, &text).await;
                let found = client
                    .search(search_request(&thread_id, &word, &stored.revision))
                    .await;
                assert_eq!(found.degradations, []);
                assert_eq!(texts(&found.matches)[0], text);
            }
        }
    });
    futures::future::join_all(tasks).await;
}

#[apply(trial)]
async fn b02_a_revision_of_another_tenant_means_nothing() {
    let (acme, globex) = (acme().await, SHARED.client(Key::Globex).await);
    let app = app();
    let theirs = acme.thread(&app).await;
    let revision = acme.append_turn(&theirs, "Q", "A").await.revision;
    let own = globex.thread(&app).await;
    let stored = globex.append_text(&own, "The lamp is green.").await;
    globex
        .search(search_request(&own, "lamp", &stored.revision))
        .await;
    let start = Instant::now();
    let found = globex.search(search_request(&own, "lamp", &revision)).await;
    assert_eq!(found.degradations, []);
    assert_eq!(texts(&found.matches), ["The lamp is green."]);
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "there is nothing to wait for"
    );

    let request = search_request(&own, "lamp", "no-such-token");
    let refused = globex.refused(request).await;
    refused.names_field("freshness.at_least_as_fresh");
}

/// Searches in every scope and with every method, without waiting for the index.
async fn look_everywhere(client: &Client, thread_id: &str, query: &str) -> Vec<String> {
    let mut found = Vec::new();
    for scope in [RecallScope::Thread, RecallScope::User, RecallScope::App] {
        for method in [
            SearchMethod::Hybrid,
            SearchMethod::Dense,
            SearchMethod::Lexical,
        ] {
            let search = SearchRequest {
                scope: scope.into(),
                method: method.into(),
                top_k: Some(100),
                all_branches: true,
                ..search_request(thread_id, query, "")
            };
            found.extend(texts(&client.search(search).await.matches));
        }
        let recall = RecallRequest {
            policy: Some(MemoryPolicy {
                scope: scope.into(),
                top_k: Some(100),
                ..Default::default()
            }),
            all_branches: true,
            explain: true,
            ..recall_request(thread_id, query, "")
        };
        found.extend(texts(&client.recall(recall).await.messages));
    }
    found
}

const SECRET: &str = "The treasure is under the oak.";

async fn with_secret() -> (Client, String, String, String) {
    let client = acme().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let other = client.thread(&app).await;
    let stored = client
        .append_turn(&thread_id, SECRET, "I keep it to myself.")
        .await;
    let talk = diary::store(&client, &other).await;
    // It is in the index now, and found.
    let search = search_request(&thread_id, "treasure oak", &stored.revision);
    assert!(texts(&client.search(search).await.matches).contains(&SECRET.to_owned()));
    client
        .search(search_request(&other, "oak", &talk.revision))
        .await;
    let id = stored.messages[0].message_id.clone();
    (client, thread_id, other, id)
}

#[apply(trial)]
async fn b03_deleted_messages_are_not_found_any_more_at_once() {
    let (client, thread_id, other, message_id) = with_secret().await;
    client.delete_message(&thread_id, &message_id).await;
    for place in [&thread_id, &other] {
        let found = look_everywhere(&client, place, "treasure under the oak").await;
        assert!(!found.contains(&SECRET.to_owned()));
    }
    client.delete_thread(&thread_id).await;
    let found = look_everywhere(&client, &other, "I keep it to myself").await;
    assert!(!found.contains(&"I keep it to myself.".to_owned()));
}

#[apply(trial)]
async fn b03_cleared_messages_are_not_found_any_more_at_once() {
    let (client, thread_id, other, _) = with_secret().await;
    client.clear_thread(&thread_id).await;
    for place in [&thread_id, &other] {
        let found = look_everywhere(&client, place, "treasure under the oak").await;
        assert!(!found.contains(&SECRET.to_owned()));
    }
}

#[apply(trial)]
async fn b03_expired_messages_are_not_found_while_their_vectors_exist() {
    let client = acme().await;
    let app = app();
    let other = client.thread(&app).await;
    diary::store(&client, &other).await;
    let brief = client.thread(&app).await;
    let stored = client.append_text(&brief, SECRET).await;
    let search = SearchRequest {
        scope: RecallScope::User.into(),
        ..search_request(&other, "treasure oak", &stored.revision)
    };
    assert!(texts(&client.search(search.clone()).await.matches).contains(&SECRET.to_owned()));
    client.expire(&brief).await;
    let get = memory_contract::proto::GetThreadRequest {
        thread: by_id(brief),
    };
    eventually("the thread expires", SOON, async || {
        client.threads().get_thread(get.clone()).await.is_err()
    })
    .await;
    // The sweep that erases it runs once a minute, so its vector is there still.
    let found = look_everywhere(&client, &other, "treasure under the oak").await;
    assert!(!found.contains(&SECRET.to_owned()));
}

#[apply(trial_with_own_server)]
async fn the_index_drops_erased_messages() {
    // A tenant's point count is of all its tests, so this needs its own server.
    let (_dir, _server, client) = Server::start_own(&recollect_tests::Options::with(&[
        "embedding.kind = \"none\"",
        "worker.expiry_interval = \"1s\"",
    ]))
    .await;
    let (one, two, three) = (
        client.thread("app").await,
        client.thread("app").await,
        client.thread("app").await,
    );
    let mut last = String::new();
    let mut first = Vec::new();
    for thread_id in [&one, &two, &three] {
        let stored = diary::store(&client, thread_id).await;
        client
            .search(search_request(thread_id, "dog", &stored.revision))
            .await;
        last = stored.revision;
        first.push(stored.messages[0].message_id.clone());
    }
    assert!(!last.is_empty());
    let each = i64::try_from(diary::TALK.len()).unwrap() * 2;
    let points = async |expected: i64| {
        eventually(&format!("{expected} points"), SOON, async || {
            client.index_status().await.point_count == expected
        })
        .await;
    };
    points(each * 3).await;

    let deleted = client.delete_message(&one, &first[0]).await;
    let found = client
        .search(search_request(&one, "slept badly", &deleted.revision))
        .await;
    assert_eq!(found.degradations, [], "the deletion reached the index");
    points(each * 3 - 1).await;

    client.clear_thread(&one).await;
    points(each * 2).await;
    client.delete_thread(&two).await;
    points(each).await;

    // An expired thread is erased by itself.
    client.expire(&three).await;
    points(0).await;
    eventually("nothing is pending", SOON, async || {
        client.index_status().await.pending_count == 0
    })
    .await;
}

#[apply(trial)]
async fn the_index_status_reports_its_progress() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let stored = diary::store(&client, &thread_id).await;
    client
        .search(search_request(&thread_id, "dog", &stored.revision))
        .await;
    let status = client.index_status().await;
    assert_eq!(status.state(), memory_contract::proto::IndexState::Ready);
    assert!(status.point_count >= 44, "{status:?}");
    assert!(!status.collection.is_empty());
    assert_eq!(
        (status.dead_letter_count, status.last_error.as_str()),
        (0, "")
    );
    eventually("nothing is pending", SOON, async || {
        let status = client.index_status().await;
        status.pending_count == 0 && status.lag.unwrap_or_default().seconds == 0
    })
    .await;
}

#[apply(trial)]
async fn reindexing_changes_nothing_that_is_found() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let stored = diary::store(&client, &thread_id).await;
    let request = search_request(&thread_id, "What is the name of the dog?", &stored.revision);
    let before = client.search(request.clone()).await.matches;
    let reindex = memory_contract::proto::ReindexRequest {
        thread: by_id(&thread_id),
        dead_letters_only: false,
    };
    let queued = client.call(reindex).await;
    assert_eq!(queued.queued_count, 44);
    // Later appends come later in the queue as well.
    let after = client.append_text(&thread_id, "Done?").await;
    let request = SearchRequest {
        freshness: recollect_tests::fresh_from(&after.revision),
        ..request
    };
    let again = client.search(request).await;
    assert_eq!(again.degradations, []);
    let again: Vec<String> = ids(&again.matches);
    let kept = ids(&before)
        .into_iter()
        .filter(|id| again.contains(id))
        .count();
    assert!(
        kept + 1 >= before.len(),
        "{kept} of {} found again",
        before.len()
    );
}

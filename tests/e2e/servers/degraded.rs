//! Servers without index, worker or model. History depends on none of them, and degraded
//! answers say so.

use std::time::{Duration, Instant};

use memory_contract::proto::{
    Degradation, DegradationReason, GetServerInfoRequest, IndexState, MemoryMode, MemoryPolicy,
    RecallReason, RecallRequest, RecallScope, SearchMethod, SearchRequest,
};
use recollect_tests::{
    DataDir, Key, Options, Server, apply, at_least_within, by_id, free_addr, has_reason,
    history_request, http_get, recall_request, search_request, seconds, texts,
    trial_with_own_server,
};

use crate::recall::diary;

fn reasons(degradations: &[Degradation]) -> Vec<DegradationReason> {
    for degradation in degradations {
        assert!(!degradation.message.is_empty(), "{degradation:?}");
    }
    degradations.iter().map(Degradation::reason).collect()
}

/// A server whose index is a Qdrant that does not answer.
fn without_index(dir: &DataDir) -> Server {
    let url = format!("index.url = \"http://{}\"", free_addr());
    Server::start(dir, &Options::with(&["index.backend = \"qdrant\"", &url]))
}

#[apply(trial_with_own_server)]
async fn l13_exact_history_works_while_the_index_is_down() {
    let dir = DataDir::new();
    let server = without_index(&dir);
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    diary::store(&client, &thread_id).await;
    let all = client.all_messages(&thread_id).await;
    assert_eq!(all.len(), diary::TALK.len() * 2);
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(history.messages, all);

    let window = RecallRequest {
        policy: Some(MemoryPolicy {
            mode: MemoryMode::Window.into(),
            ..Default::default()
        }),
        ..recall_request(&thread_id, "", "")
    };
    let window = client.recall(window).await;
    assert_eq!(window.messages.len(), 20);
    assert_eq!(window.degradations, [], "a window needs no index");

    let status = client.index_status().await;
    assert_eq!(status.state(), IndexState::Unavailable);
    assert_eq!(status.pending_count, 44, "nothing is forgotten meanwhile");
    assert!(!status.last_error.is_empty());
    let (code, body) = http_get(&server.ready().metrics_addr, "/readyz").await;
    assert_eq!(code, 200, "it can still be used: {body}");
    assert!(body.contains("degraded"), "{body}");
    let request = memory_contract::proto::DeleteMessageRequest {
        thread: by_id(&thread_id),
        message_id: all[0].message_id.clone(),
    };
    client.call(request).await;
    assert_eq!(client.all_messages(&thread_id).await, all[1..]);
    assert!(server.stop().await.success(), "stopping waits for no index");
}

#[apply(trial_with_own_server)]
async fn b02_recall_without_an_index_answers_from_the_database_and_says_so() {
    let dir = DataDir::new();
    let server = without_index(&dir);
    let client = server.client(Key::Acme).await;
    let (thread_id, today) = (client.thread("app").await, client.thread("app").await);
    let stored = diary::store(&client, &thread_id).await;
    client
        .append_turn(&today, "Good morning!", "Good morning.")
        .await;
    let start = Instant::now();
    let request = RecallRequest {
        policy: Some(MemoryPolicy {
            scope: RecallScope::User.into(),
            ..Default::default()
        }),
        freshness: at_least_within(&stored.revision, seconds(1)),
        ..recall_request(&today, "order number of the sofa", "")
    };
    let recalled = client.recall(request).await;
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "it does not wait for what is down"
    );
    let reported = reasons(&recalled.degradations);
    assert!(
        reported.contains(&DegradationReason::IndexUnavailable),
        "{reported:?}"
    );
    let found = texts(&recalled.messages);
    assert!(
        found.contains(&"The order number of the sofa is QX-88213-B.".to_owned()),
        "{found:?}"
    );
    assert!(
        found.contains(&"Good morning!".to_owned()),
        "the window is there"
    );
    let first = recalled
        .messages
        .iter()
        .find(|message| has_reason(message, RecallReason::Match))
        .unwrap();
    assert!(first.dense_score.is_none());

    for method in [
        SearchMethod::Hybrid,
        SearchMethod::Dense,
        SearchMethod::Lexical,
    ] {
        let search = SearchRequest {
            method: method.into(),
            ..search_request(&thread_id, "greyhound Biscuit", "")
        };
        let found = client.search(search).await;
        let reported = reasons(&found.degradations);
        assert!(
            reported.contains(&DegradationReason::IndexUnavailable),
            "{reported:?}"
        );
        assert_eq!(
            texts(&found.matches)[0],
            "We adopted a greyhound, he is called Biscuit."
        );
    }
}

#[apply(trial_with_own_server)]
async fn b03_nothing_of_another_caller_is_found_without_an_index() {
    let dir = DataDir::new();
    let server = without_index(&dir);
    let acme = server.client(Key::Acme).await;
    let globex = server.client(Key::Globex).await;
    let ada = acme.thread_of("app", "ada").await;
    let bob = acme.thread_of("app", "bob").await;
    let other = globex.thread_of("app", "ada").await;
    let stored = acme.append_text(&ada, "The vault opens with xyzzy.").await;
    for (client, thread_id, scope, found) in [
        (&acme, &ada, RecallScope::User, 1),
        (&acme, &bob, RecallScope::User, 0),
        (&acme, &bob, RecallScope::App, 1),
        (&globex, &other, RecallScope::Thread, 0),
        (&globex, &other, RecallScope::User, 0),
        (&globex, &other, RecallScope::App, 0),
    ] {
        let search = SearchRequest {
            scope: scope.into(),
            ..search_request(thread_id, "vault xyzzy", "")
        };
        assert_eq!(
            client.search(search).await.matches.len(),
            found,
            "{scope:?}"
        );
    }
    let request = memory_contract::proto::DeleteMessageRequest {
        thread: by_id(&ada),
        message_id: stored.messages[0].message_id.clone(),
    };
    acme.call(request).await;
    let search = search_request(&ada, "vault xyzzy", "");
    assert_eq!(acme.search(search).await.matches, []);
}

#[apply(trial_with_own_server)]
async fn n10_without_a_model_recall_is_by_word_alone() {
    let (_dir, _server, client) =
        Server::start_own(&Options::with(&["embedding.kind = \"none\""])).await;
    let info = client.call(GetServerInfoRequest {}).await;
    assert_eq!(info.embedding_model, "");
    let thread_id = client.thread("app").await;
    let stored = diary::store(&client, &thread_id).await;
    let found = client
        .search(search_request(
            &thread_id,
            "greyhound Biscuit",
            &stored.revision,
        ))
        .await;
    assert_eq!(
        texts(&found.matches)[0],
        "We adopted a greyhound, he is called Biscuit."
    );
    assert!(found.matches.iter().all(|hit| hit.dense_score.is_none()));
    let search = SearchRequest {
        method: SearchMethod::Dense.into(),
        ..search_request(&thread_id, "greyhound", &stored.revision)
    };
    let reported = reasons(&client.search(search).await.degradations);
    assert_eq!(reported, [DegradationReason::EmbedderUnavailable]);
}

#[apply(trial_with_own_server)]
async fn a_missing_model_says_which_command_makes_it() {
    let dir = DataDir::new();
    let options = Options::with(&["embedding.model_dir = \"/no/such/directory\""]);
    let said = match Server::try_start(&dir, &options) {
        // It may refuse to start, …
        Err(problem) => problem,
        // … or go on without, and say so in every recall.
        Ok(server) => {
            let client = server.client(Key::Acme).await;
            let thread_id = client.thread("app").await;
            let stored = diary::store(&client, &thread_id).await;
            let request = RecallRequest {
                freshness: at_least_within(&stored.revision, seconds(5)),
                ..recall_request(&thread_id, "greyhound", "")
            };
            let recalled = client.recall(request).await;
            let reported = reasons(&recalled.degradations);
            assert_eq!(reported, [DegradationReason::EmbedderUnavailable]);
            assert!(
                texts(&recalled.messages)
                    .contains(&"We adopted a greyhound, he is called Biscuit.".to_owned())
            );
            dir.log()
        }
    };
    assert!(said.contains("/no/such/directory"), "{said}");
    assert!(
        said.contains("make setup") || said.contains("scripts/setup"),
        "{said}"
    );
}

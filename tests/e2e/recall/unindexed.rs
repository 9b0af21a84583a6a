//! What was stored a moment ago takes part in recall, search, contexts and memory search
//! before the index has it, without a revision.

use std::time::{Duration, Instant};

use memory_contract::proto::{
    DegradationReason, MemoryPolicy, RecallRequest, RecallScope, SearchMethod, SearchRequest,
    SearchResponse,
};
use recollect_tests::{
    Client, Cluster, DataDir, Key, Qdrant, SOON, Server, app, apply, at_least_within,
    context_request, eventual, eventually_some, known_texts, memory, memory_search, memory_texts,
    quoted_texts, recall_request, say, search_request, seconds, texts, trial,
    trial_with_own_server,
};

use super::diary;
use super::qdrant::{index_ready, reasons, role};
use crate::acme;

const QUESTION: &str = "What is my dog called?";
const NAME: &str = "My dog is called Pixel.";

/// Recall in all threads of a user.
fn recall_of_user(app: &str, user: &str, query: &str) -> RecallRequest {
    RecallRequest {
        target: recollect_tests::target_user(app, user),
        query: query.to_owned(),
        ..Default::default()
    }
}

#[apply(trial)]
async fn b02_a_message_is_found_at_once_without_a_revision() {
    let client = acme().await;
    let app = app();
    for number in 0..100 {
        let user = format!("ada-{number}");
        let thread_id = client.thread_of(&app, &user).await;
        client.append_turn(&thread_id, NAME, "A fine name!").await;
        let recalled = client.recall(recall_of_user(&app, &user, QUESTION)).await;
        assert_eq!(recalled.degradations, [], "{number}");
        let found = texts(&recalled.messages);
        assert!(found.contains(&NAME.to_owned()), "{number}: {found:?}");
    }
}

#[apply(trial)]
async fn b02_a_memory_is_found_at_once_without_a_revision() {
    let client = acme().await;
    let app = app();
    for number in 0..20 {
        let user = format!("ada-{number}");
        let fact = format!("Prefers oolong tea, cup number {number}.");
        client.remember(&app, &user, vec![memory(&fact)]).await;
        let search = memory_search(&app, &user, "Which tea does she prefer?", "");
        let found = client.search_memories(search).await;
        assert_eq!(found.degradations, [], "{number}");
        assert_eq!(memory_texts(&found), [fact]);
    }
}

/// Searches until the vectors of the newest messages are made: a search by meaning reports those
/// that it lacks.
async fn search_all(client: &Client, search: &SearchRequest) -> SearchResponse {
    eventually_some("the newest messages are embedded", SOON, async || {
        let found = client.search(search.clone()).await;
        let complete = found.degradations.is_empty();
        assert!(complete || search.method() != SearchMethod::Lexical);
        complete.then_some(found)
    })
    .await
}

/// A server whose index has the diary of `thread_id`, and no worker any more.
struct Held {
    client: Client,
    thread_id: String,
    server: Server,
    dir: DataDir,
    url: String,
    qdrant: Qdrant,
    _cluster: Cluster,
}

/// The app of the held server's threads.
const APP: &str = "app";

impl Held {
    async fn start() -> Self {
        let qdrant = Qdrant::new();
        let (cluster, url) = Cluster::migrated().await;
        let dir = DataDir::new();
        let server = Server::start(&dir, &role("serve", &url, &qdrant));
        let worker = Server::start(&dir, &role("worker", &url, &qdrant));
        let client = server.client(Key::Acme).await;
        index_ready(&client).await;
        let thread_id = client.thread_of(APP, "ada").await;
        let stored = diary::store(&client, &thread_id).await;
        let search = search_request(&thread_id, "violin", &stored.revision);
        assert_eq!(client.search(search).await.degradations, []);
        worker.kill();
        Self {
            client,
            thread_id,
            server,
            dir,
            url,
            qdrant,
            _cluster: cluster,
        }
    }

    /// A worker that indexes one change at a time.
    fn slow_worker(&self) -> Server {
        let one_at_a_time = ["worker.indexer.batch_size = 1", "worker.indexer.lanes = 1"];
        let mut options = role("worker", &self.url, &self.qdrant);
        options.config.extend(one_at_a_time.map(str::to_owned));
        Server::start(&self.dir, &options)
    }
}

#[apply(trial_with_own_server)]
async fn b02_the_newest_messages_are_found_while_no_worker_runs() {
    let held = Held::start().await;
    let (client, thread_id) = (&held.client, &held.thread_id);
    let said = "The plumber comes at half past seven.";
    client.append_text(thread_id, said).await;
    // Pushes it out of the recent window.
    let later: Vec<_> = (0..6)
        .map(|number| {
            say(
                memory_contract::proto::Role::User,
                &format!("Note {number}."),
            )
        })
        .collect();
    client.append(thread_id, later).await;

    for scope in [RecallScope::Thread, RecallScope::User, RecallScope::App] {
        for method in [
            SearchMethod::Hybrid,
            SearchMethod::Dense,
            SearchMethod::Lexical,
        ] {
            let search = SearchRequest {
                scope: scope.into(),
                method: method.into(),
                ..search_request(thread_id, "When does the plumber come?", "")
            };
            let found = search_all(client, &search).await;
            assert_eq!(texts(&found.matches)[0], said, "{scope:?} {method:?}");
        }
    }
    let recall = recall_request(thread_id, "When does the plumber come?", "");
    let recalled = client.recall(recall.clone()).await;
    assert_eq!(recalled.degradations, []);
    let best = recalled.messages.iter().find(|one| one.rank == 1).unwrap();
    assert_eq!(
        recollect_tests::text_of(best.message.as_ref().unwrap()),
        said
    );
    assert!(best.lexical_score.unwrap() > 0.0);

    // It competes with what is indexed, and is returned once.
    let found = client
        .search(search_request(
            thread_id,
            "What is the greyhound called?",
            "",
        ))
        .await;
    let greyhound = "We adopted a greyhound, he is called Biscuit.".to_owned();
    assert!(texts(&found.matches)[..2].contains(&greyhound));
    let all = SearchRequest {
        top_k: Some(100),
        ..search_request(thread_id, "plumber greyhound violin note", "")
    };
    let mut found = recollect_tests::ids(&client.search(all).await.matches);
    let count = found.len();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), count);

    // A filter applies to it.
    let answers = SearchRequest {
        filter: Some(memory_contract::proto::MessageFilter {
            roles: vec![memory_contract::proto::Role::Assistant.into()],
            ..Default::default()
        }),
        ..search_request(thread_id, "plumber", "")
    };
    assert!(!texts(&client.search(answers).await.matches).contains(&said.to_owned()));

    // A caller may do without it.
    let without = RecallRequest {
        freshness: eventual(),
        policy: Some(MemoryPolicy {
            recent_window: Some(0),
            neighbors_after: Some(0),
            ..Default::default()
        }),
        ..recall
    };
    let stale = client.recall(without).await;
    assert_eq!(stale.degradations, []);
    assert!(!texts(&stale.messages).contains(&said.to_owned()));
    let without = SearchRequest {
        freshness: eventual(),
        ..search_request(thread_id, "plumber", "")
    };
    assert!(!texts(&client.search(without).await.matches).contains(&said.to_owned()));
}

#[apply(trial_with_own_server)]
async fn b02_contexts_and_memory_search_have_the_newest_without_a_worker() {
    let held = Held::start().await;
    let (client, thread_id) = (&held.client, &held.thread_id);
    let said = "The plumber comes at half past seven.";
    let earlier = client.thread_of(APP, "ada").await;
    client.append_text(&earlier, said).await;
    let fact = "Prefers oolong tea.";
    let added = client.remember(APP, "ada", vec![memory(fact)]).await;

    let mut request = context_request(thread_id, "When does the plumber come, and which tea?");
    request.policy = Some(MemoryPolicy {
        scope: RecallScope::User.into(),
        ..Default::default()
    });
    let context = client.context(request.clone()).await;
    assert_eq!(context.degradations, []);
    assert!(quoted_texts(&context).contains(&said.to_owned()));
    assert_eq!(known_texts(&context), [fact]);
    request.freshness = eventual();
    let context = client.context(request).await;
    assert!(!quoted_texts(&context).contains(&said.to_owned()));
    assert_eq!(known_texts(&context), [""; 0]);

    let search = |user: &str| memory_search(APP, user, "oolong tea", "");
    let found = client.search_memories(search("ada")).await;
    assert_eq!(
        (memory_texts(&found), found.degradations),
        (vec![fact.to_owned()], vec![])
    );
    let mut stale = search("ada");
    stale.freshness = eventual();
    assert_eq!(memory_texts(&client.search_memories(stale).await), [""; 0]);
    for user in ["bob", ""] {
        assert_eq!(
            memory_texts(&client.search_memories(search(user)).await),
            [""; 0]
        );
    }
    let globex = held.server.client(Key::Globex).await;
    assert_eq!(
        memory_texts(&globex.search_memories(search("ada")).await),
        [""; 0]
    );

    // One that is erased is not found.
    let delete = memory_contract::proto::DeleteMemoryRequest {
        memory_id: added.memories[0].memory.as_ref().unwrap().memory_id.clone(),
    };
    client.call(delete).await;
    assert_eq!(
        memory_texts(&client.search_memories(search("ada")).await),
        [""; 0]
    );
}

#[apply(trial_with_own_server)]
async fn b03_unindexed_messages_of_others_and_erased_ones_are_not_found() {
    let held = Held::start().await;
    let (client, thread_id) = (&held.client, &held.thread_id);
    let secret = "The treasure is under the oak.";
    let bobs = client.thread_of(APP, "bob").await;
    client.append_text(&bobs, secret).await;
    let other_app = client.thread_of("other", "ada").await;
    client.append_text(&other_app, secret).await;
    let globex = held.server.client(Key::Globex).await;
    let foreign = globex.thread_of(APP, "ada").await;
    globex.append_text(&foreign, secret).await;

    let mine = client.thread_of(APP, "ada").await;
    let deleted = client.append_turn(&mine, secret, "I keep it.").await;
    client
        .delete_message(&mine, &deleted.messages[0].message_id)
        .await;
    let cleared = client.thread_of(APP, "ada").await;
    client.append_text(&cleared, secret).await;
    client.clear_thread(&cleared).await;
    let erased = client.thread_of(APP, "ada").await;
    client.append_text(&erased, secret).await;
    client.delete_thread(&erased).await;

    for scope in [RecallScope::Thread, RecallScope::User] {
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
                ..search_request(thread_id, "treasure under the oak", "")
            };
            let found = search_all(client, &search).await;
            assert!(!texts(&found.matches).contains(&secret.to_owned()));
        }
    }
    // The answer to the deleted message is there, without the words of the message.
    let answers = client
        .search(search_request(&mine, "treasure under the oak", ""))
        .await;
    assert!(
        texts(&answers.matches)
            .iter()
            .all(|text| text == "I keep it.")
    );
    let found = client.search(search_request(&bobs, "treasure", "")).await;
    assert_eq!(texts(&found.matches), [secret]);
}

#[apply(trial_with_own_server)]
async fn b02_each_message_is_found_while_a_slow_worker_catches_up() {
    let held = Held::start().await;
    let (client, thread_id) = (&held.client, &held.thread_id);
    let _worker = held.slow_worker();
    for number in 0..30 {
        let said = format!("The number of locker {number} is {}.", 7_000 + number);
        client
            .append_turn(thread_id, &said, "I will remember it.")
            .await;
        let query = format!("number of locker {number}");
        let found = client.search(search_request(thread_id, &query, "")).await;
        assert!(texts(&found.matches)[..5].contains(&said), "{found:?}");
        // As many as wait at most take part.
        assert_eq!(found.degradations, [], "{number}");
    }
}

#[apply(trial_with_own_server)]
async fn b02_a_queue_of_ten_thousand_is_reported_and_the_newest_is_found() {
    let held = Held::start().await;
    let (client, thread_id) = (&held.client, &held.thread_id);
    let first = "The first parcel was sent to Reykjavik.";
    let other = client.thread_of(APP, "ada").await;
    client.append_text(&other, first).await;
    for batch in 0..100 {
        let notes = (0..100).map(|number| {
            let text = format!("Parcel {} was sent.", batch * 100 + number);
            say(memory_contract::proto::Role::User, &text)
        });
        client.append(&other, notes.collect()).await;
    }
    let newest = "The newest parcel went to Valparaiso.";
    client.append_text(thread_id, newest).await;

    for scope in [RecallScope::User, RecallScope::App] {
        let search = |query: &str| SearchRequest {
            scope: scope.into(),
            ..search_request(thread_id, query, "")
        };
        let found = client
            .search(search("Which parcel went to Valparaiso?"))
            .await;
        assert_eq!(texts(&found.matches)[0], newest, "{scope:?}");
        assert_eq!(
            reasons(&found.degradations),
            [DegradationReason::IndexLagging],
            "{scope:?}"
        );
        let message = &found.degradations[0].message;
        let told = message.split_once("at least ").unwrap().1;
        let told: u32 = told.split(' ').next().unwrap().parse().unwrap();
        // Of 2,048 and 1,000 more, all but those embedded meanwhile.
        assert!((2_000..=3_048).contains(&told), "{message}");
        // Older ones are found by word.
        let by_word = SearchRequest {
            method: SearchMethod::Lexical.into(),
            ..search("Reykjavik")
        };
        let found = client.search(by_word).await;
        assert_eq!(texts(&found.matches)[0], first, "{scope:?}");
    }
    // The queue of one thread and of one user does not concern another's.
    let of_thread = search_request(thread_id, "Valparaiso", "");
    let found = client.search(of_thread).await;
    assert_eq!(found.degradations, []);
    assert_eq!(texts(&found.matches)[0], newest);
    let bobs = client.thread_of(APP, "bob").await;
    client.append_text(&bobs, NAME).await;
    let mut took = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        let recalled = client.recall(recall_of_user(APP, "bob", QUESTION)).await;
        took.push(start.elapsed());
        assert_eq!(recalled.degradations, []);
        assert_eq!(texts(&recalled.messages), [NAME]);
    }
    // The median, because a busy machine delays some.
    took.sort_unstable();
    assert!(
        took[10] < Duration::from_millis(500),
        "the queue of others costs time: {took:?}"
    );

    // A search that names a revision reports that the index lacks it.
    let last = client.append_text(&other, "That was all.").await;
    let request = SearchRequest {
        freshness: at_least_within(&last.revision, seconds(1)),
        ..search_request(&other, "parcel", "")
    };
    let found = client.search(request).await;
    assert_eq!(
        reasons(&found.degradations),
        [DegradationReason::IndexLagging]
    );
}

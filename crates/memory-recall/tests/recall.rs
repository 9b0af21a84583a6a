//! Recall as a whole, over a store in memory.

#![allow(
    clippy::unwrap_used,
    reason = "a test that fails may say so by panicking"
)]

mod common;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{FakeStore, PATIENCE, Said, eventually, tenant};
use memory_contract::{AppId, MessageFilter, MessageId, Role, TenantId, ThreadId, UserId};
use memory_recall::testing::{Fault, TestQdrant};
use memory_recall::{
    Backend, BackendChoice, DegradationReason, EdgeIndex, Embedder, EmbedderConfig, Index,
    IndexConfig, IndexSchema, Indexer, IndexerConfig, IndexerHandle, Method, Mode, OmissionReason,
    Reason, Recall, RecallError, RecallQuery, Recalled, Scope, SearchConfig, SearchQuery, Target,
    UnavailableIndex, open_index,
};
use memory_store::StoreError;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A service without a model: it matches by word.
struct Service {
    store: FakeStore,
    index: Arc<dyn Index>,
    recall: Recall,
    indexer: IndexerHandle,
    _stop: DropGuard,
    _directory: Option<tempfile::TempDir>,
}

impl Service {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = IndexConfig {
            path: Some(directory.path().to_owned()),
            ..IndexConfig::default()
        };
        let index = EdgeIndex::open(&config, IndexSchema::new("recollect", None)).unwrap();
        Self {
            _directory: Some(directory),
            ..Self::over(Arc::new(index), None)
        }
    }

    fn over(index: Arc<dyn Index>, embedder: Option<Embedder>) -> Self {
        let store = FakeStore::default();
        let config = IndexerConfig {
            poll_interval: Duration::from_millis(10),
            ..IndexerConfig::default()
        };
        let indexer = Indexer::new(
            Arc::new(store.clone()),
            Arc::clone(&index),
            embedder.clone(),
            config,
        );
        let handle = indexer.handle();
        let stop = CancellationToken::new();
        tokio::spawn(indexer.run(stop.clone()));
        let recall = Recall::new(
            Arc::new(store.clone()),
            Arc::clone(&index),
            embedder,
            Some(handle.clone()),
            SearchConfig::default(),
        );
        Self {
            store,
            index,
            recall,
            indexer: handle,
            _stop: stop.drop_guard(),
            _directory: None,
        }
    }

    /// Says each line in a new thread of the user, and waits for the index.
    async fn conversation(&self, user: &str, lines: &[&str]) -> (ThreadId, Vec<MessageId>) {
        let thread = self.store.thread(&tenant(), "support", user);
        let said = self.say(thread, lines).await;
        (thread, said)
    }

    async fn say(&self, thread: ThreadId, lines: &[&str]) -> Vec<MessageId> {
        let say = |(n, line): (usize, &&str)| {
            let role = if n % 2 == 0 {
                Role::User
            } else {
                Role::Assistant
            };
            self.store.say(&tenant(), thread, role, line)
        };
        let said = lines.iter().enumerate().map(say).collect();
        self.settle().await;
        said
    }

    /// Waits until the index knows everything.
    async fn settle(&self) {
        self.indexer.wake();
        eventually("the index knows everything", async || {
            let whole = self.index.last_state() == memory_recall::IndexState::Ready;
            self.store.pending() == 0 && whole
        })
        .await;
    }

    async fn ask(&self, query: RecallQuery) -> Recalled {
        self.recall.recall(&tenant(), query).await.unwrap()
    }
}

fn of_user(user: &str, query: &str) -> RecallQuery {
    let target = Target::User {
        app: AppId::new("support"),
        user: UserId::new(user),
    };
    RecallQuery::new(target, Scope::User, query)
}

fn of_thread(thread: ThreadId, scope: Scope, query: &str) -> RecallQuery {
    RecallQuery::new(Target::Thread(thread), scope, query)
}

fn ids(recalled: &Recalled) -> Vec<MessageId> {
    recalled.messages.iter().map(|one| one.message.id).collect()
}

fn reasons(recalled: &Recalled) -> Vec<Vec<Reason>> {
    recalled
        .messages
        .iter()
        .map(|one| one.reasons.clone())
        .collect()
}

fn degradations(recalled: &Recalled) -> Vec<DegradationReason> {
    recalled.degradations.iter().map(|one| one.reason).collect()
}

const TRIP: [&str; 8] = [
    "I want to travel to Lisbon in spring.",
    "How long will you stay?",
    "Ten days, and my dog Rufus comes along.",
    "Then book a flat near a park.",
    "Good idea, something quiet.",
    "I will look for flats.",
    "Thank you for the help!",
    "You are welcome.",
];

#[tokio::test(flavor = "multi_thread")]
async fn window_matches_and_neighbors_come_in_order_each_with_its_reason() {
    let service = Service::start();
    let (_, old) = service.conversation("ada", &TRIP).await;
    let (thread, now) = service
        .conversation(
            "ada",
            &["Hello again.", "Hi!", "I am back.", "Nice.", "Yes."],
        )
        .await;
    let recalled = service
        .ask(of_thread(thread, Scope::User, "What is my dog called?"))
        .await;
    assert_eq!(recalled.degradations, []);
    // Two before and one after the match, then the newest four.
    let expected: Vec<MessageId> = old[..4].iter().chain(&now[1..]).copied().collect();
    let best = recalled.messages.iter().find(|one| one.rank == 1).unwrap();
    assert_eq!(best.message.id, old[2]);
    assert_eq!(best.reasons[0], Reason::Match);
    assert!(best.lexical_score.unwrap() > 0.0 && best.dense_score.is_none());
    assert!(best.score > 0.0 && best.score <= 1.0);
    let found = ids(&recalled);
    assert!(expected.iter().all(|id| found.contains(id)), "{found:?}");
    assert!(found.is_sorted_by_key(|id| { old.iter().chain(&now).position(|known| known == id) }));
    assert_eq!(
        reasons(&recalled)
            .iter()
            .filter(|reasons| reasons[0] == Reason::Recent)
            .count(),
        4
    );
    let before = recalled
        .messages
        .iter()
        .find(|one| one.message.id == old[1])
        .unwrap();
    assert!(before.reasons.contains(&Reason::Neighbor) && before.neighbor_of.contains(&old[2]));
    let tokens: i32 = recalled.messages.iter().map(|one| one.message.tokens).sum();
    assert_eq!(recalled.total_tokens, tokens as usize);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_count_as_asked() {
    let service = Service::start();
    let (thread, said) = service.conversation("ada", &TRIP).await;
    let query = RecallQuery {
        recent_window: 2,
        top_k: 1,
        neighbors_before: 0,
        neighbors_after: 1,
        ..of_thread(thread, Scope::Thread, "dog Rufus")
    };
    assert_eq!(
        ids(&service.ask(query.clone()).await),
        [said[2], said[3], said[6], said[7]]
    );
    let none = RecallQuery {
        recent_window: 0,
        top_k: 0,
        ..query.clone()
    };
    assert_eq!(ids(&service.ask(none).await), []);
    let reads = service.store.reads();
    let stateless = RecallQuery {
        mode: Mode::None,
        ..query.clone()
    };
    assert_eq!(ids(&service.ask(stateless).await), []);
    assert_eq!(service.store.reads(), reads);
    let window = RecallQuery {
        mode: Mode::Window,
        recent_window: 3,
        ..query.clone()
    };
    assert_eq!(ids(&service.ask(window).await), said[5..]);
    let silent = RecallQuery {
        query: "  ".to_owned(),
        ..query
    };
    assert_eq!(ids(&service.ask(silent).await), said[6..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_keep_users_apart() {
    let service = Service::start();
    let (ada, own) = service
        .conversation("ada", &["The code is pineapple."])
        .await;
    let (ada_too, own_too) = service
        .conversation("ada", &["The other code is pineapple juice."])
        .await;
    let (_, bo) = service
        .conversation("bo", &["My code is pineapple cake."])
        .await;
    let (nobody, alone) = service
        .conversation("", &["A code without a user: pineapple."])
        .await;
    let ask = async |query: RecallQuery| -> HashSet<MessageId> {
        ids(&service
            .ask(RecallQuery {
                recent_window: 0,
                ..query
            })
            .await)
        .into_iter()
        .collect()
    };
    let set = |lists: &[&Vec<MessageId>]| {
        lists
            .iter()
            .flat_map(|list| list.iter().copied())
            .collect::<HashSet<_>>()
    };
    let question = "Which pineapple code?";
    assert_eq!(
        ask(of_thread(ada, Scope::Thread, question)).await,
        set(&[&own])
    );
    // The second time the thread's owner is known already.
    for _ in 0..2 {
        assert_eq!(
            ask(of_thread(ada_too, Scope::User, question)).await,
            set(&[&own, &own_too])
        );
        assert_eq!(
            ask(of_thread(nobody, Scope::User, question)).await,
            set(&[&alone])
        );
        assert_eq!(
            ask(of_thread(ada, Scope::App, question)).await,
            set(&[&own, &own_too, &bo, &alone])
        );
    }
    assert_eq!(ask(of_user("bo", question)).await, set(&[&bo]));
    let foreign = service
        .recall
        .recall(
            &TenantId::new("rival"),
            of_thread(ada, Scope::User, question),
        )
        .await;
    assert!(
        matches!(foreign, Err(RecallError::Store(StoreError::ThreadNotFound))),
        "{foreign:?}"
    );
    let target = Target::User {
        app: AppId::new("support"),
        user: UserId::new("ada"),
    };
    let query = RecallQuery::new(target, Scope::User, question);
    let foreign = service
        .recall
        .recall(&TenantId::new("rival"), query)
        .await
        .unwrap();
    assert_eq!(ids(&foreign), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_erased_is_not_returned_while_its_point_is_still_there() {
    let service = Service::start();
    let (_, said) = service.conversation("ada", &TRIP).await;
    let query = RecallQuery {
        neighbors_before: 0,
        neighbors_after: 0,
        explain: true,
        ..of_user("ada", "Lisbon dog flat")
    };
    assert!(ids(&service.ask(query.clone()).await).contains(&said[2]));
    service.store.erase_silently(said[2]);
    let recalled = service.ask(query).await;
    assert!(!ids(&recalled).contains(&said[2]));
    assert!(
        recalled
            .omitted
            .iter()
            .all(|omission| omission.message != said[2])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn omitted_candidates_say_why() {
    let service = Service::start();
    let (_, said) = service
        .conversation(
            "ada",
            &[
                "Tea is good.",
                "Tea is better with milk.",
                "Tea is good.",
                "Tea again.",
                "Tea on a branch.",
                "Tea and more tea, and tea after that with a long story about it.",
            ],
        )
        .await;
    // The third has the first one's speaker and content.
    service.store.abandon(said[4]);
    let query = RecallQuery {
        top_k: 2,
        neighbors_before: 0,
        neighbors_after: 0,
        explain: true,
        ..of_user("ada", "tea")
    };
    let recalled = service.ask(query.clone()).await;
    assert_eq!(recalled.messages.len(), 2);
    let why = |recalled: &Recalled, id| {
        recalled
            .omitted
            .iter()
            .find(|omission| omission.message == id)
            .map(|omission| omission.reason)
    };
    assert_eq!(why(&recalled, said[4]), Some(OmissionReason::Branch));
    assert_eq!(recalled.messages.len() + recalled.omitted.len(), said.len());
    assert!(
        recalled
            .omitted
            .iter()
            .any(|omission| omission.reason == OmissionReason::Rank)
    );

    let more = service
        .ask(RecallQuery {
            top_k: 10,
            ..query.clone()
        })
        .await;
    let twins = [why(&more, said[0]), why(&more, said[2])];
    assert!(
        twins.contains(&Some(OmissionReason::Duplicate)) && twins.contains(&None),
        "{twins:?}"
    );

    let branches = service
        .ask(RecallQuery {
            all_branches: true,
            top_k: 10,
            ..query.clone()
        })
        .await;
    assert!(ids(&branches).contains(&said[4]));

    let strict = service
        .ask(RecallQuery {
            min_score: 1.0,
            ..query.clone()
        })
        .await;
    assert_eq!(why(&strict, said[0]), Some(OmissionReason::Threshold));
    assert_eq!(strict.messages.len(), 0);

    let tight = service
        .ask(RecallQuery {
            top_k: 10,
            max_tokens: Some(16),
            ..query.clone()
        })
        .await;
    assert!(tight.total_tokens <= 16 && !tight.messages.is_empty());
    assert!(
        tight
            .omitted
            .iter()
            .any(|omission| omission.reason == OmissionReason::Budget)
    );

    let quiet = service
        .ask(RecallQuery {
            explain: false,
            ..query
        })
        .await;
    assert_eq!(quiet.omitted, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn matches_repeat_neither_the_window_nor_each_other() {
    let service = Service::start();
    service
        .conversation(
            "ada",
            &["Where is the key?", "Under the mat.", "Where is the key?"],
        )
        .await;
    let (thread, now) = service.conversation("ada", &["Where is the key?"]).await;
    let recalled = service
        .ask(of_thread(thread, Scope::User, "Where is the key?"))
        .await;
    let same = recalled
        .messages
        .iter()
        .filter(|one| one.message.role == Role::User)
        .count();
    assert_eq!(same, 1, "{recalled:?}");
    assert!(ids(&recalled).contains(&now[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_keep_some_of_the_matches_only() {
    let service = Service::start();
    let (thread, said) = service.conversation("ada", &TRIP).await;
    let filter = MessageFilter {
        roles: vec![Role::Assistant],
        ..MessageFilter::default()
    };
    let query = RecallQuery {
        filter,
        recent_window: 1,
        neighbors_before: 1,
        neighbors_after: 0,
        ..of_thread(thread, Scope::Thread, "book a flat near a park")
    };
    let recalled = service.ask(query).await;
    let matched = |one: &&memory_recall::RecalledMessage| one.rank > 0;
    assert!(
        recalled
            .messages
            .iter()
            .filter(matched)
            .all(|one| one.message.role == Role::Assistant)
    );
    let best = recalled.messages.iter().find(|one| one.rank == 1).unwrap();
    assert_eq!(best.message.id, said[3]);
    assert!(
        ids(&recalled).contains(&said[2]),
        "a neighbor is not filtered"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_one_speaker_that_a_query_names_comes_first() {
    let service = Service::start();
    let say = |thread, name, text| {
        service
            .store
            .append(
                &tenant(),
                thread,
                Said {
                    name,
                    ..Said::new(Role::User, text)
                },
            )
            .0
    };
    let mut painted = Vec::new();
    for name in ["Bo", "Cleo"] {
        let thread = service.store.thread(&tenant(), "support", "ada");
        painted.push(say(
            thread,
            name,
            "I painted a sunrise over the lake; it took me many hours to get it right.",
        ));
        say(
            thread,
            "Dan",
            "That sounds like a lot of work, and I would like to see it one day.",
        );
    }
    let [bo, cleo] = [painted[0], painted[1]];
    service.settle().await;
    let first = async |query: &str| {
        let recalled = service
            .ask(RecallQuery {
                neighbors_before: 0,
                neighbors_after: 0,
                ..of_user("ada", query)
            })
            .await;
        recalled
            .messages
            .iter()
            .find(|one| one.rank == 1)
            .unwrap()
            .message
            .id
    };
    assert_eq!(first("When did Bo paint a sunrise?").await, bo);
    assert_eq!(first("When did Cleo paint a sunrise?").await, cleo);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_without_spaces_and_codes_are_found() {
    let service = Service::start();
    let (_, said) = service
        .conversation(
            "ada",
            &[
                "我昨天去了北京大学。",
                "東京タワーは高いです。",
                "Order AB-1138 is late.",
                "오늘 서울에 비가 온다",
            ],
        )
        .await;
    for (query, expected) in [
        ("北京大学在哪里", said[0]),
        ("東京タワー", said[1]),
        ("where is 1138", said[2]),
        ("서울", said[3]),
    ] {
        let recalled = service
            .ask(RecallQuery {
                top_k: 1,
                neighbors_before: 0,
                neighbors_after: 0,
                ..of_user("ada", query)
            })
            .await;
        assert_eq!(ids(&recalled), [expected], "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_returns_the_best_first() {
    let service = Service::start();
    let (thread, said) = service.conversation("ada", &TRIP).await;
    let query = SearchQuery {
        target: Target::Thread(thread),
        scope: Scope::User,
        query: "my dog Rufus".to_owned(),
        limit: 3,
        filter: MessageFilter::default(),
        method: Method::Lexical,
        min_score: 0.0,
        at_least_as_fresh: String::new(),
        max_wait: Duration::ZERO,
        all_branches: false,
    };
    let found = service
        .recall
        .search(&tenant(), query.clone())
        .await
        .unwrap();
    assert_eq!(found.degradations, []);
    assert_eq!(found.matches[0].message.id, said[2]);
    assert_eq!(
        found.matches.iter().map(|one| one.rank).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!((found.matches[0].score - 1.0).abs() < 1e-6);
    assert!(
        found
            .matches
            .is_sorted_by(|left, right| left.score >= right.score)
    );
    for tenant in ["acme", "rival"] {
        let query = SearchQuery {
            target: Target::Thread(ThreadId::new()),
            ..query.clone()
        };
        let missing = service.recall.search(&TenantId::new(tenant), query).await;
        assert!(matches!(
            missing,
            Err(RecallError::Store(StoreError::ThreadNotFound))
        ));
    }
    let dense = SearchQuery {
        method: Method::Dense,
        ..query
    };
    let found = service.recall.search(&tenant(), dense).await.unwrap();
    assert_eq!(
        found.degradations[0].reason,
        DegradationReason::EmbedderUnavailable
    );
    assert_eq!(found.matches[0].message.id, said[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recall_waits_for_the_revision_it_has_to_see() {
    let service = Service::start();
    let (thread, _) = service.conversation("ada", &TRIP).await;
    for n in 0..5 {
        let text = format!("The secret number is {n}{n}{n}.");
        let (said, revision) =
            service
                .store
                .append(&tenant(), thread, Said::new(Role::User, &text));
        service.indexer.wake();
        let query = RecallQuery {
            at_least_as_fresh: revision.to_string(),
            recent_window: 0,
            top_k: 1,
            neighbors_before: 0,
            neighbors_after: 0,
            ..of_thread(thread, Scope::User, &format!("secret {n}{n}{n}"))
        };
        let recalled = service.ask(query).await;
        assert_eq!(recalled.degradations, []);
        assert_eq!(ids(&recalled), [said]);
    }
    let wrong = RecallQuery {
        at_least_as_fresh: "nonsense".to_owned(),
        ..of_user("ada", "x")
    };
    let refused = service.recall.recall(&tenant(), wrong).await.unwrap_err();
    assert!(
        refused.to_string().starts_with("at_least_as_fresh"),
        "{refused}"
    );
}

fn client(server: &TestQdrant) -> Arc<dyn Index> {
    let config = IndexConfig {
        backend: BackendChoice::Qdrant,
        url: Some(server.url()),
        search_timeout: Duration::from_secs(3),
        ..IndexConfig::default()
    };
    open_index(&config, IndexSchema::new("recollect", None)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_down_degrades_and_never_fails_the_window() {
    let server = TestQdrant::start().await.unwrap();
    let service = Service::over(client(&server), None);
    let (thread, said) = service.conversation("ada", &TRIP).await;
    let query = of_thread(thread, Scope::User, "my dog Rufus");
    assert_eq!(degradations(&service.ask(query.clone()).await), []);
    for fault in [Fault::Unavailable, Fault::Slow(PATIENCE)] {
        server.set_fault(fault);
        let started = Instant::now();
        let recalled = service.ask(query.clone()).await;
        assert!(started.elapsed() < PATIENCE / 2);
        assert_eq!(
            degradations(&recalled),
            [DegradationReason::IndexUnavailable]
        );
        assert!(
            ids(&recalled).contains(&said[2]),
            "found by word in the store"
        );
        assert!(ids(&recalled).ends_with(&said[4..]), "the window is whole");
    }
    let window = service
        .ask(RecallQuery {
            mode: Mode::Window,
            ..query.clone()
        })
        .await;
    assert_eq!(degradations(&window), []);

    // What is said meanwhile is not indexed in time, and says so.
    server.set_fault(Fault::RefuseWrites);
    let (late, revision) = service.store.append(
        &tenant(),
        thread,
        Said::new(Role::User, "Rufus has a sister, Bella."),
    );
    let fresh = RecallQuery {
        at_least_as_fresh: revision.to_string(),
        max_wait: Duration::from_millis(50),
        recent_window: 0,
        ..of_thread(thread, Scope::User, "sister Bella")
    };
    let recalled = service.ask(fresh.clone()).await;
    assert_eq!(degradations(&recalled), [DegradationReason::IndexLagging]);
    assert!(ids(&recalled).contains(&late));

    server.set_fault(Fault::None);
    let recalled = service
        .ask(RecallQuery {
            max_wait: PATIENCE,
            ..fresh
        })
        .await;
    assert_eq!(degradations(&recalled), []);
    assert_eq!(
        recalled
            .messages
            .iter()
            .find(|one| one.rank == 1)
            .unwrap()
            .message
            .id,
        late
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_was_never_opened_degrades() {
    let store = FakeStore::default();
    let thread = store.thread(&tenant(), "support", "ada");
    let said = store.say(&tenant(), thread, Role::User, "My dog is called Rufus.");
    let index = Arc::new(UnavailableIndex::new(Backend::Edge, "no model"));
    let recall = Recall::new(
        Arc::new(store.clone()),
        index,
        None,
        None,
        SearchConfig::default(),
    );
    let query = RecallQuery {
        recent_window: 0,
        ..of_thread(thread, Scope::User, "What is the dog called?")
    };
    let recalled = recall.recall(&tenant(), query.clone()).await.unwrap();
    assert_eq!(
        degradations(&recalled),
        [DegradationReason::EmbedderUnavailable]
    );
    assert_eq!(ids(&recalled), [said]);
    store.set_down(true);
    let failed = recall.recall(&tenant(), query).await.unwrap_err();
    assert!(matches!(&failed, RecallError::Store(_)) && failed.retryable());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_being_rebuilt_says_so() {
    let service = Service::start();
    let (_, said) = service.conversation("ada", &TRIP).await;
    service.index.mark_rebuilding(true).await.unwrap();
    let recalled = service.ask(of_user("ada", "my dog Rufus")).await;
    assert_eq!(
        degradations(&recalled),
        [DegradationReason::IndexRebuilding]
    );
    assert!(ids(&recalled).contains(&said[2]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_could_not_be_indexed_is_told_of() {
    let server = TestQdrant::start().await.unwrap();
    let service = Service::over(client(&server), None);
    let (thread, _) = service.conversation("ada", &["Hello."]).await;
    server.set_fault(Fault::RefuseSpeaker("Mallory".to_owned()));
    let said = Said {
        name: "Mallory",
        ..Said::new(Role::User, "A refused message.")
    };
    let (_, revision) = service.store.append(&tenant(), thread, said);
    service.indexer.wake();
    let query = RecallQuery {
        at_least_as_fresh: revision.to_string(),
        max_wait: PATIENCE,
        ..of_thread(thread, Scope::Thread, "hello")
    };
    // Eight tries with the usual pauses would take too long.
    eventually("it was refused once", async || {
        service.store.give_up(revision.change)
    })
    .await;
    let recalled = service.ask(query).await;
    assert_eq!(degradations(&recalled), [DegradationReason::NotIndexed]);
}

/// The model of the set-up, or a word on why the test is skipped.
fn model() -> Option<Embedder> {
    match Embedder::start(&EmbedderConfig::default()) {
        Ok(embedder) => embedder,
        Err(error @ RecallError::ModelMissing { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paraphrase_is_found_by_meaning() {
    let Some(embedder) = model() else { return };
    let directory = tempfile::tempdir().unwrap();
    let config = IndexConfig {
        path: Some(directory.path().to_owned()),
        ..IndexConfig::default()
    };
    let schema = IndexSchema::new("recollect", Some(embedder.model()));
    let index = EdgeIndex::open(&config, schema).unwrap();
    let service = Service::over(Arc::new(index), Some(embedder));
    let (_, said) = service.conversation("ada", &TRIP).await;
    let query = RecallQuery {
        top_k: 1,
        neighbors_before: 0,
        neighbors_after: 0,
        ..of_user("ada", "Which pet goes on the journey?")
    };
    let recalled = service.ask(query).await;
    assert_eq!(ids(&recalled), [said[2]]);
    assert!(recalled.messages[0].dense_score.unwrap() > 0.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_gives_the_reference_vectors() {
    let Some(int8) = model() else { return };
    let config = EmbedderConfig {
        precision: memory_recall::ModelPrecision::Fp32,
        ..EmbedderConfig::default()
    };
    let fp32 = Embedder::start(&config).unwrap().unwrap();
    assert_eq!(fp32.model().dimensions, 384);
    assert_eq!(int8.model().name, "all-minilm-l6-v2-int8");
    let exact = fp32.query("This is an example sentence").await.unwrap();
    for (found, expected) in exact.iter().zip([0.067_656_9, 0.063_495_9, 0.048_713_1]) {
        assert!((found - expected).abs() < 1e-4, "{found} {expected}");
    }
    let near = int8.query("This is an example sentence").await.unwrap();
    let cosine: f32 = exact
        .iter()
        .zip(&near)
        .map(|(left, right)| left * right)
        .sum();
    assert!(cosine > 0.97, "{cosine}");
    // Documents come back in their order, whatever their length.
    let texts: Vec<String> = (0..20).map(|n| "word ".repeat((n * 7) % 20 + 1)).collect();
    let together = fp32.documents(texts.clone()).await.unwrap();
    for (text, vector) in texts.iter().zip(together) {
        let alone = fp32.query(text).await.unwrap();
        let cosine: f32 = alone
            .iter()
            .zip(&vector)
            .map(|(left, right)| left * right)
            .sum();
        assert!(cosine > 0.999, "{text}: {cosine}");
    }
    assert_eq!(
        fp32.documents(Vec::new()).await.unwrap(),
        Vec::<Vec<f32>>::new()
    );
    assert_eq!(fp32.query("").await.unwrap().len(), 384);
}

#[test]
fn a_model_that_is_not_there_names_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let config = EmbedderConfig {
        model_dir: Some(directory.path().to_owned()),
        ..EmbedderConfig::default()
    };
    let Err(error) = Embedder::start(&config) else {
        panic!("it started")
    };
    assert!(matches!(error, RecallError::ModelMissing { .. }), "{error}");
    assert!(error.to_string().contains("tokenizer.json"), "{error}");
    let none = EmbedderConfig {
        kind: memory_recall::EmbedderKind::None,
        ..EmbedderConfig::default()
    };
    assert!(Embedder::start(&none).unwrap().is_none());
}

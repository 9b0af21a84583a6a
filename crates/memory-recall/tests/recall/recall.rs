//! Recall and search as a whole.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memory_contract::{
    AppId, MessageId, TenantId, ThreadId, UserId, limits,
    message::{MessageFilter, NewMessage, Parent, Role},
    policy::MemoryScope,
};
use memory_index::{Backend, UnavailableIndex};
use memory_recall::{
    DegradationReason, Freshness, Method, OmissionReason, Reason, Recall, RecallError, RecallQuery,
    Recalled, SearchConfig,
};
use memory_store::{Caller, Scope, StoreError};
use memory_test_qdrant::{Fault, TestQdrant};

use crate::service::{Service, TRIP, degradations, ids};
use crate::world::{APP, TIMEOUT, World, caller, client, message, points};

fn of_user(user: &str, query: &str) -> RecallQuery {
    let scope = Scope::User {
        app: AppId::new(APP),
        user: UserId::new(user),
    };
    RecallQuery::new(None, scope, query)
}

impl World {
    async fn of_thread(&self, thread: ThreadId, scope: MemoryScope, query: &str) -> RecallQuery {
        let caller = caller();
        let policies = self.store.policies(&caller).policies(thread).await.unwrap();
        let scope = Scope::of_thread(thread, &policies.thread.session, scope, None);
        RecallQuery {
            thread_ordinal: policies.thread_ordinal,
            ..RecallQuery::new(Some(thread), scope, query)
        }
    }
}

impl Service {
    async fn of_thread(&self, thread: ThreadId, scope: MemoryScope, query: &str) -> RecallQuery {
        self.world.of_thread(thread, scope, query).await
    }
}

fn reasons(recalled: &Recalled) -> Vec<Vec<Reason>> {
    recalled
        .messages
        .iter()
        .map(|one| one.reasons.clone())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn window_matches_and_neighbors_come_in_order_each_with_its_reason() {
    let service = Service::start().await;
    let (_, old) = service.conversation("ada", &TRIP).await;
    let (thread, now) = service
        .conversation(
            "ada",
            &["Hello again.", "Hi!", "I am back.", "Nice.", "Yes."],
        )
        .await;
    let recalled = service
        .ask(
            service
                .of_thread(thread, MemoryScope::User, "What is my dog called?")
                .await,
        )
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
    let service = Service::start().await;
    let (thread, said) = service.conversation("ada", &TRIP).await;
    let query = RecallQuery {
        recent_window: 2,
        top_k: 1,
        neighbors_before: 0,
        neighbors_after: 1,
        ..service
            .of_thread(thread, MemoryScope::Thread, "dog Rufus")
            .await
    };
    assert_eq!(
        ids(&service.ask(query.clone()).await),
        [said[2], said[3], said[6], said[7]]
    );
    let window = RecallQuery {
        top_k: 0,
        recent_window: 3,
        ..query.clone()
    };
    assert_eq!(ids(&service.ask(window).await), said[5..]);
    let silent = RecallQuery {
        query: "  ".to_owned(),
        ..query.clone()
    };
    assert_eq!(ids(&service.ask(silent).await), said[6..]);
    // Reads nothing, so it needs no database.
    service.world.set_available(false);
    let none = RecallQuery {
        recent_window: 0,
        top_k: 0,
        ..query
    };
    assert_eq!(ids(&service.ask(none).await), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_keep_users_apart() {
    let service = Service::start().await;
    let (ada, own) = service
        .conversation("ada", &["The code is pineapple."])
        .await;
    let (ada_too, own_too) = service
        .conversation("ada", &["The other code is pineapple juice."])
        .await;
    let (_, bo) = service
        .conversation("bo", &["My code is pineapple cake."])
        .await;
    let (userless, alone) = service
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
        ask(service.of_thread(ada, MemoryScope::Thread, question).await).await,
        set(&[&own])
    );
    assert_eq!(
        ask(service
            .of_thread(ada_too, MemoryScope::User, question)
            .await)
        .await,
        set(&[&own, &own_too])
    );
    assert_eq!(
        ask(service
            .of_thread(userless, MemoryScope::User, question)
            .await)
        .await,
        set(&[&alone])
    );
    assert_eq!(
        ask(service.of_thread(ada, MemoryScope::App, question).await).await,
        set(&[&own, &own_too, &bo, &alone])
    );
    assert_eq!(ask(of_user("bo", question)).await, set(&[&bo]));
    let rival = Caller::worker(TenantId::new("rival"));
    let query = service.of_thread(ada, MemoryScope::User, question).await;
    let foreign = service.recall.recall(&rival, &query).await;
    assert!(
        matches!(foreign, Err(RecallError::Store(StoreError::ThreadNotFound))),
        "{foreign:?}"
    );
    let query = of_user("ada", question);
    let foreign = service.recall.recall(&rival, &query).await.unwrap();
    assert_eq!(ids(&foreign), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_messages_are_not_returned_while_their_points_exist() {
    let mut service = Service::start().await;
    let (thread, said) = service.conversation("ada", &TRIP).await;
    let query = RecallQuery {
        neighbors_before: 0,
        neighbors_after: 0,
        omissions: 200,
        ..of_user("ada", "Lisbon dog flat")
    };
    assert!(ids(&service.ask(query.clone()).await).contains(&said[2]));
    service.worker.end().await;
    service.world.erase(thread, said[2]).await;
    assert_eq!(points(&*service.index).await, 8);
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
    let service = Service::start().await;
    // The third has the role and content of the first.
    let lines = [
        "Tea is good.",
        "Tea is better with milk.",
        "Tea is good.",
        "Tea again.",
        "Tea on a branch.",
    ];
    let (thread, mut said) = service.conversation("ada", &lines).await;
    let text = "Tea and more tea, and tea after that with a long story about it.";
    let regenerated = NewMessage {
        parent: Parent::Message(said[3].into()),
        ..message(Role::User, text)
    };
    said.push(service.world.append(thread, regenerated).await.0);
    service.settle().await;
    let query = RecallQuery {
        top_k: 2,
        neighbors_before: 0,
        neighbors_after: 0,
        omissions: 200,
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
            omissions: 0,
            ..query
        })
        .await;
    assert_eq!(quiet.omitted, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn matches_repeat_neither_the_window_nor_each_other() {
    let service = Service::start().await;
    service
        .conversation(
            "ada",
            &["Where is the key?", "Under the mat.", "Where is the key?"],
        )
        .await;
    let (thread, now) = service.conversation("ada", &["Where is the key?"]).await;
    let recalled = service
        .ask(
            service
                .of_thread(thread, MemoryScope::User, "Where is the key?")
                .await,
        )
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
    let service = Service::start().await;
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
        ..service
            .of_thread(thread, MemoryScope::Thread, "book a flat near a park")
            .await
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
    let service = Service::start().await;
    let mut painted = Vec::new();
    for name in ["Bo", "Cleo"] {
        let thread = service.world.thread("ada").await;
        let lines = [
            (
                name,
                "I painted a sunrise over the lake; it took me many hours to get it right.",
            ),
            (
                "Dan",
                "That sounds like a lot of work, and I would like to see it one day.",
            ),
        ];
        for (name, text) in lines {
            let said = NewMessage {
                name: name.to_owned(),
                ..message(Role::User, text)
            };
            painted.push(service.world.append(thread, said).await.0);
        }
    }
    let [bo, cleo] = [painted[0], painted[2]];
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
async fn text_without_spaces_and_codes_are_found_by_word() {
    let service = Service::start().await;
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
                method: Method::Lexical,
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
    let service = Service::start().await;
    let (thread, said) = service.conversation("ada", &TRIP).await;
    let world = &service.world;
    let query = RecallQuery {
        top_k: 3,
        method: Method::Lexical,
        ..world
            .of_thread(thread, MemoryScope::User, "my dog Rufus")
            .await
    };
    let search = async |query: &RecallQuery| {
        let found = service.recall.search(&caller(), query.clone()).await;
        found.unwrap()
    };
    let found = search(&query).await;
    assert_eq!(found.degradations, []);
    assert_eq!(found.matches[0].message.id, said[2]);
    assert_eq!(
        found.matches.iter().map(|one| one.rank).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    let best = found.matches[0].score;
    assert!((0.5..=1.0).contains(&best), "{best}");
    assert!(
        found
            .matches
            .is_sorted_by(|left, right| left.score >= right.score)
    );
    let rival = Caller::worker(TenantId::new("rival"));
    let foreign = service.recall.search(&rival, query.clone()).await.unwrap();
    assert_eq!(foreign.matches, []);
    let dense = RecallQuery {
        method: Method::Dense,
        ..query
    };
    let found = search(&dense).await;
    assert_eq!(
        found.degradations[0].reason,
        DegradationReason::EmbedderUnavailable
    );
    assert_eq!(found.matches[0].message.id, said[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recall_waits_for_the_revision_it_has_to_see() {
    let service = Service::start().await;
    let (thread, _) = service.conversation("ada", &TRIP).await;
    for n in 0..5 {
        let text = format!("The secret number is {n}{n}{n}.");
        let (said, revision) = service
            .world
            .append(thread, message(Role::User, &text))
            .await;
        service.worker.handle.wake();
        let query = RecallQuery {
            freshness: Freshness::AtLeast(revision),
            max_wait: limits::MAX_WAIT,
            recent_window: 0,
            top_k: 1,
            neighbors_before: 0,
            neighbors_after: 0,
            ..service
                .of_thread(thread, MemoryScope::User, &format!("secret {n}{n}{n}"))
                .await
        };
        let recalled = service.ask(query).await;
        assert_eq!(recalled.degradations, []);
        assert_eq!(ids(&recalled), [said]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_down_degrades_and_never_fails_the_window() {
    let server = TestQdrant::start().await.unwrap();
    let service = Service::over(client(&server), None).await;
    let (thread, said) = service.conversation("ada", &TRIP).await;
    let query = service
        .of_thread(thread, MemoryScope::User, "my dog Rufus")
        .await;
    assert_eq!(degradations(&service.ask(query.clone()).await), []);
    for fault in [Fault::Unavailable, Fault::Slow(TIMEOUT)] {
        server.set_fault(fault);
        let started = Instant::now();
        let recalled = service.ask(query.clone()).await;
        assert!(started.elapsed() < TIMEOUT / 2);
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
            top_k: 0,
            ..query.clone()
        })
        .await;
    assert_eq!(degradations(&window), []);

    // Messages appended meanwhile are not indexed in time, which is reported.
    server.set_fault(Fault::FullDisk);
    let late = message(Role::User, "Rufus has a sister, Bella.");
    let (late, revision) = service.world.append(thread, late).await;
    let fresh = RecallQuery {
        freshness: Freshness::AtLeast(revision),
        max_wait: Duration::from_millis(50),
        recent_window: 0,
        ..service
            .of_thread(thread, MemoryScope::User, "sister Bella")
            .await
    };
    let recalled = service.ask(fresh.clone()).await;
    assert_eq!(degradations(&recalled), [DegradationReason::IndexLagging]);
    assert!(ids(&recalled).contains(&late));

    server.set_fault(Fault::None);
    let recalled = service
        .ask(RecallQuery {
            max_wait: TIMEOUT,
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
async fn a_revision_is_not_waited_for_while_the_index_is_down() {
    let server = TestQdrant::start().await.unwrap();
    let service = Service::over(client(&server), None).await;
    let (thread, _) = service.conversation("ada", &TRIP).await;
    server.set_fault(Fault::Unavailable);
    let late = message(Role::User, "Rufus has a sister, Bella.");
    let (late, revision) = service.world.append(thread, late).await;
    let fresh = RecallQuery {
        freshness: Freshness::AtLeast(revision),
        max_wait: TIMEOUT,
        recent_window: 0,
        ..service
            .of_thread(thread, MemoryScope::User, "sister Bella")
            .await
    };
    // Once the index is known to be down, the answer comes at once.
    for limit in [TIMEOUT / 2, TIMEOUT / 6] {
        let started = Instant::now();
        let recalled = service.ask(fresh.clone()).await;
        assert!(started.elapsed() < limit, "{:?}", started.elapsed());
        assert_eq!(
            degradations(&recalled),
            [DegradationReason::IndexUnavailable]
        );
        assert!(ids(&recalled).contains(&late), "found by word in the store");
    }
    // An index that answers again is waited for again.
    server.set_fault(Fault::None);
    let recalled = service.ask(fresh).await;
    assert_eq!(degradations(&recalled), []);
    assert!(ids(&recalled).contains(&late));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_was_never_opened_degrades() {
    let world = World::new().await;
    let thread = world.thread("ada").await;
    let said = world
        .say(thread, Role::User, "My dog is called Rufus.")
        .await;
    let index = Arc::new(UnavailableIndex::new(Backend::Edge, "no model"));
    let config = SearchConfig::default();
    let recall = Recall::new(world.store.clone(), index, None, None, config);
    let query = RecallQuery {
        recent_window: 0,
        ..world
            .of_thread(thread, MemoryScope::User, "What is the dog called?")
            .await
    };
    let recalled = recall.recall(&caller(), &query).await.unwrap();
    assert_eq!(
        degradations(&recalled),
        [DegradationReason::EmbedderUnavailable]
    );
    assert_eq!(ids(&recalled), [said]);
    world.set_available(false);
    let failed = recall.recall(&caller(), &query).await.unwrap_err();
    assert!(matches!(&failed, RecallError::Store(_)) && failed.retryable());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_being_rebuilt_says_so() {
    let service = Service::start().await;
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
async fn a_message_that_could_not_be_indexed_is_reported() {
    let server = TestQdrant::start().await.unwrap();
    let service = Service::over(client(&server), None).await;
    let (thread, _) = service.conversation("ada", &["Hello."]).await;
    server.set_fault(Fault::RefuseSpeaker("Mallory".to_owned()));
    let said = NewMessage {
        name: "Mallory".to_owned(),
        ..message(Role::User, "A refused message.")
    };
    let (_, revision) = service.world.append(thread, said).await;
    service.worker.handle.wake();
    let query = RecallQuery {
        freshness: Freshness::AtLeast(revision),
        max_wait: TIMEOUT,
        ..service
            .of_thread(thread, MemoryScope::Thread, "hello")
            .await
    };
    let recalled = service.ask(query).await;
    assert_eq!(degradations(&recalled), [DegradationReason::NotIndexed]);
}

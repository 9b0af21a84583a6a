//! Changes that wait to be indexed, with no indexer at work.

use std::time::Duration;

use memory_contract::{
    AppId, MessageId, UserId,
    memory::MemoryFilter,
    message::{MessageFilter, Role},
};
use memory_recall::{DegradationReason, Freshness, MemoryQuery, Method, RecallQuery};
use memory_store::{MemoryOwners, Scope};

use crate::service::{Service, degradations};
use crate::world::{APP, Worker, caller, eventually, owner, quick};

const INDEXED: [&str; 4] = [
    "We adopted a greyhound, he is called Biscuit.",
    "Congratulations! Greyhounds are gentle.",
    "The order number of the sofa is QX-88213-B.",
    "I can ask where the sofa is.",
];

const UNINDEXED: [&str; 4] = [
    "The plumber comes at half past seven.",
    "Then I will set the alarm.",
    "Biscuit needs new shots in March.",
    "I will note it for the greyhound.",
];

/// A search without a model among the messages of one user.
fn of_ada(query: &str) -> RecallQuery {
    let scope = Scope::User {
        app: AppId::new(APP),
        user: UserId::new("ada"),
    };
    RecallQuery {
        top_k: 10,
        neighbors_before: 0,
        neighbors_after: 0,
        ..RecallQuery::new(None, scope, query)
    }
}

/// The matches of a query, best first, and its degradations.
async fn matches(
    service: &Service,
    query: RecallQuery,
) -> (Vec<(MessageId, Option<f32>)>, Vec<DegradationReason>) {
    let recalled = service.ask(query).await;
    let degradations = degradations(&recalled);
    let mut found = recalled.messages;
    found.sort_by_key(|one| one.rank);
    let found = found.iter().map(|one| (one.message.id, one.lexical_score));
    (found.collect(), degradations)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unindexed_message_ranks_as_it_does_once_it_is_indexed() {
    let mut service = Service::start().await;
    service.conversation("ada", &INDEXED).await;
    service.worker.end().await;
    let thread = service.world.thread("ada").await;
    let mut said = Vec::new();
    for line in UNINDEXED {
        said.push(service.world.say(thread, Role::User, line).await);
    }
    let queries = [
        "When does the plumber come?",
        "Biscuit the greyhound",
        "sofa",
    ];
    let mut before = Vec::new();
    for query in queries {
        let (found, degradations) = matches(&service, of_ada(query)).await;
        assert_eq!(degradations, [], "{query}");
        before.push(found);
    }
    assert_eq!(before[0][0].0, said[0]);
    let eventual = RecallQuery {
        freshness: Freshness::Eventual,
        ..of_ada(queries[0])
    };
    assert_eq!(matches(&service, eventual).await.0, []);
    // A filter applies.
    let assistants = RecallQuery {
        filter: MessageFilter {
            roles: vec![Role::Assistant],
            ..MessageFilter::default()
        },
        ..of_ada(queries[0])
    };
    assert_eq!(matches(&service, assistants).await.0, []);

    let _worker = Worker::start(&service.world, &service.index, None, quick());
    eventually("all is indexed", async || {
        service.world.pending().await == 0
    })
    .await;
    for (query, before) in queries.into_iter().zip(before) {
        let (after, _) = matches(&service, of_ada(query)).await;
        let ids = |found: &[(MessageId, Option<f32>)]| {
            let mut ids: Vec<MessageId> = found.iter().map(|one| one.0).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(before[0].0, after[0].0, "{query}");
        assert_eq!(ids(&before), ids(&after), "{query}");
        assert!(before[0].1.is_some() && after[0].1.is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_counts_the_messages_of_its_scope_that_wait() {
    let mut service = Service::start().await;
    service.conversation("ada", &INDEXED).await;
    let waiting = async |service: &Service, query| service.ask(query).await.pending;
    assert_eq!(waiting(&service, of_ada("sofa")).await, 0);
    service.worker.end().await;
    let thread = service.world.thread("ada").await;
    for line in UNINDEXED {
        service.world.say(thread, Role::User, line).await;
    }
    let bobs = service.world.thread("bob").await;
    service.world.say(bobs, Role::User, UNINDEXED[0]).await;
    // A filter does not change the number, and the second search has read the messages before.
    let assistants = RecallQuery {
        filter: MessageFilter {
            roles: vec![Role::Assistant],
            ..MessageFilter::default()
        },
        ..of_ada("plumber")
    };
    let eventual = RecallQuery {
        freshness: Freshness::Eventual,
        ..of_ada("plumber")
    };
    let all = UNINDEXED.len() as u64;
    for (query, expected) in [
        (of_ada("plumber"), all),
        (of_ada("plumber"), all),
        (assistants, all),
        (eventual, 0),
    ] {
        assert_eq!(waiting(&service, query).await, expected);
    }
    let _worker = Worker::start(&service.world, &service.index, None, quick());
    eventually("all is indexed", async || {
        service.world.pending().await == 0
    })
    .await;
    assert_eq!(waiting(&service, of_ada("plumber")).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_unindexed_changes_than_one_search_reads_are_reported_until_later_searches_have_them()
{
    let mut service = Service::start().await;
    service.conversation("ada", &INDEXED).await;
    service.worker.end().await;
    let thread = service.world.thread("ada").await;
    let oldest = service
        .world
        .say(thread, Role::User, "The oldest word is quokka.")
        .await;
    service.world.say_each(thread, 300).await;
    // The first search reads the newest, and finds the oldest in Postgres.
    let (found, degradations) = matches(&service, of_ada("quokka")).await;
    assert_eq!(degradations, [DegradationReason::IndexLagging]);
    assert_eq!((found[0].0, found[0].1), (oldest, None));
    let (found, degradations) = matches(&service, of_ada("quokka")).await;
    assert_eq!(degradations, []);
    assert_eq!(found[0].0, oldest);
    assert!(found[0].1.is_some(), "it was scored like the indexed ones");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_of_waiting_messages_is_not_found_after_an_erasure() {
    let mut service = Service::start().await;
    service.settle().await;
    service.worker.end().await;
    let thread = service.world.thread("ada").await;
    let erased = service
        .world
        .say(thread, Role::User, "My secret word is quokka.")
        .await;
    let below = service.world.say(thread, Role::User, "Keep it.").await;
    // The message below it has its words.
    let (found, degradations) = matches(&service, of_ada("quokka")).await;
    let ids: Vec<MessageId> = found.iter().map(|one| one.0).collect();
    assert_eq!((ids, degradations), (vec![erased, below], vec![]));
    let caller = caller();
    let messages = service.world.store.messages(&caller);
    messages.delete_message(thread, erased).await.unwrap();
    assert_eq!(matches(&service, of_ada("quokka")).await, (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_that_waits_to_be_indexed_is_found_as_it_is_now() {
    let mut service = Service::start().await;
    let tea = service.world.remember("ada", "Prefers oolong").await;
    service.settle().await;
    service.worker.end().await;
    let coffee = service.world.remember("ada", "Hates coffee").await;
    service.world.remember("bob", "Hates coffee").await;
    let ask = async |query: &str, freshness| {
        let query = MemoryQuery {
            owners: MemoryOwners::User(owner("ada")),
            query: query.to_owned(),
            limit: 5,
            filter: MemoryFilter::default(),
            method: Method::Hybrid,
            min_score: 0.0,
            freshness,
            max_wait: Duration::ZERO,
        };
        let found = service.recall.memories(&caller(), &query).await.unwrap();
        assert_eq!(found.degradations, []);
        let ids = found.memories.iter().map(|one| one.memory.id);
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ask("coffee or oolong", Freshness::Newest).await.len(), 2);
    assert_eq!(ask("coffee", Freshness::Newest).await, [coffee]);
    assert_eq!(ask("coffee", Freshness::Eventual).await, []);
    let caller = caller();
    let memories = service.world.store.memories(&caller);
    memories.delete_memory(coffee).await.unwrap();
    assert_eq!(ask("coffee", Freshness::Newest).await, []);
    assert_eq!(ask("oolong", Freshness::Newest).await, [tea]);
}

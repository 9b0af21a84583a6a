//! What a tenant finds, and with which scores, does not depend on other tenants.

use memory_contract::{AppId, MessageId, TenantId, UserId};
use memory_index::{Change, Index, Point};
use memory_recall::{Method, Recall, RecallQuery, SearchConfig};
use memory_store::{Caller, Scope};
use memory_test_qdrant::TestQdrant;
use memory_text::lexical_query;
use uuid::Uuid;

use crate::hooked::Hooked;
use crate::point::point;
use crate::service::Service;
use crate::world::{APP, caller, client, edge, eventually};

const LINES: [&str; 4] = [
    "We adopted a greyhound, he is called Biscuit.",
    "Congratulations! Greyhounds are gentle.",
    "The order number of the sofa is QX-88213-B.",
    "The greyhound sleeps on the sofa.",
];

/// A recall that has cached nothing.
fn uncached(service: &Service) -> Recall {
    let (store, index) = (service.world.store.clone(), service.index.clone());
    Recall::new(store, index, None, None, SearchConfig::default())
}

fn query() -> RecallQuery {
    let scope = Scope::User {
        app: AppId::new(APP),
        user: UserId::new("ada"),
    };
    RecallQuery {
        method: Method::Lexical,
        ..RecallQuery::new(None, scope, "the greyhound on the sofa")
    }
}

/// The matches of a first recall, with their lexical scores.
async fn scores(recall: &Recall) -> Vec<(MessageId, f32, f32)> {
    let found = recall.search(&caller(), query()).await.unwrap();
    assert_eq!(found.degradations, []);
    let scores = found
        .matches
        .iter()
        .map(|one| (one.message.id, one.score, one.lexical_score.unwrap()));
    scores.collect()
}

/// Indexes so many messages of another tenant that say "greyhound".
async fn index_theirs(index: &dyn Index, messages: u32) {
    let theirs = (1..=messages).map(|number| {
        let theirs = Point {
            message: Uuid::from_u128(number.into()).into(),
            tenant: rival(),
            lexical: lexical_query("greyhound", &[]),
            dense: None,
            ..point(number, [0.0; 4])
        };
        Change::Upsert(Box::new(theirs))
    });
    index.apply(theirs.collect()).await.unwrap();
}

fn rival() -> TenantId {
    TenantId::new("rival")
}

fn assert_same(before: &[(MessageId, f32, f32)], after: &[(MessageId, f32, f32)]) {
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(after) {
        assert_eq!(before.0, after.0);
        let near = |one: f32, other: f32| (one - other).abs() < 1e-4;
        assert!(
            near(before.1, after.1) && near(before.2, after.2),
            "{before:?} {after:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scores_do_not_tell_how_often_other_tenants_use_a_word() {
    let (_directory, embedded) = edge();
    let server = TestQdrant::start().await.unwrap();
    for index in [embedded, client(&server)] {
        let service = Service::over(index, None).await;
        service.conversation("ada", &LINES).await;
        let before = scores(&uncached(&service)).await;
        assert_eq!(before.len(), LINES.len());
        index_theirs(&*service.index, 200).await;
        assert_same(&before, &scores(&uncached(&service)).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_recall_weighs_words_while_those_of_another_tenant_are_counted() {
    const FIRST_POINTS: usize = 256;
    let (_directory, embedded) = edge();
    let hooked = Hooked::new(embedded, |_| Box::pin(async {}));
    let service = Service::over(hooked.clone(), None).await;
    service.conversation("ada", &LINES).await;
    index_theirs(&*service.index, 2 * FIRST_POINTS as u32).await;
    let weighed = scores(&uncached(&service)).await;

    hooked.count_at_most(rival(), FIRST_POINTS);
    let recall = uncached(&service);
    let theirs = Caller::worker(rival());
    eventually(
        "all words of the other tenant are being counted",
        async || {
            recall.search(&theirs, query()).await.unwrap();
            hooked.do_counts_wait()
        },
    )
    .await;
    assert_same(&weighed, &scores(&recall).await);
}

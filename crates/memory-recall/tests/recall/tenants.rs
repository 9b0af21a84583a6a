//! What a tenant finds, and with which scores, does not depend on other tenants.

use memory_contract::{AppId, MessageId, TenantId, UserId};
use memory_recall::testing::TestQdrant;
use memory_recall::{Change, LexicalVector, Method, Point, Recall, RecallQuery, SearchConfig};
use memory_store::Scope;
use uuid::Uuid;

use crate::conformance::point;
use crate::world::{APP, Service, caller, client, edge};

const LINES: [&str; 4] = [
    "We adopted a greyhound, he is called Biscuit.",
    "Congratulations! Greyhounds are gentle.",
    "The order number of the sofa is QX-88213-B.",
    "The greyhound sleeps on the sofa.",
];

/// The matches of a new service, which has cached nothing, with their lexical scores.
async fn scores(service: &Service) -> Vec<(MessageId, f32, f32)> {
    let (store, index) = (service.world.store.clone(), service.index.clone());
    let recall = Recall::new(store, index, None, None, SearchConfig::default());
    let scope = Scope::User {
        app: AppId::new(APP),
        user: UserId::new("ada"),
    };
    let query = RecallQuery {
        method: Method::Lexical,
        ..RecallQuery::new(None, scope, "the greyhound on the sofa")
    };
    let found = recall.search(&caller(), query).await.unwrap();
    assert_eq!(found.degradations, []);
    let scores = found
        .matches
        .iter()
        .map(|one| (one.message.id, one.score, one.lexical_score.unwrap()));
    scores.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn scores_do_not_tell_how_often_other_tenants_use_a_word() {
    let (_directory, embedded) = edge();
    let server = TestQdrant::start().await.unwrap();
    for index in [embedded, client(&server)] {
        let service = Service::over(index, None).await;
        service.conversation("ada", &LINES).await;
        let before = scores(&service).await;
        assert_eq!(before.len(), LINES.len());
        let theirs = (1..=200_u32).map(|number| {
            let theirs = Point {
                message: Uuid::from_u128(number.into()).into(),
                tenant: TenantId::new("rival"),
                lexical: LexicalVector::of_query("greyhound"),
                dense: None,
                ..point(number, [0.0; 4])
            };
            Change::Upsert(Box::new(theirs))
        });
        service.index.apply(theirs.collect()).await.unwrap();
        let after = scores(&service).await;
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before.0, after.0);
            let near = |one: f32, other: f32| (one - other).abs() < 1e-4;
            assert!(
                near(before.1, after.1) && near(before.2, after.2),
                "{before:?} {after:?}"
            );
        }
    }
}

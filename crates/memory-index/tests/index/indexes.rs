//! Two indexes at a time, as while the embedding model is changed.

use memory_contract::{AppId, TenantId, UserId};
use memory_index::{
    Change, IndexConfig, IndexSchema, IndexState, Indexes, Point, Prepared, Selection, open_indexes,
};

use crate::point::point;

fn of(number: u32, user: &str) -> Change {
    Change::Upsert(Box::new(Point {
        user: UserId::new(user),
        dense: None,
        ..point(number, [1.0, 0.0, 0.0, 0.0])
    }))
}

fn selection(user: Option<&str>) -> Selection {
    let user = user.map(UserId::new);
    Selection::owner(
        &TenantId::new("acme"),
        Some(&AppId::new("support")),
        user.as_ref(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn two_embedded_indexes_share_a_directory_and_one_can_be_removed() {
    let directory = tempfile::tempdir().unwrap();
    let config = IndexConfig {
        path: Some(directory.path().to_owned()),
        ..IndexConfig::default()
    };
    let schema = |name| IndexSchema::new(name, None);
    let both = open_indexes(&config, schema("first"), schema("next")).unwrap();
    let names = both
        .each_ref()
        .map(|one| one.schema().collection().to_owned());
    let there = || {
        names
            .each_ref()
            .map(|name| directory.path().join(name).is_dir())
    };
    for index in &both {
        index.prepare().await.unwrap();
        index.mark_rebuilding(false).await.unwrap();
        index.apply(vec![of(1, "ada"), of(2, "bo")]).await.unwrap();
    }
    let [first, next] = &both;
    let indexes = Indexes::new(first.clone(), Some(next.clone()));
    let (ada, everyone) = (selection(Some("ada")), selection(None));
    assert_eq!(indexes.count(&everyone).await.unwrap(), 4);
    // The erasure in one spares the files of the other.
    first.erase(&ada).await.unwrap();
    assert_eq!(there(), [true, true]);
    assert_eq!(indexes.count(&ada).await.unwrap(), 1);
    indexes.erase(&ada).await.unwrap();
    assert_eq!(indexes.count(&ada).await.unwrap(), 0);
    assert_eq!(indexes.count(&everyone).await.unwrap(), 2);

    // One index does not remove what another uses.
    next.discard(&names[0]).await.unwrap();
    assert_eq!(there(), [true, true]);
    indexes.discard(&names[0]).await.unwrap();
    assert_eq!(there(), [false, true]);
    assert_eq!(first.last_state(), IndexState::Unavailable);
    assert_eq!(next.count(&everyone).await.unwrap(), 1);
    assert_eq!(first.prepare().await.unwrap(), Prepared::New);
    assert_eq!(first.count(&everyone).await.unwrap(), 0);
    indexes.stop().await;
}

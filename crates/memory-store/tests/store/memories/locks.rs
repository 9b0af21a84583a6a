//! Calls that change the same memories at once.

use memory_contract::{MemoryId, memory::MemoryOrigin};

use super::{id, owner, recorded};
use crate::world::World;

#[tokio::test]
async fn recording_what_is_indexed_never_deadlocks_with_a_change() {
    let world = World::new().await;
    let first = [recorded("a", "Likes tea"), recorded("b", "Likes cake")];
    let added = world.remember("ada", &first).await;
    let mut memories: Vec<(MemoryId, i64)> = (0..2).map(|place| (id(&added, place), 1)).collect();
    memories.sort_unstable();
    let records = match memories[0].0 == id(&added, 0) {
        true => ["b", "a"],
        false => ["a", "b"],
    };
    // The index records both while the first is held; then both change, the second first.
    let owner_connection = world.owner().await;
    let hold = format!(
        "BEGIN; SELECT FROM recollect.memories WHERE memory_id = '{}' FOR UPDATE",
        memories[0].0
    );
    owner_connection.batch_execute(&hold).await.unwrap();
    let store = &world.store;
    let record = store.memories(&world.caller).memories_persisted(&memories);
    let change = async {
        world.wait_for_blocked(1).await;
        let changed = records.map(|name| recorded(name, &format!("Is called {name}")));
        let ada = owner("ada");
        let add = store.memories(&world.caller);
        let add = add.add_memories(&ada, &changed, MemoryOrigin::Caller, None);
        add.await
    };
    let release = async {
        world.wait_for_blocked(2).await;
        owner_connection.batch_execute("COMMIT").await.unwrap();
    };
    let (recorded, changed, ()) = tokio::join!(record, change, release);
    recorded.unwrap();
    changed.unwrap();

    let mut texts = world.texts("ada").await;
    texts.sort();
    assert_eq!(texts, ["Is called a", "Is called b"]);
    // What was recorded is the state before the change.
    let known = world.known("ada").await;
    assert!(known.iter().all(|memory| memory.persisted.is_none()));
    let now: Vec<(MemoryId, i64)> = known.iter().map(|one| (one.id, one.version)).collect();
    let record = store.memories(&world.caller).memories_persisted(&now);
    record.await.unwrap();
    let known = world.known("ada").await;
    assert!(known.iter().all(|memory| memory.persisted.is_some()));
}

//! A worker that is overtaken by another one between reading and writing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use memory_contract::{
    AppId, MessageId,
    json::JsonObject,
    memory::{MemoryChange, MemoryFilter},
    message::{MessageFilter, NewMessage, Role},
    precondition::Precondition,
};
use memory_index::{Index, Search, Selection};
use memory_store::{MemoryOwners, Scope};
use memory_test_qdrant::TestQdrant;
use memory_text::lexical_query;
use uuid::Uuid;

use crate::hooked::Hooked;
use crate::world::{
    APP, TIMEOUT, World, caller, client, edge, eventually, message, owner, tenant, work,
    work_in_one_lane,
};

/// Runs a case on the embedded index and on Qdrant's client with the test server.
async fn on_each_index(case: impl AsyncFn(Arc<dyn Index>)) {
    let (_directory, embedded) = edge();
    case(embedded).await;
    let server = TestQdrant::start().await.unwrap();
    case(client(&server)).await;
}

/// Lets a worker index what waits. It has read that, and before it writes, `meanwhile`
/// happens, and another worker indexes that and acknowledges it.
async fn index_slowly(
    world: &World,
    index: &Arc<dyn Index>,
    meanwhile: impl Fn(World) -> BoxFuture<'static, ()> + Send + Sync + 'static,
) {
    // A new index would have everything queued once more.
    index.prepare().await.unwrap();
    index.mark_rebuilding(false).await.unwrap();
    let held = world.pending().await;
    let (other, inner) = (world.clone(), Arc::clone(index));
    let slow: Arc<dyn Index> = Hooked::new(Arc::clone(index), move |writes| {
        let (world, index) = (other.clone(), Arc::clone(&inner));
        let meanwhile = meanwhile(world.clone());
        Box::pin(async move {
            if writes > 0 {
                return;
            }
            meanwhile.await;
            assert!(world.pending().await > held);
            let mut overtaking = work(&world, &index);
            let start = Instant::now();
            while world.pending().await > held {
                assert!(start.elapsed() < TIMEOUT, "it is not indexed");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            overtaking.end().await;
        })
    });
    let mut working = work_in_one_lane(world, &slow);
    eventually("all is indexed", async || world.pending().await == 0).await;
    working.end().await;
}

/// The messages or memories that have a word in the index.
async fn having(index: &dyn Index, selection: Selection, word: &str) -> Vec<Uuid> {
    let search = Search {
        selection,
        dense: None,
        lexical: Some(lexical_query(word, &[])),
        limit: 10,
    };
    let found = index.search(search).await.unwrap();
    found.lexical.iter().map(|one| one.id).collect()
}

fn messages() -> Selection {
    let scope = Scope::App(AppId::new(APP));
    Selection::new(&tenant(), &scope, &MessageFilter::default())
}

fn memories() -> Selection {
    let owners = MemoryOwners::User(owner("ada"));
    Selection::memories(&tenant(), &owners, &MemoryFilter::default())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_version_of_a_memory_is_not_overwritten() {
    on_each_index(async |index| {
        let world = World::new().await;
        let memory = world.remember("ada", "Prefers oolong").await;
        index_slowly(&world, &index, move |world| {
            Box::pin(async move {
                let change = MemoryChange {
                    text: Some("Prefers espresso".to_owned()),
                    ..MemoryChange::default()
                };
                let always = Precondition::default();
                let caller = caller();
                let memories = world.store.memories(&caller);
                let updated = memories.update_memory(memory, &always, &change).await;
                updated.unwrap();
            })
        })
        .await;
        let found = having(&*index, memories(), "espresso").await;
        assert_eq!(found, [memory.uuid()]);
        assert!(having(&*index, memories(), "oolong").await.is_empty());
        assert_eq!(world.dead_letters().await, []);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_metadata_of_a_message_is_not_overwritten() {
    on_each_index(async |index| {
        let world = World::new().await;
        let thread = world.thread("ada").await;
        let said = world.say(thread, Role::User, "The bicycle is red.").await;
        let metadata = |json: &str| JsonObject::parse(json.to_owned()).unwrap();
        let newer = metadata(r#"{"kind": "note"}"#);
        let update = newer.clone();
        index_slowly(&world, &index, move |world| {
            let update = update.clone();
            Box::pin(async move {
                let caller = caller();
                let messages = world.store.messages(&caller);
                messages
                    .update_message(thread, said, &update)
                    .await
                    .unwrap();
            })
        })
        .await;
        let filter = MessageFilter {
            metadata: newer.clone(),
            ..MessageFilter::default()
        };
        let scope = Scope::App(AppId::new(APP));
        let noted = Selection::new(&tenant(), &scope, &filter);
        assert_eq!(having(&*index, noted, "bicycle").await, [said.uuid()]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_an_erased_message_do_not_come_back_with_the_next_one() {
    on_each_index(async |index| {
        let world = World::new().await;
        let thread = world.thread("ada").await;
        let asked = world
            .say(thread, Role::User, "What is your dog called?")
            .await;
        let answered = world.say(thread, Role::Assistant, "Rufus.").await;
        index_slowly(&world, &index, move |world| {
            Box::pin(async move { world.erase(thread, asked).await })
        })
        .await;
        let found = having(&*index, messages(), "Rufus").await;
        assert_eq!(found, [answered.uuid()]);
        assert!(having(&*index, messages(), "dog").await.is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_appended_again_under_its_id_is_not_overwritten() {
    on_each_index(async |index| {
        let world = World::new().await;
        let thread = world.thread("ada").await;
        let id = MessageId::new();
        let said = move |text: &str| NewMessage {
            id,
            caller_chose_id: true,
            ..message(Role::User, text)
        };
        world.append(thread, said("The bicycle is red.")).await;
        index_slowly(&world, &index, move |world| {
            Box::pin(async move {
                let cleared = world.store.threads(&caller()).clear_thread(thread).await;
                cleared.unwrap();
                world.append(thread, said("The piano is black.")).await;
            })
        })
        .await;
        assert_eq!(having(&*index, messages(), "piano").await, [id.uuid()]);
        assert!(having(&*index, messages(), "bicycle").await.is_empty());
    })
    .await;
}

//! Compares cached windows with the database's answers.

use std::time::Duration;

use memory_contract::{
    MessageId, ThreadId,
    message::{Parent, Role},
};
use memory_store::{CacheConfig, CacheKind, Store, StoreError, ThreadChange};
use proptest::prelude::*;

use crate::{
    paths::{Look, look, looks},
    world::{World, after, caller, config, said},
};

/// One step. Numbers choose among the messages so far.
#[derive(Clone, Debug)]
enum Step {
    Append(Vec<(Option<usize>, bool)>),
    Delete(usize),
    SetHead(usize),
    Clear,
    Rename,
    Look(Vec<Look>),
}

fn step() -> impl Strategy<Value = Step> {
    let messages = prop::collection::vec((any::<Option<usize>>(), any::<bool>()), 1..5);
    prop_oneof![
        4 => messages.prop_map(Step::Append),
        2 => any::<usize>().prop_map(Step::Delete),
        2 => any::<usize>().prop_map(Step::SetHead),
        1 => Just(Step::Clear),
        1 => Just(Step::Rename),
        4 => looks().prop_map(Step::Look),
    ]
}

async fn cached(world: &World, config: &CacheConfig) -> Store {
    let store = Store::connect(&crate::world::config(&world.url)).await;
    store.unwrap().with_cache(config)
}

async fn play(world: &World, caches: &[Store], thread: ThreadId, steps: &[Step]) {
    let World { store, caller, .. } = world;
    let mut ids: Vec<MessageId> = Vec::new();
    for step in steps {
        match step {
            Step::Append(messages) => {
                let batch = messages
                    .iter()
                    .map(|(parent, user)| {
                        let parent = match parent {
                            Some(number) if number % 3 == 0 && !ids.is_empty() => {
                                Parent::Message(ids[number % ids.len()].into())
                            }
                            Some(number) if number % 7 == 0 => Parent::Root,
                            _ => Parent::Previous,
                        };
                        let role = if *user { Role::User } else { Role::Assistant };
                        after(parent, role, "words")
                    })
                    .collect();
                // A parent may have been deleted.
                if let Ok(appended) = world.append(thread, batch).await {
                    ids.extend(appended.messages.iter().map(|message| message.id));
                }
            }
            Step::Delete(number) if !ids.is_empty() => {
                let id = ids[number % ids.len()];
                match store.messages(caller).delete_message(thread, id).await {
                    Ok(_) | Err(StoreError::MessageNotFound) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
            Step::SetHead(number) if !ids.is_empty() => {
                let set = "UPDATE recollect.threads t \
                           SET head_id = m.message_id, head_seq = m.seq, head_branch = m.branch, \
                               head_depth = m.depth, path_tokens = m.path_tokens \
                           FROM recollect.messages m \
                           WHERE t.thread_id = $1 AND m.thread_id = $1 AND m.message_id = $2 \
                               AND m.deleted_at IS NULL";
                let id = ids[number % ids.len()];
                let owner = world.owner().await;
                owner
                    .execute(set, &[&thread.uuid(), &id.uuid()])
                    .await
                    .unwrap();
            }
            Step::Delete(_) | Step::SetHead(_) => {}
            Step::Clear => drop(store.threads(caller).clear_thread(thread).await.unwrap()),
            Step::Rename => {
                let change = ThreadChange {
                    title: Some(format!("title {}", ids.len())),
                    ..Default::default()
                };
                store
                    .threads(caller)
                    .update_thread(thread, &Default::default(), &change)
                    .await
                    .unwrap();
            }
            Step::Look(looks) => {
                for one in looks {
                    let right = look(store, caller, thread, one, &ids).await;
                    for cache in caches {
                        let found = look(cache, caller, thread, one, &ids).await;
                        assert_eq!(found, right, "{one:?}");
                    }
                }
                let right = store.messages(caller).recent(thread, 3).await.unwrap();
                for cache in caches {
                    assert_eq!(
                        cache.messages(caller).recent(thread, 3).await.unwrap(),
                        right
                    );
                }
            }
        }
    }
}

#[test]
fn a_cached_window_equals_the_answer_of_the_database() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = runtime.block_on(World::new());
    // As two processes would have them, and one whose cache holds nearly nothing.
    let caches = runtime.block_on(async {
        let small = CacheConfig {
            max_bytes: 2_000,
            ..CacheConfig::default()
        };
        [
            cached(&world, &CacheConfig::default()).await,
            cached(&world, &CacheConfig::default()).await,
            cached(&world, &small).await,
        ]
    });
    let config = ProptestConfig {
        cases: 60,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(steps in prop::collection::vec(step(), 1..25))| {
        runtime.block_on(async {
            let thread = world.thread().await.id;
            play(&world, &caches, thread, &steps).await;
        });
    });
}

/// Rows of messages that the database has read so far, of all transactions that
/// have reported.
async fn reads(world: &World) -> i64 {
    let owner = world.owner().await;
    let read = "SELECT (idx_tup_fetch + seq_tup_read)::bigint FROM pg_stat_user_tables \
                WHERE schemaname = 'recollect' AND relname = 'messages'";
    owner.query_one(read, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_window_that_is_right_is_not_read_again() {
    let world = World::new().await;
    // One connection, which reports what it has read when it ends.
    let narrow = memory_store::StoreConfig {
        pool_size: 1,
        max_overflow: 0,
        ..config(&world.url)
    };
    let thread = world.thread().await.id;
    for _ in 0..20 {
        world.say(thread, Role::User, "words").await;
    }
    let mut read = Vec::new();
    for kind in [CacheKind::Memory, CacheKind::None] {
        let config = CacheConfig {
            kind,
            ..CacheConfig::default()
        };
        let before = settled(&world).await;
        let store = Store::connect(&narrow).await.unwrap().with_cache(&config);
        for _ in 0..50 {
            let recent = store
                .messages(&world.caller)
                .recent(thread, 10)
                .await
                .unwrap();
            assert_eq!(recent.len(), 10);
        }
        drop(store);
        read.push(settled(&world).await - before);
    }
    assert!(read[0] < 50 && read[1] >= 500, "{read:?} rows read");
}

/// [`reads`] once it no longer changes: connections report a moment after they end.
async fn settled(world: &World) -> i64 {
    let mut last = -1;
    let mut still = 0;
    for _ in 0..200 {
        let now = reads(world).await;
        still = if now == last { still + 1 } else { 0 };
        last = now;
        if still == 10 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    last
}

#[tokio::test]
async fn a_cached_window_does_not_outlive_its_thread_or_reach_another_tenant() {
    let world = World::new().await;
    let cache = cached(&world, &CacheConfig::default()).await;
    let thread = world.thread().await.id;
    world.say(thread, Role::User, "words").await;
    let recent = cache
        .messages(&world.caller)
        .recent(thread, 10)
        .await
        .unwrap();
    assert_eq!(recent.len(), 1);
    let foreign = cache.messages(&caller("b")).recent(thread, 10).await;
    assert!(matches!(foreign, Err(StoreError::ThreadNotFound)));

    let change = ThreadChange {
        ttl: Some(Some(Duration::from_millis(1))),
        ..Default::default()
    };
    world
        .store
        .threads(&world.caller)
        .update_thread(thread, &Default::default(), &change)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let expired = cache.messages(&world.caller).recent(thread, 10).await;
    assert!(matches!(expired, Err(StoreError::ThreadNotFound)));

    let thread = world.thread().await.id;
    let message = said(Role::User, "words");
    world.append(thread, vec![message]).await.unwrap();
    cache
        .messages(&world.caller)
        .recent(thread, 10)
        .await
        .unwrap();
    world
        .store
        .threads(&world.caller)
        .delete_thread(thread)
        .await
        .unwrap();
    let deleted = cache.messages(&world.caller).recent(thread, 10).await;
    assert!(matches!(deleted, Err(StoreError::ThreadNotFound)));
}

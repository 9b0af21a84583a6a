//! Erasing several memories, also concurrently with changes.

use std::collections::HashMap;
use std::time::Duration;

use memory_contract::{
    AppId, MemoryId, UserId,
    memory::{MemoryChange, NewMemory},
    message::Role,
    policy::ExtractionStrategy,
    precondition::Precondition,
};
use memory_store::{Fact, Forget, Forgotten, MemoryError, StoreError};

use super::{fact, id, memory};
use crate::world::World;

impl World {
    async fn forget_but(&self, user: Option<&str>, most: u32) -> Forgotten {
        let forget = Forget {
            app: AppId::new("app"),
            user: user.map(UserId::new),
            max_age: None,
            max_inactivity: None,
            max_count: Some(most),
            dry_run: false,
        };
        let forgotten = self
            .store
            .memories(&self.caller)
            .forget_memories(&forget)
            .await;
        forgotten.unwrap()
    }

    async fn supersede(&self, old: MemoryId, text: &str) -> MemoryId {
        let replacement = memory(text);
        let store = &self.store;
        let done = store
            .memories(&self.caller)
            .supersede_memory(old, &replacement);
        done.await.unwrap().memory.id
    }
}

#[tokio::test]
async fn a_chain_closes_over_all_that_go_at_once() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let first = world.remember("ada", &[memory("Lives in Paris")]).await;
    let said = world.say(thread, Role::User, "I keep moving.").await;
    // The ones in the middle were extracted, and go with their source.
    let mut last = id(&first, 0);
    for (place, text) in ["Lives in Rome", "Lives in Oslo"].into_iter().enumerate() {
        let mut next = fact(text, &[said]);
        next.supersedes = vec![last];
        let looks = place as i64;
        world.say(thread, Role::User, "And again.").await;
        let extracted = world.extract(thread, looks, looks + 1, vec![next]);
        extracted.await.unwrap();
        last = world.known("ada").await[0].id;
    }
    let last = world.supersede(last, "Lives in Bonn").await;
    assert_eq!(world.known("ada").await.len(), 4);
    world
        .store
        .messages(&world.caller)
        .delete_message(thread, said)
        .await
        .unwrap();
    let left = world.known("ada").await;
    assert_eq!(left.len(), 2);
    assert_eq!(left[1].superseded_by, Some(last));
    let found = world
        .store
        .memories(&world.caller)
        .get_memory(last)
        .await
        .unwrap();
    assert_eq!(found.superseded, left[1..]);
    // No memory is left to link to.
    world
        .store
        .memories(&world.caller)
        .delete_memory(last)
        .await
        .unwrap();
    let left = world.known("ada").await;
    assert_eq!((left.len(), left[0].superseded_by), (1, None));
}

#[tokio::test]
async fn what_was_built_on_a_memory_is_erased_with_it_and_its_messages_are_read_again() {
    let world = World::new().await;
    let (home, away) = (world.thread().await.id, world.thread().await.id);
    let (store, caller) = (&world.store, &world.caller);
    let named = async |text: &str| {
        let known = world.known("ada").await;
        let found = known.into_iter().find(|memory| memory.text == text);
        found.map(|memory| memory.id)
    };
    let again = async |thread| {
        let messages = store.memories(caller).extract_again(thread, 10).await;
        let ids = messages.unwrap().into_iter().map(|message| message.id);
        ids.collect::<Vec<_>>()
    };
    for is_forgotten_first in [false, true] {
        let cat = world.say(home, Role::User, "I have a cat, Tom.").await;
        let ill = world.say(away, Role::User, "He is ill.").await;
        let vet = world.say(away, Role::User, "He must see the vet.").await;
        // Each fact is built on the one before.
        let mut built_on = Vec::new();
        for (thread, message, text) in [
            (home, cat, "Tom is a cat"),
            (away, ill, "Tom the cat is ill"),
            (away, vet, "Tom the cat sees a vet"),
        ] {
            let left = store
                .memories(caller)
                .unextracted(thread, ExtractionStrategy::Discrete)
                .await
                .unwrap();
            let seq = store.messages(caller).get_message(thread, message).await;
            let next = Fact {
                built_on,
                ..fact(text, &[message])
            };
            let seq = seq.unwrap().seq;
            let extracted = world
                .extract(thread, left.generation, seq, vec![next])
                .await;
            assert_eq!(extracted.unwrap().stored, 1);
            built_on = vec![named(text).await.unwrap()];
        }
        let exported = store.memories(caller).export_memories(None, None, None, 10);
        let exported = exported.await.unwrap().items.into_iter();
        let built_on_by: HashMap<_, _> = exported.map(|one| (one.id, one.built_on)).collect();
        let [base, next] = ["Tom is a cat", "Tom the cat is ill"];
        let [base, next] = [named(base).await.unwrap(), named(next).await.unwrap()];
        assert_eq!(built_on_by[&base], []);
        assert_eq!(built_on_by[&next], [base]);
        if is_forgotten_first {
            // As one that is too old: the others stay, for now.
            let owner = world.owner().await;
            let old = "UPDATE recollect.memories SET created_at = created_at - interval '2 days'
                       WHERE text = 'Tom is a cat'";
            owner.batch_execute(old).await.unwrap();
            let forget = Forget {
                app: AppId::new("app"),
                user: Some(UserId::new("ada")),
                max_age: Some(Duration::from_secs(24 * 3_600)),
                max_inactivity: None,
                max_count: None,
                dry_run: false,
            };
            let forgotten = store.memories(caller).forget_memories(&forget).await;
            assert_eq!(forgotten.unwrap().count, 1);
            assert_eq!(world.known("ada").await.len(), 2);
        }
        let messages = store.messages(caller);
        messages.delete_message(home, cat).await.unwrap();
        assert_eq!(world.known("ada").await, []);
        assert_eq!(again(away).await, [ill, vet]);
        assert_eq!(again(home).await, []);
        for queued in [1, 0] {
            let found = world.workers.memories(store).queue_extraction(10).await;
            assert_eq!(found.unwrap(), queued);
        }

        // A fact that was being built on one that is gone is not stored.
        let left = store
            .memories(caller)
            .unextracted(away, ExtractionStrategy::Discrete)
            .await
            .unwrap();
        let late = Fact {
            built_on,
            ..fact("Tom the cat is ill", &[ill])
        };
        let refused = world.extract(away, left.generation, 0, vec![late]).await;
        assert!(matches!(
            refused,
            Err(StoreError::Memory(MemoryError::ExtractionMoved))
        ));
        let anew = vec![fact("Somebody is ill", &[ill])];
        let done = world.extract(away, left.generation, 0, anew).await;
        assert_eq!(done.unwrap().stored, 1);
        let memories = store.memories(caller);
        memories.extracted_again(away, &[ill, vet]).await.unwrap();
        assert_eq!(again(away).await, []);
        let anew = named("Somebody is ill").await.unwrap();
        store.memories(caller).delete_memory(anew).await.unwrap();
    }
}

#[tokio::test]
async fn a_pinned_memory_stays_when_what_it_was_built_on_is_erased() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let base = world.remember("ada", &[memory("Tom is a cat")]).await;
    let said = world.say(thread, Role::User, "He is ill.").await;
    let ill = Fact {
        built_on: vec![id(&base, 0)],
        ..fact("Tom the cat is ill", &[said])
    };
    world.extract(thread, 0, 1, vec![ill]).await.unwrap();
    let memories = || world.store.memories(&world.caller);
    let pin = MemoryChange {
        pinned: Some(true),
        ..MemoryChange::default()
    };
    let ill = world.known("ada").await[0].id;
    memories()
        .update_memory(ill, &Precondition::Unchecked, &pin)
        .await
        .unwrap();
    memories().delete_memory(id(&base, 0)).await.unwrap();
    assert_eq!(world.texts("ada").await, ["Tom the cat is ill"]);
    let again = memories().extract_again(thread, 10).await.unwrap();
    assert_eq!(again, []);
}

#[tokio::test]
async fn superseded_memories_are_forgotten_first() {
    let world = World::new().await;
    let first = world
        .remember("ada", &[memory("Likes tea"), memory("Lives in Paris")])
        .await;
    // Stored later than what holds, and used later.
    let rome = world.supersede(id(&first, 1), "Lives in Rome").await;
    world.supersede(rome, "Lives in Oslo").await;
    assert_eq!(world.forget_but(Some("ada"), 2).await.count, 2);
    assert_eq!(world.texts("ada").await, ["Lives in Oslo", "Likes tea"]);
}

#[tokio::test]
async fn forgetting_during_changes_leaves_no_dangling_link_and_blocks_no_call() {
    let world = World::new().await;
    let users = ["ada", "bob", "eve"];
    for user in users {
        let texts: Vec<NewMemory> = (0..30).map(|n| memory(&format!("fact {n}"))).collect();
        world.remember(user, &texts).await;
    }
    let change = async |user: &str| {
        for round in 0..20 {
            let Some(newest) = world.known(user).await.into_iter().find(|m| m.holds()) else {
                continue;
            };
            // It may be forgotten meanwhile; that must not deadlock.
            let replacement = memory(&format!("round {round}"));
            let superseded = world
                .store
                .memories(&world.caller)
                .supersede_memory(newest.id, &replacement);
            if let Err(error) = superseded.await {
                let gone = matches!(
                    error,
                    memory_store::StoreError::Memory(MemoryError::NotFound)
                );
                assert!(gone, "{error:?}");
            }
            let known = world.known(user).await;
            if let Some(oldest) = known.last() {
                world
                    .store
                    .memories(&world.caller)
                    .delete_memory(oldest.id)
                    .await
                    .unwrap();
            }
        }
    };
    let forget = async || {
        for most in (1..30).rev() {
            world.forget_but(None, most).await;
        }
    };
    tokio::join!(
        change("ada"),
        change("bob"),
        change("eve"),
        forget(),
        forget()
    );
    for user in users {
        let known = world.known(user).await;
        for memory in &known {
            let next = memory.superseded_by;
            let there = next.is_none_or(|next| known.iter().any(|other| other.id == next));
            assert!(there, "{memory:?}");
        }
    }
}

#[tokio::test]
async fn one_call_forgets_memories_of_limited_users_and_reports_that_there_are_more() {
    let world = World::new().await;
    let texts = [memory("Likes tea"), memory("Likes cake")];
    for number in 0..260 {
        world.remember(&format!("user {number}"), &texts).await;
    }
    let first = world.forget_but(None, 1).await;
    assert_eq!((first.count, first.more), (256, true));
    let rest = world.forget_but(None, 1).await;
    assert_eq!((rest.count, rest.more), (4, false));
}

#[tokio::test]
async fn a_watch_reports_changes_of_memories() {
    let world = World::new().await;
    let (one, other) = (world.thread().await.id, world.thread().await.id);
    let mut memories = Vec::new();
    for thread in [one, other] {
        let said = world.say(thread, Role::User, "I like tea.").await;
        memories.push(NewMemory {
            sources: vec![said],
            ..memory(&format!("Said so in {thread}"))
        });
    }
    memories.push(memory("Nobody said so"));
    let added = world.remember("ada", &memories).await;
    world.supersede(id(&added, 0), "Was wrong").await;
    let deleted = world
        .store
        .memories(&world.caller)
        .delete_memory(id(&added, 1));
    deleted.await.unwrap();
    let owner = world.owner().await;
    let noted = owner
        .query(
            "SELECT action, thread_id, item_count FROM recollect.transactions
             WHERE action LIKE '%memor%' ORDER BY action, thread_id NULLS LAST",
            &[],
        )
        .await
        .unwrap();
    let noted: Vec<(String, Option<uuid::Uuid>, i64)> = noted
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect();
    let add = "add_memories".to_owned();
    let mut threads = [one.uuid(), other.uuid()];
    threads.sort_unstable();
    assert_eq!(
        noted,
        [
            (add.clone(), Some(threads[0]), 1),
            (add.clone(), Some(threads[1]), 1),
            (add, None, 1),
            ("delete_memory".to_owned(), Some(other.uuid()), 1),
            ("supersede_memory".to_owned(), Some(one.uuid()), 1),
        ]
    );
}

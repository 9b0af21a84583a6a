//! Importing memories of another server.

use memory_contract::{
    MemoryId, MessageId,
    memory::{Memory, MemoryChange, MemoryOrigin},
    message::Role,
    policy::ExtractionStrategy,
};
use memory_store::{Fact, ImportedMemories, NewThread};
use time::{Duration, OffsetDateTime};

use super::{fact, id, memory, owner, recorded};
use crate::world::{World, caller, new_thread};

impl World {
    pub(super) async fn import(&self, user: &str, memories: &[Memory]) -> ImportedMemories {
        let owner = owner(user);
        let imported = self
            .store
            .memories(&self.caller)
            .import_memories(&owner, memories);
        imported.await.unwrap()
    }
}

/// A memory with what a server gives it.
async fn elsewhere(text: &str, record: &str) -> Memory {
    let mut world = World::new().await;
    world.caller = caller("elsewhere");
    let added = world.remember("ada", &[recorded(record, text)]).await;
    let mut memory = added.memories[0].memory.clone();
    memory.created -= Duration::days(400);
    memory.valid_from = memory.created - Duration::days(1);
    memory
}

#[tokio::test]
async fn a_memory_comes_with_its_times_and_links_and_only_once() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let said = world.say(thread, Role::User, "I live in Rome.").await;
    let bobs = world.thread_of("app", "bob", "thread:1").await.id;
    let foreign = world.say(bobs, Role::User, "So do I.").await;
    let successor = MemoryId::new();
    let mut rome = elsewhere("Lives in Rome", "home").await;
    rome.sources = vec![foreign, said, MessageId::new()];
    rome.thread = Some(thread);
    rome.valid_until = Some(rome.created + Duration::days(2));
    rome.ended = Some(rome.created + Duration::days(3));
    rome.superseded_by = Some(successor);
    rome.last_used = Some(rome.created.replace_time(time::Time::MIDNIGHT));
    let mut oslo = elsewhere("Lives in Oslo", "home").await;
    oslo.id = successor;
    oslo.thread = Some(bobs);
    let all = [rome.clone(), oslo];
    let first = world.import("ada", &all).await;
    assert!(first.memories.iter().all(|imported| imported.created));
    let stored = &first.memories[0];
    assert_eq!(
        (stored.missing_sources, stored.memory.sources.as_slice()),
        (2, &[said][..])
    );
    let there = &stored.memory;
    assert_eq!(
        (there.id, there.created, there.valid_from, there.valid_until),
        (rome.id, rome.created, rome.valid_from, rome.valid_until)
    );
    assert_eq!(there.ended, rome.ended);
    assert_eq!(
        (there.thread, there.last_used),
        (Some(thread), rome.last_used)
    );
    assert_eq!(first.memories[1].memory.thread, None, "another user's");
    let found = world
        .store
        .memories(&world.caller)
        .get_memory(successor)
        .await;
    assert_eq!(found.unwrap().superseded, std::slice::from_ref(there));

    let again = world.import("ada", &all).await;
    assert!(again.memories.iter().all(|imported| !imported.created));
    assert_eq!(again.revision, first.revision);
    assert_eq!(world.known("ada").await.len(), 2);
}

#[tokio::test]
async fn an_imported_summary_stays_the_threads_own_until_a_caller_puts_it() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let mut boats = elsewhere("About boats", "").await;
    boats.thread = Some(thread);
    boats.origin = MemoryOrigin::Extracted;
    boats.made_by = "large".to_owned();
    boats.strategy = Some(ExtractionStrategy::Summary);
    let imported = world.import("ada", std::slice::from_ref(&boats)).await;
    let there = &imported.memories[0].memory;
    assert_eq!(
        (there.strategy, &there.made_by),
        (boats.strategy, &boats.made_by)
    );
    let summary = async || {
        let summaries = world
            .store
            .memories(&world.caller)
            .summary_memories(thread)
            .await;
        let ids = summaries.unwrap().into_iter().map(|(id, _)| id);
        ids.collect::<Vec<_>>()
    };
    assert_eq!(summary().await, [boats.id]);
    let again = world.remember("ada", &[memory("About boats")]).await;
    assert_eq!(
        (id(&again, 0), again.memories[0].memory.strategy),
        (boats.id, None)
    );
    assert_eq!(summary().await, []);
}

#[tokio::test]
async fn known_memories_are_not_stored_twice() {
    let world = World::new().await;
    let known = [memory("Likes tea"), recorded("home", "Lives in Oslo")];
    let known = world.remember("ada", &known).await;
    let tea = elsewhere("likes tea.", "").await;
    let rome = elsewhere("Lives in Rome", "home").await;
    let imported = world.import("ada", &[tea.clone(), rome]).await;
    for (place, imported) in imported.memories.iter().enumerate() {
        assert_eq!(
            (imported.memory.id, imported.created),
            (id(&known, place), false)
        );
    }
    // A memory that held once does not conflict with one that holds now.
    let mut past = tea;
    past.valid_until = Some(OffsetDateTime::now_utc());
    past.ended = past.valid_until;
    let imported = world.import("ada", &[past]).await;
    assert!(imported.memories[0].created);
}

#[tokio::test]
async fn a_memory_whose_id_another_user_has_is_imported_once_with_its_link() {
    let world = World::new().await;
    let mut rome = elsewhere("Lives in Rome", "").await;
    let oslo = elsewhere("Lives in Oslo", "").await;
    rome.valid_until = Some(rome.created + Duration::days(2));
    rome.ended = rome.valid_until;
    rome.superseded_by = Some(oslo.id);
    let all = [rome, oslo];
    for user in ["ada", "bob"] {
        let first = world.import(user, &all).await;
        assert!(first.memories.iter().all(|imported| imported.created));
        let [rome, oslo] = first.memories.as_slice() else {
            panic!("two memories are imported");
        };
        assert_eq!(rome.memory.superseded_by, Some(oslo.memory.id));
        assert_eq!(rome.memory.id == all[0].id, user == "ada");
        let again = world.import(user, &all).await;
        for (first, again) in first.memories.iter().zip(&again.memories) {
            assert_eq!((again.memory.id, again.created), (first.memory.id, false));
        }
        assert_eq!(world.known(user).await.len(), 2);
    }
    // Also once the id is free.
    let memories = world.store.memories(&world.caller);
    memories.delete_memory(all[0].id).await.unwrap();
    let again = world.import("bob", &all).await;
    assert!(again.memories.iter().all(|imported| !imported.created));
}

#[tokio::test]
async fn memories_are_exported_user_by_user_in_order() {
    let world = World::new().await;
    for text in ["One", "Two", "Three"] {
        for user in ["bob", "", "ada"] {
            world.remember(user, &[memory(text)]).await;
        }
    }
    let off = world.store.clone().with_long_term_memory(false);
    let mut after = None;
    let mut all = Vec::new();
    loop {
        let page = off
            .memories(&world.caller)
            .export_memories(None, None, after.as_ref(), 2);
        let page = page.await.unwrap();
        assert!(page.items.len() <= 2);
        all.extend(page.items);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let named: Vec<(&str, &str)> = all
        .iter()
        .map(|memory| (memory.owner.user.as_str(), memory.text.as_str()))
        .collect();
    let expected = ["", "ada", "bob"].map(|user| ["One", "Two", "Three"].map(|text| (user, text)));
    assert_eq!(named, expected.concat());
}

#[tokio::test]
async fn what_an_ephemeral_thread_says_ends_nothing_else_and_is_not_exported() {
    let world = World::new().await;
    let kept = world.thread_of("app", "ada", "kept").await.id;
    let said = world.say(kept, Role::User, "I live in Oslo.").await;
    let oslo = vec![fact("Lives in Oslo.", &[said])];
    world.extract(kept, 0, 1, oslo).await.unwrap();
    let caller_put = world.remember("ada", &[memory("Likes tea.")]).await;
    let ephemeral = NewThread {
        ephemeral: true,
        ..new_thread("app", "ada", "brief")
    };
    let threads = world.store.threads(&world.caller);
    let brief = threads.create_thread(&ephemeral).await.unwrap().id;
    let mut sources = Vec::new();
    for text in ["I live in Rome.", "I live in Oslo.", "I live in Bern."] {
        sources.push(world.say(brief, Role::User, text).await);
    }
    let known = world.known("ada").await;
    let lasting: Vec<MemoryId> = known.iter().map(|memory| memory.id).collect();
    let rome = Fact {
        supersedes: lasting.clone(),
        ..fact("Lives in Rome.", &sources[..1])
    };
    // What is known from a lasting thread, too, lasts.
    let again = fact("Lives in Oslo.", &sources[1..2]);
    let done = world.extract(brief, 0, 2, vec![rome, again]).await.unwrap();
    assert_eq!((done.stored, done.known, done.superseded), (1, 1, 0));
    let known = world.known("ada").await;
    let rome = known.iter().find(|memory| memory.text == "Lives in Rome.");
    let bern = Fact {
        supersedes: [lasting, vec![rome.unwrap().id]].concat(),
        ..fact("Lives in Bern.", &sources[2..])
    };
    let done = world.extract(brief, 1, 3, vec![bern]).await.unwrap();
    assert_eq!((done.stored, done.superseded), (1, 1));

    let exported = async || {
        let memories = world.store.memories(&world.caller);
        let page = memories
            .export_memories(None, None, None, 10)
            .await
            .unwrap();
        let texts = page.items.into_iter().map(|memory| memory.text);
        texts.collect::<Vec<_>>()
    };
    assert_eq!(exported().await, ["Lives in Oslo.", "Likes tea."]);
    // Pinned, it outlives the thread.
    let pin = MemoryChange {
        pinned: Some(true),
        ..MemoryChange::default()
    };
    let known = world.known("ada").await;
    let bern = known.iter().find(|memory| memory.text == "Lives in Bern.");
    let memories = world.store.memories(&world.caller);
    let bern = bern.unwrap().id;
    memories
        .update_memory(bern, &Default::default(), &pin)
        .await
        .unwrap();
    let all = ["Lives in Oslo.", "Likes tea.", "Lives in Bern."];
    assert_eq!(exported().await, all);
    threads.delete_thread(brief).await.unwrap();
    assert_eq!(exported().await, all);
    assert!(known.iter().any(|memory| memory.id == id(&caller_put, 0)));
}

//! Facts of users who take part in a thread of another user or of none.

use std::slice;

use memory_contract::key::KeyBounds;
use memory_store::CountedMessage;

use super::*;
use crate::world::{Pause, said};

fn said_by(user: &str, text: &str) -> CountedMessage {
    let mut counted = said(Role::User, text);
    counted.message.said_by = UserId::new(user);
    counted
}

fn fact_of(user: &str, text: &str, sources: &[MessageId]) -> Fact {
    Fact {
        owner: Some(owner(user)),
        ..fact(text, sources)
    }
}

#[tokio::test]
async fn a_fact_belongs_to_a_user_alone_whom_its_sources_name() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let messages = vec![
        said(Role::User, "I like tea."),
        said_by("bob", "I like rum."),
        said(Role::Assistant, "You both like drinks."),
    ];
    let appended = world.append(thread, messages).await.unwrap();
    let [ada, bob, model] = [0, 1, 2].map(|place: usize| appended.messages[place].id);
    let facts = vec![
        fact("Ada likes tea", &[ada, model]),
        fact_of("bob", "Bob likes rum", &[bob, model]),
        // None of these.
        fact("Ada likes rum", &[bob]),
        fact("Ada likes all", &[ada, bob]),
        fact_of("bob", "Bob likes tea", &[ada]),
        fact_of("bob", "Bob likes all", &[ada, bob]),
        fact_of("bob", "Bob likes drinks", &[model]),
        fact_of("eve", "Eve likes rum", &[bob]),
        fact_of("", "Somebody likes rum", &[bob]),
    ];
    let done = world.extract(thread, 0, 3, facts).await.unwrap();
    assert_eq!((done.stored, done.dropped), (2, 7));
    assert_eq!(world.texts("ada").await, ["Ada likes tea"]);
    assert_eq!(world.texts("bob").await, ["Bob likes rum"]);
    for user in ["eve", ""] {
        assert!(world.texts(user).await.is_empty(), "{user}");
    }
    // A memory is erased with its only message, also one of another user than the caller.
    let mut caller = world.caller.clone();
    let lists = serde_json::from_str(r#"{"user_ids": ["ada"]}"#).unwrap();
    caller.bounds = KeyBounds::new(lists).unwrap();
    for message in [bob, model] {
        let messages = world.store.messages(&caller);
        messages.delete_message(thread, message).await.unwrap();
    }
    assert!(world.texts("bob").await.is_empty());
    assert_eq!(world.texts("ada").await, ["Ada likes tea"]);
}

#[tokio::test]
async fn facts_of_a_thread_without_a_user_belong_to_those_who_are_named() {
    let world = World::new().await;
    let thread = world.thread_of("app", "", "shared").await.id;
    let memories = || world.store.memories(&world.caller);
    let unnamed = world.say(thread, Role::User, "I like tea.").await;
    assert!(!memories().names_speakers(thread).await.unwrap());
    let appended = world.append(thread, vec![said_by("bob", "I like rum.")]);
    let bob = appended.await.unwrap().messages[0].id;
    assert!(memories().names_speakers(thread).await.unwrap());
    let facts = vec![
        fact("Somebody likes rum", &[bob]),
        fact_of("bob", "Bob likes rum", &[bob]),
        // Another one may have said it.
        fact_of("bob", "Bob likes tea", &[bob, unnamed]),
    ];
    let done = world.extract(thread, 0, 2, facts).await.unwrap();
    assert_eq!((done.stored, done.dropped), (1, 2));
    assert_eq!(world.texts("bob").await, ["Bob likes rum"]);
}

#[tokio::test]
async fn a_bound_caller_says_nothing_in_the_name_of_another_user() {
    let mut world = World::new().await;
    let thread = world.thread().await.id;
    let lists = serde_json::from_str(r#"{"user_ids": ["ada"]}"#).unwrap();
    world.caller.bounds = KeyBounds::new(lists).unwrap();
    let refused = world.append(thread, vec![said_by("bob", "I like rum.")]);
    let refused = refused.await;
    assert!(
        matches!(refused, Err(StoreError::OutOfBounds)),
        "{refused:?}"
    );
    let own = world.append(thread, vec![said_by("ada", "I like tea.")]);
    assert_eq!(own.await.unwrap().messages[0].seq, 1);
}

#[tokio::test]
async fn a_memory_keeps_no_source_that_is_erased_in_the_thread_of_another_user_meanwhile() {
    let world = World::new().await;
    let database = world.owner().await;
    let pause = Pause::of_new_memories(&world).await;
    for cleared in [false, true] {
        let thread = world.thread().await.id;
        let appended = world.append(thread, vec![said_by("bob", "I like rum.")]);
        let source = appended.await.unwrap().messages[0].id;
        let rum = NewMemory {
            sources: vec![source],
            ..memory(&format!("Likes rum, cleared: {cleared}"))
        };
        pause.begin().await;
        let add = world.remember("bob", slice::from_ref(&rum));
        let erase = async {
            world.wait_for_blocked(1).await;
            if cleared {
                let threads = world.store.threads(&world.caller);
                threads.clear_thread(thread).await.map(drop)
            } else {
                let messages = world.store.messages(&world.caller);
                messages.delete_message(thread, source).await.map(drop)
            }
        };
        // The erasure waits for the memory.
        let release = async {
            world.wait_for_blocked(2).await;
            pause.end().await;
        };
        let (added, erased, ()) = tokio::join!(add, erase, release);
        erased.unwrap();
        assert_eq!(added.memories[0].memory.sources, [source]);
        let count = "SELECT count(*) FROM recollect.memory_sources";
        let left: i64 = database.query_one(count, &[]).await.unwrap().get(0);
        assert_eq!(left, 0, "cleared: {cleared}");

        // Once it is erased, it is no source.
        let gin = NewMemory {
            sources: vec![source],
            ..memory("Likes gin")
        };
        let bob = owner("bob");
        let memories = world.store.memories(&world.caller);
        let late = memories.add_memories(&bob, slice::from_ref(&gin), MemoryOrigin::Caller, None);
        let late = late.await;
        assert!(
            matches!(
                late,
                Err(StoreError::Memory(MemoryError::SourceNotFound { .. }))
            ),
            "{late:?}"
        );
    }
}

//! Facts of users who take part in a thread of another user or of none.

use memory_contract::key::KeyBounds;
use memory_store::CountedMessage;

use super::*;
use crate::world::said;

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
    // What was made of a message goes with it, whoever it belongs to and whoever deletes it.
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
    world.say(thread, Role::User, "I like tea.").await;
    assert!(!memories().names_speakers(thread).await.unwrap());
    let appended = world.append(thread, vec![said_by("bob", "I like rum.")]);
    let bob = appended.await.unwrap().messages[0].id;
    assert!(memories().names_speakers(thread).await.unwrap());
    let facts = vec![
        fact("Somebody likes rum", &[bob]),
        fact_of("bob", "Bob likes rum", &[bob]),
    ];
    let done = world.extract(thread, 0, 2, facts).await.unwrap();
    assert_eq!((done.stored, done.dropped), (1, 1));
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

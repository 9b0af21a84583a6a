//! Memories with a caller's record, and their sources.

use memory_contract::{
    MessageId,
    json::JsonObject,
    memory::{Memory, MemoryType, NewMemory},
    message::Role,
};
use memory_store::Fact;

use super::{fact, id, memory, recorded};
use crate::world::World;

fn proved(record: &str, text: &str, sources: &[MessageId]) -> NewMemory {
    NewMemory {
        sources: sources.to_vec(),
        ..recorded(record, text)
    }
}

async fn put(world: &World, memory: NewMemory) -> Memory {
    let added = world.remember("ada", &[memory]).await;
    added.memories[0].memory.clone()
}

#[tokio::test]
async fn a_new_text_of_a_record_is_proved_by_its_own_sources_and_holds_from_then_on() {
    let world = World::new().await;
    let (one, other) = (world.thread().await.id, world.thread().await.id);
    let paris = world.say(one, Role::User, "I live in Paris.").await;
    let still = world.say(one, Role::User, "Still in Paris.").await;
    let rome = world.say(other, Role::User, "I moved to Rome.").await;
    let first = put(&world, proved("home", "Lives in Paris", &[paris])).await;
    // The same text: more proof.
    let more = put(&world, proved("home", "lives in Paris.", &[still])).await;
    assert_eq!(more.sources, [paris, still]);
    assert_eq!(more.valid_from, first.valid_from);
    let moved = put(&world, proved("home", "Lives in Rome", &[rome])).await;
    assert_eq!(
        (moved.id, moved.sources.as_slice()),
        (first.id, &[rome][..])
    );
    assert!(moved.valid_from > first.valid_from);
    assert_eq!(moved.thread, Some(other));
    // Without sources nothing is known that would prove it better.
    let kept = put(&world, recorded("home", "Lives in Oslo")).await;
    assert_eq!(kept.sources, [rome]);
    assert!(kept.valid_from > moved.valid_from);
}

#[tokio::test]
async fn a_memory_keeps_the_32_sources_that_were_named_last() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let said = world.say_each(thread, 40, "Tea").await;
    let mut last = None;
    for sources in said.chunks(8) {
        last = Some(put(&world, proved("drink", "Likes tea", sources)).await);
    }
    assert_eq!(last.unwrap().sources, said[8..]);
    for (place, sources) in said.chunks(8).enumerate() {
        let looks = i64::try_from(place).unwrap();
        let facts = vec![fact("Has a teapot", sources)];
        let extracted = world.extract(thread, looks, (looks + 1) * 8, facts);
        extracted.await.unwrap();
    }
    let known = world.known("ada").await;
    assert_eq!(known[0].text, "Has a teapot");
    assert_eq!(known[0].sources, said[8..]);
}

#[tokio::test]
async fn a_record_takes_over_a_memory_without_one_with_the_same_text() {
    let world = World::new().await;
    let known = world.remember("ada", &[memory("Likes tea")]).await;
    let wanted = NewMemory {
        topics: vec!["drinks".to_owned()],
        kind: MemoryType::Episodic,
        pinned: true,
        ..recorded("drink", "Likes tea")
    };
    let taken = put(&world, wanted.clone()).await;
    assert_eq!(taken.id, id(&known, 0));
    assert_eq!(
        (taken.record.as_str(), taken.pinned, taken.kind),
        ("drink", true, MemoryType::Episodic)
    );
    assert_eq!(taken.topics, ["drinks"]);
    // Again: nothing is left to do.
    assert_eq!(put(&world, wanted).await, taken);
    // Another record's stays as it is.
    let other = put(&world, recorded("other", "Likes tea")).await;
    assert_eq!(other, taken);
}

#[tokio::test]
async fn a_known_text_without_a_kind_gets_that_of_a_fact_and_keeps_it() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let said = world.say(thread, Role::User, "I cannot eat nuts.").await;
    let known = put(&world, memory("Cannot eat nuts")).await;
    let attributes = |text: &str| serde_json::from_str::<JsonObject>(text).unwrap();
    let of_kind = |kind: &str, text: &str| Fact {
        own_kind: kind.to_owned(),
        attributes: attributes(text),
        ..fact("Cannot eat nuts", &[said])
    };
    let nuts = r#"{"substance": "nuts"}"#;
    for (generation, other) in [(0, of_kind("allergy", nuts)), (1, of_kind("diet", "{}"))] {
        let done = world.extract(thread, generation, 1, vec![other]);
        let done = done.await.unwrap();
        assert_eq!((done.stored, done.known), (0, 1));
        // Only the first changes it, for the index, too.
        assert_eq!(done.revision.change > 0, generation == 0);
        let memories = world.known("ada").await;
        assert_eq!(memories.len(), 1);
        assert_eq!(
            (memories[0].id, memories[0].own_kind.as_str()),
            (known.id, "allergy")
        );
        assert_eq!(memories[0].attributes, attributes(nuts));
        assert_eq!(memories[0].version, known.version + 1);
    }
}

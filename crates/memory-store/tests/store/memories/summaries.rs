//! The summary of a thread among its user's memories.

mod model;

use memory_contract::{
    MemoryId, MessageId, ThreadId,
    memory::{Memory, MemoryOrigin},
    message::{Parent, Role},
    policy::{ExtractionStrategy, MemoryPolicy},
};
use memory_store::{Append, Extraction, Fact, MemoryError, NewThread, StoreError, Unextracted};

use super::{id, memory};
use crate::world::{World, after, new_thread, said};

/// A thread whose policy is to keep a summary.
struct Summarized<'a> {
    world: &'a World,
    thread: ThreadId,
}

impl<'a> Summarized<'a> {
    async fn new(world: &'a World) -> Self {
        let new = NewThread {
            policy: MemoryPolicy {
                extraction: Some(ExtractionStrategy::Summary),
                ..MemoryPolicy::default()
            },
            ..new_thread("app", "ada", &format!("session:{}", ThreadId::new()))
        };
        let threads = world.store.threads(&world.caller);
        let thread = threads.create_thread(&new).await.unwrap().id;
        Self { world, thread }
    }

    async fn left(&self) -> Unextracted {
        let memories = self.world.store.memories(&self.world.caller);
        let left = memories.unextracted(self.thread, ExtractionStrategy::Summary);
        left.await.unwrap()
    }

    /// The depths between which messages are left.
    async fn depths(&self) -> (i32, i32) {
        let left = self.left().await;
        (left.after_depth, left.head_depth)
    }

    /// Stores a summary; an empty text: nothing was worth one.
    async fn sum_up(
        &self,
        text: &str,
        to_seq: i64,
        sources: &[MessageId],
        built_on: Vec<(MemoryId, String)>,
    ) -> Result<(), StoreError> {
        let fact = Fact {
            text: text.to_owned(),
            sources: sources.to_vec(),
            supersedes: built_on.iter().map(|(id, _)| *id).collect(),
            ..Fact::default()
        };
        let extraction = Extraction {
            thread: self.thread,
            generation: self.left().await.generation,
            to_seq,
            facts: Vec::from_iter((!text.is_empty()).then_some(fact)),
            made_by: "extractive".to_owned(),
            strategy: ExtractionStrategy::Summary,
            built_on,
        };
        let memories = self.world.store.memories(&self.world.caller);
        memories.store_extracted(&extraction).await.map(drop)
    }

    async fn align(&self) -> bool {
        let memories = self.world.store.memories(&self.world.caller);
        memories.align_summary(self.thread).await.unwrap()
    }

    /// The summaries that hold.
    async fn holding(&self) -> Vec<(MemoryId, String)> {
        let memories = self.world.store.memories(&self.world.caller);
        memories.summary_memories(self.thread).await.unwrap()
    }

    async fn texts(&self) -> Vec<String> {
        let holding = self.holding().await.into_iter();
        holding.map(|(_, text)| text).collect()
    }

    async fn set_head(&self, message: MessageId) {
        let threads = self.world.store.threads(&self.world.caller);
        threads.set_head(self.thread, message, None).await.unwrap();
    }

    async fn erase(&self, message: MessageId) {
        let messages = self.world.store.messages(&self.world.caller);
        let erased = messages.delete_message(self.thread, message);
        erased.await.unwrap();
    }

    /// Whether a worker is to distill the thread. Afterwards none is.
    async fn is_queued(&self) -> bool {
        let world = self.world;
        let hour = std::time::Duration::from_secs(3_600);
        let claim = world
            .workers
            .distillates(&world.store)
            .claim_distill(10, hour)
            .await
            .unwrap();
        for job in &claim.jobs {
            let done =
                world
                    .workers
                    .distillates(&world.store)
                    .distill_done(claim.lease, job, i64::MAX);
            done.await.unwrap();
        }
        claim.jobs.iter().any(|job| job.thread == self.thread)
    }
}

#[tokio::test]
async fn the_summary_that_reaches_deepest_on_the_path_holds() {
    let world = World::new().await;
    let one = Summarized::new(&world).await;
    let said = world.say_each(one.thread, 40, "Step").await;
    one.sum_up("All of it", 40, &said, Vec::new())
        .await
        .unwrap();
    assert!(!one.align().await);
    let all_of_it = one.holding().await;
    // Another end: what was summarized before it is to be summarized again.
    let other = after(
        Parent::Message(said[37].into()),
        Role::User,
        "Step 38 anew.",
    );
    world.append(one.thread, vec![other]).await.unwrap();
    assert!(one.align().await);
    assert!(!one.align().await);
    assert_eq!(one.holding().await, []);
    assert_eq!(one.depths().await, (0, 39));
    // Nothing that continues the old one can be stored.
    let late = one
        .sum_up("And on", 41, &said[..5], all_of_it.clone())
        .await;
    assert!(
        matches!(late, Err(StoreError::Memory(MemoryError::ExtractionMoved))),
        "{late:?}"
    );
    one.sum_up("The beginning", 20, &said[..20], Vec::new())
        .await
        .unwrap();
    let known = one.holding().await;
    assert_eq!(known[0].1, "The beginning");
    one.sum_up("The rest", 41, &said[20..38], known.clone())
        .await
        .unwrap();
    // With the head on the part that both paths share, the first one holds.
    one.set_head(said[24]).await;
    assert!(one.align().await);
    assert_eq!(one.holding().await, known);
    assert_eq!(one.depths().await, (20, 25));

    // On its own path the summary of all of it holds again, and nothing is read again.
    one.set_head(said[39]).await;
    assert!(one.align().await);
    assert!(!one.align().await);
    assert_eq!(one.holding().await, all_of_it);
    assert_eq!(one.depths().await, (40, 40));
    // So it does after another root.
    let root = after(Parent::Root, Role::User, "Something else.");
    world.append(one.thread, vec![root]).await.unwrap();
    assert!(one.align().await);
    assert_eq!(one.holding().await, []);
    assert_eq!(one.depths().await, (0, 1));
    one.set_head(said[39]).await;
    assert!(one.align().await);
    assert_eq!(one.holding().await, all_of_it);
    assert_eq!(one.depths().await, (40, 40));
    // What other strategies have read does not depend on the head.
    let memories = world.store.memories(&world.caller);
    let left = memories.unextracted(one.thread, ExtractionStrategy::Discrete);
    assert_eq!(left.await.unwrap().after_depth, 40);
}

#[tokio::test]
async fn an_erased_message_takes_only_the_summaries_that_contain_it() {
    let world = World::new().await;
    let one = Summarized::new(&world).await;
    let said = world.say_each(one.thread, 130, "Step").await;
    one.sum_up("First", 40, &said[..40], Vec::new())
        .await
        .unwrap();
    let first = one.holding().await;
    // Nothing of these is worth a summary.
    one.sum_up("", 50, &[], Vec::new()).await.unwrap();
    assert_eq!(one.holding().await, first);
    one.sum_up("Second", 90, &said[50..90], first.clone())
        .await
        .unwrap();
    let second = one.holding().await;
    one.sum_up("Third", 130, &said[90..], second.clone())
        .await
        .unwrap();
    assert!(one.is_queued().await);

    // No summary was made of this one.
    one.erase(said[45]).await;
    assert_eq!(one.texts().await, ["Third"]);
    assert!(!one.is_queued().await);
    // The ones before hold again, and only the range of the others is read once more.
    one.erase(said[60]).await;
    assert_eq!(one.holding().await, first);
    assert_eq!(one.depths().await, (50, 130));
    assert!(one.is_queued().await);
    assert!(!one.align().await);
    let known = world.known("ada").await;
    assert_eq!(known.len(), 1, "{known:?}");
    // The second may not be continued.
    let late = one.sum_up("Late", 130, &said[90..], second).await;
    assert!(
        matches!(late, Err(StoreError::Memory(MemoryError::ExtractionMoved))),
        "{late:?}"
    );
    one.sum_up("Second anew", 130, &said[70..], first)
        .await
        .unwrap();
    assert_eq!(one.depths().await, (130, 130));

    // The first one's words are in all that continue it.
    one.erase(said[0]).await;
    assert_eq!(world.known("ada").await, []);
    assert_eq!(one.depths().await, (0, 130));
    // A message that takes the place of an erased one is new.
    one.sum_up("", 130, &[], Vec::new()).await.unwrap();
    assert_eq!(one.depths().await, (130, 130));
    one.erase(said[129]).await;
    world.say(one.thread, Role::User, "Step 129 anew.").await;
    assert_eq!(one.depths().await, (0, 130));
}

#[tokio::test]
async fn a_summary_that_a_caller_erased_or_replaced_does_not_return() {
    let world = World::new().await;
    let one = Summarized::new(&world).await;
    let said = world.say_each(one.thread, 4, "Step").await;
    let memories = || world.store.memories(&world.caller);
    one.sum_up("First", 1, &said[..1], Vec::new())
        .await
        .unwrap();
    let first = one.holding().await;
    one.sum_up("Second", 2, &said[1..2], first).await.unwrap();
    let (second, _) = one.holding().await[0];
    memories().delete_memory(second).await.unwrap();
    one.sum_up("Third", 3, &said[2..3], Vec::new())
        .await
        .unwrap();
    let (third, _) = one.holding().await[0];
    let better = memory("Better");
    memories().supersede_memory(third, &better).await.unwrap();
    one.sum_up("Fourth", 4, &said[3..], Vec::new())
        .await
        .unwrap();
    for (head, holds) in [(0, vec![]), (1, vec![]), (2, vec![]), (3, vec!["Fourth"])] {
        one.set_head(said[head]).await;
        one.align().await;
        assert_eq!(one.texts().await, holds, "{head}");
        assert_eq!(one.left().await.after_depth, 1 + head as i32);
    }
    // Nor is what the erased one was made of summarized again.
    one.erase(said[1]).await;
    assert_eq!(one.depths().await, (4, 4));
    assert_eq!(one.texts().await, ["Fourth"]);
}

impl Summarized<'_> {
    /// Imports messages and a summary of them, with sources, and a fact of the last of them.
    async fn import(&self, sources: &[usize], count: usize) -> Vec<MessageId> {
        let Self { world, thread } = self;
        let mut imported = Vec::new();
        for number in 0..count {
            let append = Append {
                thread: *thread,
                messages: vec![said(Role::User, &format!("Step {number}."))],
                request_id: None,
                expected_head: None,
            };
            let done = world.store.messages(&world.caller).import(&append);
            imported.push(done.await.unwrap().messages[0].id);
        }
        let of = async |text: &str, strategy, sources: Vec<MessageId>| {
            let added = world.remember("ada", &[memory(text)]).await;
            let mut there = added.memories[0].memory.clone();
            let memories = world.store.memories(&world.caller);
            memories.delete_memory(id(&added, 0)).await.unwrap();
            there.id = MemoryId::new();
            there.thread = Some(*thread);
            there.origin = MemoryOrigin::Extracted;
            there.strategy = Some(strategy);
            there.sources = sources;
            there
        };
        let last = imported.last().copied();
        let made = sources.iter().map(|at| imported[*at]).collect();
        let all: [Memory; 2] = [
            of("Imported", ExtractionStrategy::Summary, made).await,
            of("A fact", ExtractionStrategy::Discrete, Vec::from_iter(last)).await,
        ];
        world.import("ada", &all).await;
        imported
    }

    async fn imported(&self) -> Vec<MessageId> {
        let owner = self.world.owner().await;
        let sql = "SELECT message_id FROM recollect.messages WHERE thread_id = $1 AND imported AND deleted_at IS NULL ORDER BY seq";
        let rows = owner.query(sql, &[&self.thread.uuid()]).await.unwrap();
        rows.iter()
            .map(|row| row.get::<_, uuid::Uuid>(0).into())
            .collect()
    }
}

#[tokio::test]
async fn only_what_an_imported_summary_covered_is_read_once_it_is_erased() {
    let world = World::new().await;
    let one = Summarized::new(&world).await;
    let mut imported = one.import(&[1, 5], 10).await;
    assert_eq!(one.texts().await, ["Imported"]);
    assert!(!one.align().await);
    assert_eq!(one.depths().await, (6, 10));
    // The rest was imported, too, so nothing of it is read.
    one.sum_up("", 10, &[], Vec::new()).await.unwrap();
    let base = one.holding().await;
    let later = world.say_each(one.thread, 2, "Later").await;
    one.sum_up("Continued", 12, &later, base.clone())
        .await
        .unwrap();
    one.is_queued().await;

    // It contains nothing that was said here.
    one.erase(later[0]).await;
    assert_eq!(one.holding().await, base);
    assert_eq!(one.depths().await, (10, 12));
    assert_eq!(one.imported().await, imported);

    // Which of the imported messages it was made of is not known.
    one.erase(imported[8]).await;
    assert_eq!(one.holding().await, []);
    assert_eq!(one.depths().await, (0, 12));
    assert!(one.is_queued().await);
    let left = one.imported().await;
    imported.remove(8);
    assert_eq!(left, imported[6..]);
}

#[tokio::test]
async fn a_summary_that_was_imported_before_its_successor_returns() {
    let world = World::new().await;
    let one = Summarized::new(&world).await;
    let said = world.say_each(one.thread, 6, "Step").await;
    one.sum_up("First", 2, &said[..2], Vec::new())
        .await
        .unwrap();
    let first = one.holding().await;
    one.sum_up("Second", 6, &said[2..], first).await.unwrap();
    let memories = || world.store.memories(&world.caller);
    let exported = memories().export_memories(None, None, None, 10).await;
    let exported = exported.unwrap().items;
    let texts: Vec<&str> = exported.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["First", "Second"]);
    let forget = "DELETE FROM recollect.memories; DELETE FROM recollect.memory_sources;
                  DELETE FROM recollect.memory_ranges; DELETE FROM recollect.memory_ancestors";
    world.owner().await.batch_execute(forget).await.unwrap();

    // A call for each.
    for memory in exported {
        world.import("ada", &[memory]).await;
    }
    assert_eq!(one.texts().await, ["Second"]);
    let other = after(Parent::Message(said[1].into()), Role::User, "Or else.");
    world.append(one.thread, vec![other]).await.unwrap();
    one.align().await;
    assert_eq!(one.texts().await, ["First"]);
    one.set_head(said[5]).await;
    one.align().await;
    assert_eq!(one.texts().await, ["Second"]);
}

#[tokio::test]
async fn messages_whose_facts_were_imported_are_not_read() {
    let world = World::new().await;
    let one = Summarized::new(&world).await;
    let imported = one.import(&[0, 3], 4).await;
    one.erase(imported[0]).await;
    assert_eq!(one.texts().await, [""; 0]);
    // The fact's source.
    assert_eq!(one.imported().await, imported[3..]);
}

#[tokio::test]
async fn summaries_from_before_ranges_follow_the_head_and_are_erased_with_any_message() {
    let world = World::new().await;
    let one = Summarized::new(&world).await;
    let said = world.say_each(one.thread, 6, "Step").await;
    one.sum_up("First", 2, &said[..1], Vec::new())
        .await
        .unwrap();
    let first = one.holding().await;
    one.sum_up("Second", 6, &said[2..4], first).await.unwrap();
    let forget = async || {
        let owner = world.owner().await;
        let forget =
            "DELETE FROM recollect.memory_ranges; UPDATE recollect.memories SET left_path = false";
        owner.batch_execute(forget).await.unwrap();
    };
    forget().await;
    one.align().await;
    // Nothing is read again: it covers what extraction has read.
    assert_eq!(one.texts().await, ["Second"]);
    assert_eq!(one.depths().await, (6, 6));
    let other = after(Parent::Message(said[1].into()), Role::User, "Or else.");
    world.append(one.thread, vec![other]).await.unwrap();
    one.align().await;
    assert_eq!(one.texts().await, ["First"]);
    one.set_head(said[5]).await;
    one.align().await;
    assert_eq!(one.texts().await, ["Second"]);
    // Its sources are fewer than the messages that it was made of.
    forget().await;
    one.erase(said[5]).await;
    assert_eq!(one.texts().await, [""; 0]);
    assert_eq!(one.depths().await, (0, 5));
}

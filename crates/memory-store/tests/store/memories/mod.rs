//! Long-term memories.

mod erasing;
mod locks;
mod participants;
mod queues;
mod records;
mod summaries;
mod times;
mod transfer;

use std::{collections::HashSet, time::Duration};

use memory_contract::{
    AppId, MemoryId, MessageId, TenantId, ThreadId, UserId,
    json::JsonObject,
    memory::{Memory, MemoryChange, MemoryFilter, MemoryOrigin, MemoryOwner, NewMemory},
    message::Role,
    policy::{ExtractionStrategy, MemoryPolicy, PolicyChange},
    precondition::Precondition,
};
use memory_store::{
    AddedMemories, DeadSubject, Extraction, Fact, Failure, Forget, JobKind, MemoryError,
    MemoryOwners, StoreError,
};

use serde_json::{Value, json};

use crate::world::{World, caller};

fn owner(user: &str) -> MemoryOwner {
    MemoryOwner {
        app: AppId::new("app"),
        user: UserId::new(user),
    }
}

fn memory(text: &str) -> NewMemory {
    NewMemory {
        text: text.to_owned(),
        ..NewMemory::default()
    }
}

fn recorded(record: &str, text: &str) -> NewMemory {
    NewMemory {
        record: record.to_owned(),
        ..memory(text)
    }
}

fn fact(text: &str, sources: &[MessageId]) -> Fact {
    Fact {
        text: text.to_owned(),
        sources: sources.to_vec(),
        ..Fact::default()
    }
}

impl World {
    async fn remember(&self, user: &str, memories: &[NewMemory]) -> AddedMemories {
        self.store
            .memories(&self.caller)
            .add_memories(&owner(user), memories, MemoryOrigin::Caller, None)
            .await
            .unwrap()
    }

    async fn known(&self, user: &str) -> Vec<Memory> {
        let filter = MemoryFilter {
            superseded: true,
            ..MemoryFilter::default()
        };
        let owner = owner(user);
        let page = self
            .store
            .memories(&self.caller)
            .list_memories(&owner.app, Some(&owner.user), &filter, None, 500)
            .await
            .unwrap();
        page.items
    }

    async fn texts(&self, user: &str) -> Vec<String> {
        let known = self.known(user).await;
        known.into_iter().map(|memory| memory.text).collect()
    }

    async fn extract(
        &self,
        thread: ThreadId,
        generation: i64,
        to_seq: i64,
        facts: Vec<Fact>,
    ) -> Result<memory_store::Extracted, StoreError> {
        let extraction = Extraction {
            thread,
            generation,
            to_seq,
            facts,
            made_by: "extractive".to_owned(),
            strategy: ExtractionStrategy::Discrete,
            built_on: Vec::new(),
        };
        self.store
            .memories(&self.caller)
            .store_extracted(&extraction)
            .await
    }

    /// The queued changes of memories, in order.
    async fn queued(&self) -> Vec<JobKind> {
        let claim = self
            .outbox
            .claim(1_000, Duration::from_secs(60))
            .await
            .unwrap();
        let ids: Vec<i64> = claim.jobs.iter().map(|job| job.id).collect();
        self.outbox.release(claim.lease, &ids).await.unwrap();
        claim
            .jobs
            .into_iter()
            .map(|job| job.kind)
            .filter(|kind| matches!(kind, JobKind::UpsertMemory(_) | JobKind::DeleteMemory(_)))
            .collect()
    }
}

fn id(added: &AddedMemories, place: usize) -> MemoryId {
    added.memories[place].memory.id
}

#[tokio::test]
async fn a_text_is_stored_once_for_each_user_however_many_store_it_at_once() {
    let world = World::new().await;
    let tasks: Vec<_> = (0..16)
        .map(|number| {
            let (store, caller) = (world.store.clone(), world.caller.clone());
            let texts = match number % 2 {
                0 => ["Likes tea", "Has a dog"],
                _ => ["has a DOG.", " likes  Tea!"],
            };
            tokio::spawn(async move {
                store
                    .memories(&caller)
                    .add_memories(
                        &owner("ada"),
                        &texts.map(memory),
                        MemoryOrigin::Caller,
                        None,
                    )
                    .await
                    .unwrap()
            })
        })
        .collect();
    let mut ids = HashSet::new();
    let mut created = 0;
    for task in tasks {
        for added in task.await.unwrap().memories {
            ids.insert(added.memory.id);
            created += usize::from(added.created);
        }
    }
    assert_eq!((ids.len(), created), (2, 2));
    // Another user's is another memory; so is that of no user.
    let bobs = world.remember("bob", &[memory("Likes tea")]).await;
    let userless = world.remember("", &[memory("Likes tea")]).await;
    assert!(bobs.memories[0].created && userless.memories[0].created);
    assert!(!ids.contains(&id(&bobs, 0)) && id(&bobs, 0) != id(&userless, 0));
    assert_eq!(world.known("ada").await.len(), 2);
    // Within one request as well.
    let twice = world
        .remember("eve", &[memory("Sings"), memory("sings.")])
        .await;
    assert_eq!(id(&twice, 0), id(&twice, 1));
    assert!(twice.memories[0].created && !twice.memories[1].created);
}

#[tokio::test]
async fn a_record_is_updated_and_yields_to_a_memory_with_the_same_text() {
    let world = World::new().await;
    let first = world
        .remember("ada", &[recorded("home", "Lives in Paris")])
        .await;
    let again = world
        .remember("ada", &[recorded("home", "Lives in Rome")])
        .await;
    assert_eq!(id(&first, 0), id(&again, 0));
    assert!(!again.memories[0].created);
    assert_eq!(world.texts("ada").await, ["Lives in Rome"]);
    assert_ne!(
        first.memories[0].memory.etag(),
        again.memories[0].memory.etag()
    );
    // The same once more changes nothing.
    let same = world
        .remember("ada", &[recorded("home", "Lives in Rome")])
        .await;
    assert_eq!(same.memories[0].memory, again.memories[0].memory);

    let other = world.remember("ada", &[memory("Lives in Oslo")]).await;
    let moved = world
        .remember("ada", &[recorded("home", "lives in Oslo.")])
        .await;
    assert_eq!(id(&moved, 0), id(&other, 0));
    assert_eq!(moved.memories[0].memory.record, "home");
    let old = world
        .store
        .memories(&world.caller)
        .get_memory(id(&moved, 0))
        .await
        .unwrap();
    assert_eq!(old.superseded.len(), 1);
    assert_eq!(old.superseded[0].text, "Lives in Rome");
    assert_eq!(old.superseded[0].superseded_by, Some(id(&other, 0)));
}

#[tokio::test]
async fn a_chain_of_memories_stays_linked_when_one_is_erased() {
    let world = World::new().await;
    let store = &world.store;
    let paris = world
        .remember("ada", &[recorded("home", "Lives in Paris")])
        .await;
    let supersede = async |id: MemoryId, text: &str| {
        store
            .memories(&world.caller)
            .supersede_memory(id, &recorded("home", text))
            .await
    };
    let rome = supersede(id(&paris, 0), "Lives in Rome").await.unwrap();
    assert!(rome.superseded.valid_until.is_some());
    assert_eq!(rome.superseded.superseded_by, Some(rome.memory.id));
    assert!(rome.memory.holds());
    // Again: the same. Another one: too late.
    let again = supersede(id(&paris, 0), "lives in rome").await.unwrap();
    assert_eq!(again.memory.id, rome.memory.id);
    let late = supersede(id(&paris, 0), "Lives in Bonn").await.unwrap_err();
    assert!(
        matches!(late, StoreError::Memory(MemoryError::Changed)),
        "{late:?}"
    );
    let same = supersede(rome.memory.id, "LIVES in Rome")
        .await
        .unwrap_err();
    assert!(
        matches!(same, StoreError::Memory(MemoryError::Known { .. })),
        "{same:?}"
    );

    let oslo = supersede(rome.memory.id, "Lives in Oslo").await.unwrap();
    let history = async || {
        let found = store
            .memories(&world.caller)
            .get_memory(oslo.memory.id)
            .await;
        let found = found.unwrap().superseded.into_iter();
        found.map(|memory| memory.text).collect::<Vec<_>>()
    };
    assert_eq!(history().await, ["Lives in Rome", "Lives in Paris"]);
    store
        .memories(&world.caller)
        .delete_memory(rome.memory.id)
        .await
        .unwrap();
    assert_eq!(history().await, ["Lives in Paris"]);
    // A superseded text may hold again.
    let back = supersede(oslo.memory.id, "Lives in Paris").await.unwrap();
    assert_ne!(back.memory.id, id(&paris, 0));
}

#[tokio::test]
async fn a_change_needs_the_state_that_it_was_made_from() {
    let world = World::new().await;
    let added = world
        .remember("ada", &[memory("Likes tea"), memory("Likes cake")])
        .await;
    let tea = &added.memories[0].memory;
    let change = MemoryChange {
        text: Some("Likes green tea".to_owned()),
        ..MemoryChange::default()
    };
    let update = async |id, change: &MemoryChange, etag: &str| {
        let precondition = match etag {
            "" => Precondition::Unchecked,
            etag => Precondition::Etag(etag.to_owned()),
        };
        world
            .store
            .memories(&world.caller)
            .update_memory(id, &precondition, change)
            .await
    };
    let done = update(tea.id, &change, &tea.etag()).await.unwrap();
    assert_eq!(done.memory.text, "Likes green tea");
    let stale = update(tea.id, &change, &tea.etag()).await.unwrap_err();
    assert!(
        matches!(stale, StoreError::EtagChanged { etag: Some(_) }),
        "{stale:?}"
    );
    let cake = MemoryChange {
        text: Some("likes cake!".to_owned()),
        ..MemoryChange::default()
    };
    let known = update(tea.id, &cake, "").await.unwrap_err();
    assert!(
        matches!(known, StoreError::Memory(MemoryError::Known { id: other }) if other == id(&added, 1)),
        "{known:?}"
    );
    // Changes without an etag do not lose each other.
    let pin = MemoryChange {
        pinned: Some(true),
        ..MemoryChange::default()
    };
    let topics = MemoryChange {
        topics: Some(vec!["drinks".to_owned()]),
        ..MemoryChange::default()
    };
    let (one, other) = tokio::join!(update(tea.id, &pin, ""), update(tea.id, &topics, ""));
    one.unwrap();
    other.unwrap();
    let memory = world
        .store
        .memories(&world.caller)
        .get_memory(tea.id)
        .await
        .unwrap();
    assert!(memory.memory.pinned);
    assert_eq!(memory.memory.topics, ["drinks"]);
}

#[tokio::test]
async fn extraction_takes_effect_once_and_only_with_proof() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let elsewhere = world.thread().await.id;
    let foreign = world.say(elsewhere, Role::User, "I like tea.").await;
    let old = world
        .remember(
            "ada",
            &[memory("Lives in Paris"), pinned("Was born in Nice")],
        )
        .await;
    let bobs = world.remember("bob", &[memory("Lives in Lyon")]).await;
    let said = world.say(thread, Role::User, "I moved to Rome.").await;
    let mut moved = fact("Lives in Rome", &[said]);
    moved.supersedes = vec![id(&old, 0), id(&old, 1), id(&bobs, 0)];
    let facts = vec![
        moved,
        fact("Likes tea", &[foreign]),
        fact("Likes cake", &[]),
        fact("lives in rome!", &[said]),
    ];
    let done = world.extract(thread, 0, 1, facts.clone()).await.unwrap();
    assert_eq!(
        (done.stored, done.known, done.dropped, done.superseded),
        (1, 1, 2, 1)
    );
    let again = world.extract(thread, 0, 1, facts).await.unwrap_err();
    assert!(
        matches!(again, StoreError::Memory(MemoryError::ExtractionMoved)),
        "{again:?}"
    );
    let rome = world.known("ada").await.remove(0);
    assert_eq!(rome.text, "Lives in Rome");
    // Words find it among those of the user and of the whole app.
    let all = MemoryFilter::default();
    let memories = world.store.memories(&world.caller);
    let app = owner("").app;
    for owners in [MemoryOwners::User(owner("ada")), MemoryOwners::App(app)] {
        let found = memories.search_memories(&owners, "rome", &all, 10).await;
        assert_eq!(found.unwrap().len(), 1, "{owners:?}");
    }
    assert_eq!(
        (rome.origin, rome.sources.as_slice()),
        (MemoryOrigin::Extracted, &[said][..])
    );
    assert_eq!(
        (rome.thread, rome.made_by.as_str()),
        (Some(thread), "extractive")
    );
    // Pinned ones and those of others hold.
    let holds = |memories: Vec<Memory>| memories.iter().filter(|m| m.holds()).count();
    assert_eq!(holds(world.known("ada").await), 2);
    assert_eq!(holds(world.known("bob").await), 1);
    // Only what was said.
    let early = world.extract(thread, 1, 2, Vec::new()).await.unwrap_err();
    assert!(
        matches!(early, StoreError::Memory(MemoryError::ExtractionMoved)),
        "{early:?}"
    );
    // Two workers: one of them.
    world.say(thread, Role::User, "I like Rome.").await;
    let (one, other) = tokio::join!(
        world.extract(thread, 1, 2, vec![fact("One", &[said])]),
        world.extract(thread, 1, 2, vec![fact("Two", &[said])]),
    );
    assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
}

fn pinned(text: &str) -> NewMemory {
    NewMemory {
        pinned: true,
        ..memory(text)
    }
}

#[tokio::test]
async fn an_extracted_memory_goes_with_its_last_source() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let mut said = Vec::new();
    for text in ["I like tea.", "Tea again.", "And cake.", "My cat is Tom."] {
        said.push(world.say(thread, Role::User, text).await);
    }
    world
        .extract(
            thread,
            0,
            4,
            vec![
                fact("Likes tea", &said[..2]),
                fact("Likes cake", &said[2..3]),
                fact("Has a cat", &said[3..]),
                fact("Is kind", &said[..1]),
            ],
        )
        .await
        .unwrap();
    let of =
        |memories: &[Memory], text: &str| memories.iter().find(|m| m.text == text).unwrap().clone();
    let known = world.known("ada").await;
    let cake = of(&known, "Likes cake").id;
    // A caller says it too: it stays with the caller.
    world.remember("ada", &[memory("likes cake")]).await;
    let pin = MemoryChange {
        pinned: Some(true),
        ..MemoryChange::default()
    };
    let cat = of(&known, "Has a cat").id;
    world
        .store
        .memories(&world.caller)
        .update_memory(cat, &Precondition::Unchecked, &pin)
        .await
        .unwrap();
    let delete = async |message| {
        world
            .store
            .messages(&world.caller)
            .delete_message(thread, message)
            .await
            .unwrap();
    };
    delete(said[0]).await;
    let known = world.known("ada").await;
    assert_eq!(known.len(), 3);
    assert_eq!(of(&known, "Likes tea").sources, said[1..2]);
    let gone = world.queued().await;
    assert!(
        matches!(gone.last(), Some(JobKind::DeleteMemory(_))),
        "{gone:?}"
    );
    delete(said[2]).await;
    delete(said[3]).await;
    world
        .store
        .threads(&world.caller)
        .clear_thread(thread)
        .await
        .unwrap();
    let left = world.known("ada").await;
    let mut ids: Vec<MemoryId> = left.iter().map(|memory| memory.id).collect();
    ids.sort_unstable();
    let mut expected = [cake, cat];
    expected.sort_unstable();
    assert_eq!(ids, expected);
    assert!(left.iter().all(|memory| memory.sources.is_empty()));
    world
        .store
        .threads(&world.caller)
        .delete_thread(thread)
        .await
        .unwrap();
    assert!(world.known("ada").await.iter().all(|m| m.thread.is_none()));
}

#[tokio::test]
async fn sources_are_messages_of_the_same_app_and_user() {
    let world = World::new().await;
    let bobs = world.thread_of("app", "bob", "thread:1").await.id;
    let foreign = world.say(bobs, Role::User, "I am Bob.").await;
    let own = world.thread().await.id;
    let said = world.say(own, Role::User, "I am Ada.").await;
    let add = async |sources: &[MessageId]| {
        let memory = NewMemory {
            sources: sources.to_vec(),
            ..memory("Is somebody")
        };
        let store = &world.store;
        store
            .memories(&world.caller)
            .add_memories(
                &owner("ada"),
                &[self::memory("First"), memory],
                MemoryOrigin::Caller,
                None,
            )
            .await
    };
    for wrong in [foreign, MessageId::new()] {
        let error = add(&[said, wrong]).await.unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::Memory(MemoryError::SourceNotFound {
                    index: Some(1),
                    place: 1
                })
            ),
            "{error:?}"
        );
    }
    assert_eq!(world.known("ada").await.len(), 0);
    let added = add(&[said]).await.unwrap();
    let memory = &added.memories[1].memory;
    assert_eq!(
        (memory.thread, memory.sources.as_slice()),
        (Some(own), &[said][..])
    );
}

#[tokio::test]
async fn forgetting_keeps_pinned_and_recently_used_memories() {
    let world = World::new().await;
    let texts: Vec<NewMemory> = (0..6).map(|n| memory(&format!("fact {n}"))).collect();
    let added = world.remember("ada", &texts).await;
    world.remember("ada", &[pinned("fact 6")]).await;
    world.remember("bob", &texts[..2]).await;
    let owner = world.owner().await;
    // fact 0 was used yesterday, fact 1 was stored a year ago.
    let days = |sql: &'static str, place: usize| {
        let (owner, id) = (&owner, id(&added, place).uuid());
        async move { owner.execute(sql, &[&id]).await.unwrap() }
    };
    days("UPDATE recollect.memories SET created_at = created_at - interval '400 days', last_used_on = current_date - 3 WHERE memory_id = $1", 0).await;
    days("UPDATE recollect.memories SET created_at = created_at - interval '400 days' WHERE memory_id = $1", 1).await;
    let forget = Forget {
        app: AppId::new("app"),
        user: Some(UserId::new("ada")),
        max_age: None,
        max_inactivity: None,
        max_count: None,
        dry_run: true,
    };
    let day = Duration::from_secs(24 * 3_600);
    let run = async |forget: &Forget| {
        let done = world
            .store
            .memories(&world.caller)
            .forget_memories(forget)
            .await
            .unwrap();
        assert_eq!(done.count, i64::try_from(done.memories.len()).unwrap());
        assert!(!done.more);
        done.memories
            .into_iter()
            .map(|memory| memory.text)
            .collect::<Vec<_>>()
    };
    let inactive = |days: u32| Forget {
        max_inactivity: Some(day * days),
        ..forget.clone()
    };
    assert_eq!(run(&inactive(30)).await, ["fact 1"]);
    assert_eq!(run(&inactive(1)).await, ["fact 1", "fact 0"]);
    let old = Forget {
        max_age: Some(day * 365),
        ..forget.clone()
    };
    assert_eq!(run(&old).await, ["fact 1", "fact 0"]);
    let few = Forget {
        max_count: Some(4),
        user: None,
        ..forget.clone()
    };
    // Seven of ada's, one of them pinned: the three used longest ago go.
    assert_eq!(run(&few).await, ["fact 1", "fact 0", "fact 2"]);
    assert_eq!(
        world.known("ada").await.len(),
        7,
        "a dry run erases nothing"
    );
    let reported = run(&few).await;
    let done = run(&Forget {
        dry_run: false,
        ..few.clone()
    })
    .await;
    assert_eq!(done, reported);
    assert_eq!(
        world.texts("ada").await,
        ["fact 6", "fact 5", "fact 4", "fact 3"]
    );
    assert_eq!(run(&few).await, Vec::<String>::new());
    assert_eq!(world.known("bob").await.len(), 2);
}

#[tokio::test]
async fn policies_forget_in_the_background_app_by_app() {
    let mut world = World::new().await;
    let texts: Vec<NewMemory> = (0..5).map(|n| memory(&format!("fact {n}"))).collect();
    let names = ["a", "b", "c"];
    for name in names {
        world.caller = caller(name);
        world.remember("ada", &texts).await;
        let change = PolicyChange {
            set: MemoryPolicy {
                memory_max_count: Some(2),
                ..MemoryPolicy::default()
            },
            ..PolicyChange::default()
        };
        if name != "b" {
            world
                .store
                .policies(&world.caller)
                .update_app_policy(&AppId::new("app"), &Precondition::Unchecked, &change)
                .await
                .unwrap();
        }
    }
    let (mut after, mut rounds) = (None, 0);
    loop {
        after = world
            .workers
            .memories(&world.store)
            .sweep_memories(after, 1, 2)
            .await
            .unwrap();
        rounds += 1;
        if after.is_none() {
            break;
        }
        assert!(rounds < 20);
    }
    for (name, left) in names.into_iter().zip([2, 5, 2]) {
        world.caller = caller(name);
        assert_eq!(world.known("ada").await.len(), left, "{name}");
    }
    // Every tenant with memories is known, also without a thread.
    let tenants = world.outbox.tenants(None, 10).await.unwrap();
    assert_eq!(tenants, names.map(TenantId::new));
}

#[tokio::test]
async fn the_index_learns_of_memories_and_a_stamp_is_for_one_state() {
    let world = World::new().await;
    let added = world
        .remember("ada", &[memory("Likes tea"), memory("Likes cake")])
        .await;
    let (tea, cake) = (id(&added, 0), id(&added, 1));
    assert_eq!(
        world.queued().await,
        [JobKind::UpsertMemory(tea), JobKind::UpsertMemory(cake)]
    );
    let fresh = async |change: i64| {
        let mut revision = added.revision;
        revision.change = change;
        let found = world
            .store
            .messages(&world.caller)
            .freshness(&revision)
            .await;
        !found.unwrap().pending
    };
    assert!(!fresh(added.revision.change).await && fresh(0).await);
    let records = world
        .store
        .memories(&world.caller)
        .memory_records(&[tea, cake])
        .await
        .unwrap();
    let versions: Vec<(MemoryId, i64)> = records.iter().map(|r| (r.id, r.version)).collect();
    let change = MemoryChange {
        text: Some("Likes green tea".to_owned()),
        ..MemoryChange::default()
    };
    world
        .store
        .memories(&world.caller)
        .update_memory(tea, &Precondition::Unchecked, &change)
        .await
        .unwrap();
    for _ in 0..2 {
        world
            .store
            .memories(&world.caller)
            .memories_persisted(&versions)
            .await
            .unwrap();
    }
    let read = async |id| {
        let found = world.store.memories(&world.caller).get_memory(id).await;
        found.unwrap().memory.persisted
    };
    assert_eq!(read(tea).await, None);
    assert!(read(cake).await.is_some());

    // Dead letters, and queueing everything again.
    let claim = world
        .outbox
        .claim(1, Duration::from_secs(60))
        .await
        .unwrap();
    let failure = Failure {
        id: claim.jobs[0].id,
        error: "no".to_owned(),
        delay: Duration::ZERO,
    };
    world
        .outbox
        .retry(claim.lease, &[failure], 1)
        .await
        .unwrap();
    let dead = world
        .store
        .index(&world.caller)
        .list_dead(None, 10)
        .await
        .unwrap();
    assert_eq!(dead.items[0].subject, DeadSubject::Memory(tea));
    let queued = world
        .store
        .index(&world.caller)
        .enqueue_all(None)
        .await
        .unwrap();
    assert_eq!(queued, 1, "the others wait already");
    let none = caller("b");
    assert_eq!(world.store.index(&none).enqueue_all(None).await.unwrap(), 0);
    let missing = world
        .store
        .memories(&none)
        .memory_versions(&[tea])
        .await
        .unwrap();
    assert!(missing.is_empty());
}

#[tokio::test]
async fn words_find_the_memories_of_one_user_alone() {
    let world = World::new().await;
    let mut tea = memory("Prefers oolong");
    tea.topics = vec!["drinks".to_owned()];
    tea.entities = vec!["Taiwan".to_owned()];
    let data = |value: Value| JsonObject::from(value.as_object().unwrap().clone());
    tea.metadata = data(json!({"team": "blue", "rank": 1.0, "note": null}));
    let added = world.remember("ada", &[tea, memory("Walks to work")]).await;
    world.remember("bob", &[memory("Prefers oolong too")]).await;
    world.remember("", &[memory("Oolong is sold out")]).await;
    let search = async |user: &str, query: &str, filter: &MemoryFilter| {
        let found = world
            .store
            .memories(&world.caller)
            .search_memories(&MemoryOwners::User(owner(user)), query, filter, 10)
            .await
            .unwrap();
        found.into_iter().map(|found| found.id).collect::<Vec<_>>()
    };
    let all = MemoryFilter::default();
    for query in ["oolong", "the drinks of taiwan", "preferring"] {
        assert_eq!(search("ada", query, &all).await, [id(&added, 0)], "{query}");
    }
    assert_eq!(search("bob", "oolong", &all).await.len(), 1);
    assert_eq!(search("", "oolong", &all).await.len(), 1);
    assert!(search("eve", "oolong", &all).await.is_empty());
    let other = MemoryFilter {
        topics: vec!["food".to_owned()],
        ..MemoryFilter::default()
    };
    assert!(search("ada", "oolong", &other).await.is_empty());
    let team = |team: &str| MemoryFilter {
        metadata: data(json!({"team": team, "rank": 1})),
        ..MemoryFilter::default()
    };
    assert_eq!(
        search("ada", "oolong", &team("blue")).await,
        [id(&added, 0)]
    );
    assert!(search("ada", "oolong", &team("red")).await.is_empty());
    let of_app = MemoryOwners::App(owner("").app);
    let memories = world.store.memories(&world.caller);
    let found = memories.search_memories(&of_app, "oolong", &all, 10).await;
    assert_eq!(found.unwrap().len(), 3, "of all users and of none");
    // Reading by id does not cross users either.
    let store = &world.store;
    let foreign = store
        .memories(&world.caller)
        .hydrate_memories(&MemoryOwners::User(owner("bob")), &all, &[id(&added, 0)])
        .await
        .unwrap();
    assert!(foreign.is_empty());
    let error = store
        .memories(&caller("b"))
        .get_memory(id(&added, 0))
        .await
        .unwrap_err();
    assert!(
        matches!(error, StoreError::Memory(MemoryError::NotFound)),
        "{error:?}"
    );
}

#[tokio::test]
async fn without_long_term_memory_nothing_is_stored_or_found() {
    let world = World::new().await;
    let added = world.remember("ada", &[memory("Likes tea")]).await;
    let off = world.store.clone().with_long_term_memory(false);
    let error = off
        .memories(&world.caller)
        .add_memories(
            &owner("ada"),
            &[memory("Likes cake")],
            MemoryOrigin::WorkingMemory,
            None,
        )
        .await
        .unwrap_err();
    assert!(
        matches!(error, StoreError::Memory(MemoryError::Off)),
        "{error:?}"
    );
    let ids = [id(&added, 0)];
    assert!(
        off.memories(&world.caller)
            .memory_records(&ids)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        !off.memories(&world.caller)
            .has_memories(&owner("ada"))
            .await
            .unwrap()
    );
    assert!(
        world
            .store
            .memories(&world.caller)
            .has_memories(&owner("ada"))
            .await
            .unwrap()
    );
}

//! Compares history with a naive model of the tree.

use std::collections::{HashMap, HashSet};

use memory_contract::{
    MessageId, ThreadId,
    json::JsonObject,
    message::{Parent, Role},
};
use memory_store::{HistoryQuery, MessageQuery, Order, Scope, StoreError};
use proptest::prelude::*;

use crate::world::{World, after, said};

/// One step of a conversation. Numbers choose among the messages so far.
#[derive(Clone, Debug)]
enum Step {
    /// Append at the head: so many messages.
    Continue(usize),
    /// Answer an older message, then go on.
    Regenerate(usize, usize),
    /// In one append: answer its own first message twice.
    ForkWithin,
    /// Append another root.
    Root,
    /// Erase a message.
    Delete(usize),
    /// Erase the head.
    DeleteHead,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..4_usize).prop_map(Step::Continue),
        4 => (any::<usize>(), 1..4_usize).prop_map(|(which, count)| Step::Regenerate(which, count)),
        1 => Just(Step::ForkWithin),
        1 => Just(Step::Root),
        2 => any::<usize>().prop_map(Step::Delete),
        1 => Just(Step::DeleteHead),
    ];
    prop::collection::vec(step, 1..25)
}

/// A tree as anyone would write it down: each message with its parent.
#[derive(Default)]
struct Model {
    order: Vec<MessageId>,
    parents: HashMap<MessageId, Option<MessageId>>,
    deleted: HashSet<MessageId>,
    head: Option<MessageId>,
}

impl Model {
    fn add(&mut self, id: MessageId, parent: Option<MessageId>) {
        self.order.push(id);
        self.parents.insert(id, parent);
        self.head = Some(id);
    }

    fn readable(&self) -> Vec<MessageId> {
        self.order
            .iter()
            .copied()
            .filter(|id| !self.deleted.contains(id))
            .collect()
    }

    fn delete(&mut self, id: MessageId) {
        self.deleted.insert(id);
        if self.head == Some(id) {
            self.head = self
                .path(id)
                .first()
                .copied()
                .or_else(|| self.readable().last().copied());
        }
    }

    /// The readable messages from `from` to the root, itself included.
    fn path(&self, from: MessageId) -> Vec<MessageId> {
        let mut path = Vec::new();
        let mut next = Some(from);
        while let Some(id) = next {
            if !self.deleted.contains(&id) {
                path.push(id);
            }
            next = self.parents[&id];
        }
        path
    }
}

async fn play(world: &World, thread: ThreadId, steps: &[Step]) -> Model {
    let mut model = Model::default();
    for step in steps {
        let readable = model.readable();
        let messages = match step {
            Step::Continue(count) => (0..*count).map(|_| said(Role::User, "on")).collect(),
            Step::Regenerate(which, count) if !readable.is_empty() => {
                let parent = Parent::Message(readable[which % readable.len()].into());
                let mut messages = vec![after(parent, Role::Assistant, "again")];
                messages.extend((1..*count).map(|_| said(Role::User, "on")));
                messages
            }
            Step::ForkWithin => {
                let first = said(Role::User, "first");
                let parent = Parent::Message(first.message.id.into());
                vec![
                    first,
                    said(Role::Assistant, "one"),
                    after(parent, Role::Assistant, "two"),
                    said(Role::User, "on"),
                ]
            }
            Step::Root => vec![
                after(Parent::Root, Role::User, "anew"),
                said(Role::Assistant, "on"),
            ],
            Step::Delete(which) if !readable.is_empty() => {
                let id = readable[which % readable.len()];
                world
                    .store
                    .messages(&world.caller)
                    .delete_message(thread, id)
                    .await
                    .unwrap();
                model.delete(id);
                continue;
            }
            Step::DeleteHead if model.head.is_some() => {
                let id = model.head.unwrap();
                world
                    .store
                    .messages(&world.caller)
                    .delete_message(thread, id)
                    .await
                    .unwrap();
                model.delete(id);
                continue;
            }
            Step::Regenerate(..) | Step::Delete(_) | Step::DeleteHead => continue,
        };
        let appended = world.append(thread, messages.clone()).await.unwrap();
        for (message, place) in messages.iter().zip(&appended.messages) {
            assert_eq!(place.seq, model.order.len() as i64 + 1);
            let parent = match &message.message.parent {
                Parent::Previous => model.head,
                Parent::Root => None,
                Parent::Message(name) => name.id(),
            };
            model.add(message.message.id, parent);
        }
    }
    model
}

/// Compares all that can be read of a thread with the model.
async fn check(world: &World, thread: ThreadId, model: &Model) {
    let (store, caller) = (&world.store, &world.caller);
    let stored = store.threads(caller).get_thread(thread).await.unwrap();
    assert_eq!(stored.head, model.head);
    assert_eq!(stored.message_count, model.readable().len() as i64);
    assert_eq!(stored.last_seq, model.order.len() as i64);

    let query = |head| HistoryQuery {
        thread,
        head,
        max_tokens: i64::MAX,
        limit: 500,
    };
    for (place, id) in model.order.iter().enumerate() {
        let history = store
            .messages(caller)
            .history(&query(Some((*id).into())))
            .await;
        if model.deleted.contains(id) {
            assert!(matches!(history, Err(StoreError::MessageNotFound)));
            continue;
        }
        let history = history.unwrap();
        let ids: Vec<MessageId> = history.messages.iter().map(|message| message.id).collect();
        assert_eq!(ids, model.path(*id), "from {place}");
        assert!(!history.older);
        assert_eq!(history.messages[0].seq, place as i64 + 1);
        assert_eq!(history.messages[0].parent, model.parents[id]);
    }
    let active = model.head.map(|head| model.path(head)).unwrap_or_default();
    let history = store.messages(caller).history(&query(None)).await.unwrap();
    assert_eq!(
        history
            .messages
            .iter()
            .map(|message| message.id)
            .collect::<Vec<_>>(),
        active
    );

    // A limit shows one message more, and whether there are others.
    let short = store
        .messages(caller)
        .history(&HistoryQuery {
            limit: 2,
            ..query(None)
        })
        .await
        .unwrap();
    assert_eq!(short.messages.len(), active.len().min(3));
    assert_eq!(short.older, active.len() > 3);

    let all = MessageQuery {
        thread,
        filter: Default::default(),
        order: Order::Ascending,
        after: None,
        limit: 500,
        max_bytes: u32::MAX,
    };
    let listed = store.messages(caller).list_messages(&all).await.unwrap();
    assert_eq!(
        listed
            .items
            .iter()
            .map(|message| message.id)
            .collect::<Vec<_>>(),
        model.readable()
    );

    let hydrated = store
        .messages(caller)
        .hydrate(&Scope::Thread(thread), None, &model.order)
        .await
        .unwrap();
    assert_eq!(hydrated.len(), model.readable().len());
    for hit in hydrated {
        assert_eq!(hit.active, active.contains(&hit.message.id));
    }

    let neighbors = store
        .messages(caller)
        .neighbors(&Scope::Thread(thread), None, &model.order, 2, 1)
        .await
        .unwrap();
    for id in model.readable() {
        let expected: Vec<MessageId> = model.path(id).into_iter().skip(1).take(2).collect();
        let before: Vec<MessageId> = (1..=2)
            .filter_map(|distance| {
                let found = neighbors
                    .iter()
                    .find(|found| found.anchor == id && found.offset == -distance)?;
                Some(found.message.id)
            })
            .collect();
        assert_eq!(before, expected);
        let next = neighbors
            .iter()
            .find(|found| found.anchor == id && found.offset == 1);
        if let Some(at) = active.iter().position(|active| *active == id) {
            assert_eq!(
                next.map(|found| found.message.id),
                at.checked_sub(1).map(|next| active[next])
            );
        } else if let Some(next) = next {
            assert!(model.path(next.message.id).contains(&id));
        }
    }

    let branches = store
        .threads(caller)
        .list_branches(thread, 0, 500)
        .await
        .unwrap()
        .items;
    assert_eq!(
        branches
            .iter()
            .map(|branch| branch.message_count)
            .sum::<i64>(),
        model.readable().len() as i64
    );
    for branch in &branches {
        if let Some(head) = branch.head {
            let depth = std::iter::successors(Some(head), |id| model.parents[id]).count();
            assert_eq!(branch.depth as usize, depth);
        }
    }
    let forks: HashSet<_> = branches.iter().map(|branch| branch.fork).collect();
    assert!(
        forks
            .iter()
            .flatten()
            .all(|fork| model.parents.contains_key(fork))
    );
}

#[test]
fn history_from_any_head_equals_the_walk_along_the_parents() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = runtime.block_on(World::new());
    let config = ProptestConfig {
        cases: 100,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(steps in steps())| {
        runtime.block_on(async {
            let thread = world.thread().await.id;
            let model = play(&world, thread, &steps).await;
            check(&world, thread, &model).await;
        });
    });
}

#[tokio::test]
async fn history_stops_at_the_turn_that_exceeds_the_budget() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    for _ in 0..50 {
        let roles = [Role::User, Role::Assistant, Role::Tool, Role::Assistant];
        world
            .append(thread, roles.map(|role| said(role, "words")).to_vec())
            .await
            .unwrap();
    }
    // Ten tokens each: the third turn from the end is the one that crosses.
    let query = HistoryQuery {
        thread,
        head: None,
        max_tokens: 85,
        limit: 100,
    };
    let history = world
        .store
        .messages(&world.caller)
        .history(&query)
        .await
        .unwrap();
    assert_eq!(history.messages.len(), 12);
    assert_eq!(history.messages[11].role, Role::User);
    assert!(history.older);
    let all = HistoryQuery {
        max_tokens: 2_000,
        limit: 500,
        ..query
    };
    let history = world
        .store
        .messages(&world.caller)
        .history(&all)
        .await
        .unwrap();
    assert_eq!((history.messages.len(), history.older), (200, false));
}

#[tokio::test]
async fn history_reads_only_what_it_returns() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    for _ in 0..20 {
        world
            .append(
                thread,
                vec![said(Role::User, "words"); 256]
                    .into_iter()
                    .map(|mut message| {
                        message.message.id = MessageId::new();
                        message
                    })
                    .collect(),
            )
            .await
            .unwrap();
    }
    let owner = world.owner().await;
    owner
        .batch_execute("ANALYZE recollect.messages")
        .await
        .unwrap();
    let service = world.role("recollect_service").await;
    let history = "SELECT * FROM recollect.history('a', $1, NULL, 1000000, 20, 1000000, 8)";
    let reads = "SELECT idx_tup_fetch + seq_tup_read AS reads FROM pg_stat_xact_user_tables WHERE relname = 'messages'";
    service.batch_execute("BEGIN").await.unwrap();
    for _ in 0..10 {
        assert_eq!(
            service
                .query(history, &[&thread.uuid()])
                .await
                .unwrap()
                .len(),
            21
        );
    }
    let reads: i64 = service.query_one(reads, &[]).await.unwrap().get(0);
    assert!(
        reads <= 10 * 80,
        "{reads} rows read for ten histories of 20"
    );
}

#[tokio::test]
async fn the_content_of_a_deleted_message_is_erased_from_its_row() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let mut secret = said(Role::User, "a secret");
    secret.message.name = "Ada".to_owned();
    secret.message.metadata = JsonObject::parse(r#"{"key": "secret"}"#.to_owned()).unwrap();
    let id = world.append(thread, vec![secret]).await.unwrap().messages[0].id;
    let answer = world.say(thread, Role::Assistant, "noted").await;
    let revision = world
        .store
        .messages(&world.caller)
        .delete_message(thread, id)
        .await
        .unwrap();
    let row = world
        .owner()
        .await
        .query_one(
            "SELECT m::text FROM recollect.messages m WHERE message_id = $1",
            &[&id.uuid()],
        )
        .await
        .unwrap();
    let text: String = row.get(0);
    assert!(!text.contains("secret") && !text.contains("Ada"), "{text}");

    // Its removal from the index is queued, and its answer again, whose index entry includes it.
    let claim = world
        .outbox
        .claim(10, std::time::Duration::from_secs(60))
        .await
        .unwrap();
    let kinds: Vec<_> = claim.jobs.iter().map(|job| job.kind).collect();
    use memory_store::JobKind::{Delete, Upsert};
    assert_eq!(kinds, [Upsert(answer), Delete(id), Upsert(answer)]);
    assert_eq!(claim.jobs.last().unwrap().id, revision.change);
}

#[tokio::test]
async fn a_message_repeated_after_a_deletion_stays_on_its_branch() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let question = world.say(thread, Role::User, "A").await;
    let first = world.say(thread, Role::Assistant, "B").await;
    world
        .store
        .messages(&world.caller)
        .delete_message(thread, first)
        .await
        .unwrap();
    let second = world
        .append(thread, vec![said(Role::Assistant, "B'")])
        .await
        .unwrap()
        .messages[0]
        .clone();
    assert_eq!((second.seq, second.branch), (3, 1));
    let stored = world
        .store
        .messages(&world.caller)
        .get_message(thread, second.id)
        .await
        .unwrap();
    assert_eq!((stored.parent, stored.depth), (Some(question), 2));
    assert_eq!(
        world
            .store
            .threads(&world.caller)
            .list_branches(thread, 0, 10)
            .await
            .unwrap()
            .items
            .len(),
        1
    );
}

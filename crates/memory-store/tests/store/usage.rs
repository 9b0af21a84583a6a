//! Token usage of models, what a tenant stores, and the messages of a thread that extraction has not covered.

use std::time::Duration;

use memory_contract::{
    RequestId,
    message::{Parent, Role},
    policy::ExtractionStrategy,
};
use memory_store::{Append, Extraction, ModelTokens, StorageUsage, StoreError, Unextracted};
use uuid::Uuid;

use crate::world::{World, after, caller, said, session};

const HOUR: Duration = Duration::from_secs(3_600);

fn tokens(input: u64, output: u64) -> ModelTokens {
    ModelTokens { input, output }
}

impl World {
    /// Sets tokens of a budget of 1,000 aside.
    async fn reserve(&self, input: u64, keep: Duration) -> Option<Uuid> {
        self.reserve_of("m", tokens(input, 0), 1_000, keep).await
    }

    async fn reserve_of(
        &self,
        model: &str,
        most: ModelTokens,
        budget: u64,
        keep: Duration,
    ) -> Option<Uuid> {
        let id = Uuid::now_v7();
        let reserved = self
            .store
            .usage(&self.caller)
            .reserve_tokens(id, model, most, budget, keep);
        reserved.await.unwrap().then_some(id)
    }

    async fn settle(&self, id: Uuid, spent: ModelTokens, failed: bool) {
        let settled = self
            .store
            .usage(&self.caller)
            .settle_tokens(id, spent, failed);
        settled.await.unwrap();
    }

    /// Notes a request.
    async fn spend(&self, model: &str, spent: ModelTokens) {
        let id = self.reserve_of(model, spent, 0, HOUR).await.unwrap();
        self.settle(id, spent, false).await;
    }

    async fn left(&self, thread: memory_contract::ThreadId) -> Unextracted {
        self.store
            .memories(&self.caller)
            .unextracted(thread, ExtractionStrategy::Discrete)
            .await
            .unwrap()
    }
}

#[tokio::test]
async fn calls_at_the_same_time_do_not_spend_the_same_tokens() {
    let world = World::new().await;
    let asked = (0..20).map(|_| world.reserve(300, HOUR));
    let reserved: Vec<_> = futures::future::join_all(asked).await;
    let reserved: Vec<Uuid> = reserved.into_iter().flatten().collect();
    assert_eq!(reserved.len(), 3);
    // One cost less than was set aside, one nothing.
    world.settle(reserved[0], tokens(40, 10), false).await;
    world.settle(reserved[1], tokens(0, 0), true).await;
    // 50 are spent, 300 set aside.
    assert_eq!(world.reserve(651, HOUR).await, None);
    assert!(world.reserve(650, HOUR).await.is_some());
    // Without a budget there is always more.
    assert!(
        world
            .reserve_of("m", tokens(5_000, 0), 0, HOUR)
            .await
            .is_some()
    );
    // Another tenant has a separate budget.
    let mut world = world;
    world.caller = caller("b");
    assert!(world.reserve(1_000, HOUR).await.is_some());
}

#[tokio::test]
async fn reservations_of_a_dead_process_are_spent_once() {
    let world = World::new().await;
    let most = tokens(600, 100);
    let lost = world.reserve_of("m", most, 1_000, Duration::ZERO).await;
    let usage_of_m = async || {
        let usage = world
            .store
            .usage(&world.caller)
            .model_usage(1)
            .await
            .unwrap();
        let [usage] = &usage[..] else {
            panic!("{usage:?}")
        };
        assert!(usage.is_today);
        let tokens = (usage.input_tokens, usage.output_tokens);
        (usage.calls, usage.failed, tokens)
    };
    assert_eq!(usage_of_m().await, (1, 1, (600, 100)));
    assert_eq!(world.reserve(301, HOUR).await, None);
    let next = world.reserve(300, HOUR).await.unwrap();
    assert_eq!(usage_of_m().await, (1, 1, (600, 100)));
    // Usage may be settled after the reservation has expired, and twice.
    world.settle(lost.unwrap(), tokens(7, 0), false).await;
    assert_eq!(usage_of_m().await, (1, 1, (600, 100)));
    for _ in 0..2 {
        world.settle(next, tokens(7, 1), false).await;
        assert_eq!(usage_of_m().await, (2, 1, (607, 101)));
    }
}

#[tokio::test]
async fn usage_is_listed_by_day_and_model_for_its_tenant_alone() {
    let mut world = World::new().await;
    for model in ["b", "a", "b"] {
        world.spend(model, tokens(1, 2)).await;
    }
    let own = std::mem::replace(&mut world.caller, caller("b"));
    world.spend("c", tokens(1, 2)).await;
    world.caller = own;
    let owner = world.owner().await;
    owner
        .batch_execute(
            "INSERT INTO recollect.model_usage (tenant_id, day, kind, model, call_count)
             SELECT 'a', recollect.usage_day() - age, 'language', 'old', 9 FROM unnest(ARRAY[1, 2, 400]) AS age",
        )
        .await
        .unwrap();
    let list = async |days| {
        let usage = world
            .store
            .usage(&world.caller)
            .model_usage(days)
            .await
            .unwrap();
        usage
            .into_iter()
            .map(|one| (one.model, one.calls, one.is_today))
            .collect::<Vec<_>>()
    };
    let today = [("a".to_owned(), 1, true), ("b".to_owned(), 2, true)];
    assert_eq!(list(1).await, today);
    let old = ("old".to_owned(), 9, false);
    assert_eq!(list(2).await[2], old);
    assert_eq!(list(366).await[2..], [old.clone(), old]);
    // Days that are too old to be listed are deleted with the first call of a day.
    world.spend("new", tokens(1, 2)).await;
    let rows = owner
        .query("SELECT FROM recollect.model_usage WHERE model = 'old'", &[])
        .await
        .unwrap();
    assert_eq!(rows.len(), 2);
}

#[tokio::test]
async fn extraction_has_not_covered_the_end_of_the_path() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let empty = world.left(thread).await;
    assert_eq!((empty.head, empty.head_depth, empty.tokens), (None, 0, 0));
    let first = world.say(thread, Role::User, "one").await;
    let second = world.say(thread, Role::Assistant, "two").await;
    let third = world.say(thread, Role::User, "three").await;
    let left = world.left(thread).await;
    let depths = |left: &Unextracted| (left.after_depth, left.head_depth);
    assert_eq!((left.head, depths(&left)), (Some(third), (0, 3)));
    assert_eq!((left.tokens, left.path_tokens), (30, 30));
    let look = async |to_seq| {
        let extraction = Extraction {
            thread,
            generation: world.left(thread).await.generation,
            to_seq,
            facts: Vec::new(),
            made_by: "extractive".to_owned(),
            strategy: ExtractionStrategy::Discrete,
            built_on: Vec::new(),
        };
        let stored = world
            .store
            .memories(&world.caller)
            .store_extracted(&extraction);
        stored.await.unwrap();
    };
    look(2).await;
    let left = world.left(thread).await;
    assert_eq!((depths(&left), left.tokens), ((2, 3), 10));
    // Another answer to the first message: a path on which one was looked at.
    let other = after(Parent::Message(first.into()), Role::Assistant, "two again");
    world.append(thread, vec![other]).await.unwrap();
    let left = world.left(thread).await;
    assert_eq!((left.tokens, left.path_tokens), (10, 20));
    assert_eq!(depths(&left), (1, 2));
    look(4).await;
    assert_eq!(depths(&world.left(thread).await), (2, 2));
    // Back on the former path, the messages not yet covered are still left.
    let set_head = async |head| {
        let set = world
            .store
            .threads(&world.caller)
            .set_head(thread, head, None);
        set.await.unwrap();
    };
    set_head(third).await;
    let left = world.left(thread).await;
    assert_eq!((depths(&left), left.tokens), ((2, 3), 10));
    // Messages that extraction has read may be erased.
    let erase = async |message| {
        let erased = world
            .store
            .messages(&world.caller)
            .delete_message(thread, message);
        erased.await.unwrap();
    };
    erase(first).await;
    assert_eq!(depths(&world.left(thread).await), (2, 3));
    look(3).await;
    assert_eq!(depths(&world.left(thread).await), (3, 3));
    // A message in the place of an erased one is a new message.
    erase(third).await;
    assert_eq!(world.left(thread).await.head, Some(second));
    world.say(thread, Role::User, "three again").await;
    assert_eq!(depths(&world.left(thread).await), (2, 3));
    // Also if extraction covers the erased one only now.
    look(3).await;
    assert_eq!(depths(&world.left(thread).await), (2, 3));
    let mut world = world;
    world.caller = caller("b");
    let refused = world
        .store
        .memories(&world.caller)
        .unextracted(thread, ExtractionStrategy::Discrete)
        .await;
    assert!(matches!(refused, Err(StoreError::ThreadNotFound)));
}

#[tokio::test]
async fn a_new_policy_of_an_app_has_its_threads_looked_at_again() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let other = world.thread_of("other", "ada", "s").await.id;
    let look = async |claim: &memory_store::DistillClaim| {
        for job in &claim.jobs {
            let done =
                world
                    .workers
                    .distillates(&world.store)
                    .distill_done(claim.lease, job, 1_000_000);
            done.await.unwrap();
        }
    };
    let waiting = async || {
        let claim = world
            .workers
            .distillates(&world.store)
            .claim_distill(10, HOUR)
            .await
            .unwrap();
        let mut threads: Vec<_> = claim.jobs.iter().map(|job| job.thread).collect();
        threads.sort();
        (claim, threads)
    };
    let both = async || {
        world.say(thread, Role::User, "one").await;
        world.say(other, Role::User, "one").await;
    };
    both().await;
    let (claim, threads) = waiting().await;
    assert_eq!(threads.len(), 2);
    let set = async || {
        let change = memory_contract::policy::PolicyChange {
            replace: true,
            ..Default::default()
        };
        let app = memory_contract::AppId::new("app");
        let set = world.store.policies(&world.caller).update_app_policy(
            &app,
            &memory_contract::precondition::Precondition::Unchecked,
            &change,
        );
        set.await.unwrap();
    };
    // One look has begun under the policy before.
    set().await;
    look(&claim).await;
    let (claim, threads) = waiting().await;
    assert_eq!(threads, [thread]);
    look(&claim).await;
    both().await;
    assert_eq!(waiting().await.1, []);
    set().await;
    both().await;
    assert_eq!(waiting().await.1, [thread]);
}

#[tokio::test]
async fn what_a_tenant_stores_follows_appends_and_erasures() {
    let world = World::new().await;
    let (store, caller_a, caller_b) = (&world.store, &world.caller, caller("b"));
    let usage = async || store.usage(caller_a).storage().await.unwrap();
    assert_eq!(usage().await, StorageUsage::default());
    let (thread, other) = (
        world.thread().await.id,
        world.thread_of("app", "ada", "2").await.id,
    );
    world.say(thread, Role::User, "Hello!").await;
    let one = usage().await;
    assert_eq!(one.messages, 1);
    assert!(one.bytes > 6, "{one:?}");
    let second = world.say(thread, Role::Assistant, "Hello, Ada!").await;
    world.say(other, Role::User, "Hello!").await;
    let all = usage().await;
    assert_eq!(all.messages, 3);
    assert!(all.bytes > 2 * one.bytes, "{all:?}");

    let erased = store.messages(caller_a).delete_message(thread, second);
    erased.await.unwrap();
    let both = StorageUsage {
        messages: 2,
        bytes: 2 * one.bytes,
    };
    assert_eq!(usage().await, both);
    store.threads(caller_a).clear_thread(thread).await.unwrap();
    assert_eq!(usage().await, one);
    // An expired thread does not count, even before it is erased.
    let owner = world.owner().await;
    let expire = "UPDATE recollect.threads SET expires_at = now() WHERE thread_id = $1";
    owner.execute(expire, &[&other.uuid()]).await.unwrap();
    assert_eq!(usage().await, StorageUsage::default());
    let of_other = store.usage(&caller_b).storage().await.unwrap();
    assert_eq!(of_other, StorageUsage::default());
}

#[tokio::test]
async fn a_retry_is_known_by_its_request_and_by_its_external_ids() {
    let world = World::new().await;
    let thread = world.thread_of("app", "ada", "key").await.id;
    let mut message = said(Role::User, "Hello!");
    message.message.external_id = "msg_1".to_owned();
    let request = RequestId::new();
    let append = Append {
        thread,
        messages: vec![message],
        request_id: Some(request),
        expected_head: None,
    };
    let stored = world.store.messages(&world.caller).append(&append).await;
    stored.unwrap();
    let session = session("app", "ada", "key");
    let of_session = (None, Some(&session));
    let known = async |kind: &str, request, place, external: &[&str]| {
        let usage = world.store.usage(&world.caller);
        usage
            .is_known(kind, request, place, external)
            .await
            .unwrap()
    };
    assert!(known("append", Some(request), (None, None), &[]).await);
    assert!(!known("append", Some(RequestId::new()), (None, None), &[]).await);
    // Each kind of write remembers its own.
    for kind in ["node_turn", "attempt", "events"] {
        assert!(!known(kind, Some(request), (None, None), &[]).await);
    }
    assert!(known("append", None, (Some(thread), None), &["msg_0", "msg_1"]).await);
    assert!(known("append", None, of_session, &["msg_1"]).await);
    assert!(!known("append", None, of_session, &["msg_0"]).await);
    let usage = world.store.usage(&world.caller);
    let nowhere = usage
        .is_known("append", None, (None, None), &["msg_1"])
        .await;
    assert!(!nowhere.unwrap());
}

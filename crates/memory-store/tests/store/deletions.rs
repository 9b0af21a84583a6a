//! Users, apps and tenants are deleted in steps that resume anywhere, with a receipt.

use std::{slice, time::Duration};

use memory_contract::{
    AppId, UserId,
    deletion::{DeletionScope, Receipt},
    memory::{MemoryOrigin, MemoryOwner, NewMemory},
    message::Role,
    policy::{MemoryPolicy, PolicyChange},
    precondition::Precondition,
};
use memory_store::StoreError;
use uuid::Uuid;

use crate::world::{Pause, World, caller, new_thread, said};

const MINUTE: Duration = Duration::from_secs(60);

fn ada() -> DeletionScope {
    DeletionScope::User(AppId::new("app"), UserId::new("ada"))
}

impl World {
    async fn add_memory(&self, app: &str, user: &str, text: &str) -> Result<(), StoreError> {
        let owner = MemoryOwner {
            app: AppId::new(app),
            user: UserId::new(user),
        };
        let memory = NewMemory {
            text: text.to_owned(),
            ..NewMemory::default()
        };
        self.store
            .memories(&self.caller)
            .add_memories(&owner, &[memory], MemoryOrigin::Caller, None)
            .await
            .map(drop)
    }

    async fn receipt(&self, id: Uuid) -> Receipt {
        let erasures = self.store.erasures(&self.caller);
        erasures.get(id).await.unwrap()
    }

    /// Does what workers do, as if each of their steps were another process's, until the
    /// deletion has finished.
    async fn finish(&self, id: Uuid) -> Receipt {
        let owner = self.owner().await;
        let mut steps = Vec::new();
        for _ in 0..60 {
            let receipt = self.receipt(id).await;
            if receipt.finished.is_some() {
                return receipt;
            }
            steps.push(receipt.step);
            // As after a crash, and a restart.
            self.workers
                .erasures(&self.store)
                .end_erasure_leases()
                .await
                .unwrap();
            let due = "UPDATE recollect.erasures SET available_at = clock_timestamp()";
            owner.execute(due, &[]).await.unwrap();
            self.workers
                .erasures(&self.store)
                .run_erasures()
                .await
                .unwrap();
            let claim = self.outbox.claim(500, MINUTE).await.unwrap();
            let jobs: Vec<i64> = claim.jobs.iter().map(|job| job.id).collect();
            self.outbox.ack(claim.lease, &jobs).await.unwrap();
            let outside = self
                .workers
                .erasures(&self.store)
                .claim_outside(1)
                .await
                .unwrap();
            for erasure in outside {
                assert_eq!(erasure.tenant, self.caller.tenant);
                let ended = self
                    .workers
                    .erasures(&self.store)
                    .end_outside(&erasure, Ok(false));
                ended.await.unwrap();
            }
        }
        panic!("it is not finished: {steps:?}");
    }

    async fn threads_of(&self, tenant: &str) -> i64 {
        let count = "SELECT count(*) FROM recollect.threads WHERE tenant_id = $1";
        let owner = self.owner().await;
        owner.query_one(count, &[&tenant]).await.unwrap().get(0)
    }
}

fn erased(receipt: &Receipt, name: &str) -> i64 {
    let place = receipt.places.iter().find(|place| place.name == name);
    place.unwrap_or_else(|| panic!("{name}")).erased
}

#[tokio::test]
async fn a_deleted_user_is_counted_and_nothing_is_created_meanwhile() {
    let world = World::new().await;
    let (store, us) = (&world.store, &world.caller);
    for (user, key) in [("ada", "1"), ("ada", "2"), ("bob", "3")] {
        let thread = world.thread_of("app", user, key).await.id;
        world.say_each(thread, 2, "word").await;
        world
            .add_memory("app", user, &format!("Likes {key}."))
            .await
            .unwrap();
    }
    // One that is being erased already belongs to the deletion, too.
    let before = world.thread_of("app", "ada", "4").await.id;
    world.say(before, Role::User, "Hello!").await;
    let owner = world.owner().await;
    let end = "SELECT recollect.delete_thread('a', 'ada', $1, false)";
    owner.execute(end, &[&before.uuid()]).await.unwrap();

    let id = store.erasures(us).delete(&ada()).await.unwrap();
    assert_eq!(store.erasures(us).delete(&ada()).await.unwrap(), id);
    let running = world.receipt(id).await;
    assert_eq!((running.scope, running.finished), (ada(), None));

    // Nothing can be created for the user; for others it can.
    let refused = |done: Result<(), StoreError>| {
        assert!(
            matches!(done, Err(StoreError::DeletionInProgress)),
            "{done:?}"
        );
    };
    let create = async |user: &str, key: &str| {
        let new = new_thread("app", user, key);
        store.threads(us).resolve_thread(&new).await.map(drop)
    };
    refused(create("ada", "1").await);
    refused(world.add_memory("app", "ada", "Comes back.").await);
    create("bob", "5").await.unwrap();
    world.add_memory("app", "bob", "Stays.").await.unwrap();

    let receipt = world.finish(id).await;
    for place in &receipt.places {
        assert_eq!(place.remaining, 0, "{receipt:?}");
    }
    for (name, expected) in [("threads", 3), ("messages", 5), ("memories", 2)] {
        assert_eq!(erased(&receipt, name), expected, "{name}");
    }
    assert_eq!(
        (receipt.step.as_str(), receipt.erased_threads.is_none()),
        ("done", true)
    );
    assert_eq!(world.threads_of("a").await, 2, "bob's");

    // The user may come back; the receipt stays as it was.
    create("ada", "1").await.unwrap();
    world.add_memory("app", "ada", "Comes back.").await.unwrap();
    let later = world.receipt(id).await;
    assert_eq!(later.places, receipt.places);
    assert_eq!(later.erased_threads.map(|threads| threads.len()), Some(3));
    let again = store.erasures(us).delete(&ada()).await.unwrap();
    assert_ne!(again, id);

    for (tenant, id) in [("a", Uuid::new_v4()), ("b", id)] {
        let unknown = store.erasures(&caller(tenant)).get(id).await;
        assert!(matches!(unknown, Err(StoreError::DeletionNotFound)));
    }
}

#[tokio::test]
async fn the_deletion_of_an_app_waits_for_a_thread_that_cannot_be_erased() {
    let world = World::new().await;
    let (store, us) = (&world.store, &world.caller);
    let held = world.thread_of("app", "ada", "1").await.id;
    world.say(held, Role::User, "Hello!").await;
    world.thread_of("other", "ada", "2").await;
    let policy = PolicyChange {
        replace: true,
        set: MemoryPolicy {
            recent_window: Some(3),
            ..MemoryPolicy::default()
        },
        ..PolicyChange::default()
    };
    let set = async |app: &str| {
        let policies = store.policies(us);
        let app = AppId::new(app);
        let set = policies.update_app_policy(&app, &Precondition::Unchecked, &policy);
        set.await.map(drop)
    };
    set("app").await.unwrap();
    let owner = world.owner().await;
    let refuse = "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'this row stays'; END $$;
         CREATE TRIGGER refuse BEFORE DELETE ON recollect.messages
             FOR EACH ROW EXECUTE FUNCTION public.refuse()";
    owner.batch_execute(refuse).await.unwrap();

    let app = DeletionScope::App(AppId::new("app"));
    let id = store.erasures(us).delete(&app).await.unwrap();
    try_everything(&world).await;
    let waiting = world.receipt(id).await;
    assert_eq!((waiting.step.as_str(), waiting.finished), ("rest", None));
    assert!(waiting.last_error.contains("this row stays"), "{waiting:?}");
    let left = waiting.places.iter().find(|place| place.name == "messages");
    assert_eq!(left.unwrap().remaining, 1);
    let read = store.threads(us).get_thread(held).await;
    assert!(matches!(read, Err(StoreError::ThreadNotFound)));
    assert!(matches!(
        set("app").await,
        Err(StoreError::DeletionInProgress)
    ));
    set("other").await.unwrap();
    let stats = store.erasures(us).stats().await.unwrap();
    assert_eq!((stats.waiting, stats.failing), (2, 1));

    let allow = "DROP TRIGGER refuse ON recollect.messages";
    owner.batch_execute(allow).await.unwrap();
    let receipt = world.finish(id).await;
    assert!(receipt.places.iter().all(|place| place.remaining == 0));
    assert_eq!(erased(&receipt, "app_policies"), 1);
    assert_eq!(receipt.last_error, "");
    assert_eq!(world.threads_of("a").await, 1, "the other app's");
    set("app").await.unwrap();
}

/// Lets workers try everything once.
async fn try_everything(world: &World) {
    let due =
        "UPDATE recollect.erasures SET available_at = clock_timestamp() WHERE lease_id IS NULL";
    for _ in 0..3 {
        world.owner().await.execute(due, &[]).await.unwrap();
        world
            .workers
            .erasures(&world.store)
            .run_erasures()
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_deleted_tenant_leaves_only_its_record() {
    let mut world = World::new().await;
    let other = world.thread_of("app", "ada", "1").await.id;
    world.say(other, Role::User, "Hello!").await;
    world.caller = caller("b");
    for key in ["1", "2"] {
        let thread = world.thread_of("app", key, key).await.id;
        world.say(thread, Role::User, "Hello!").await;
        world.add_memory("app", key, "Likes tea.").await.unwrap();
    }
    let erasures = world.store.erasures(&world.caller);
    let id = erasures.delete(&DeletionScope::Tenant).await.unwrap();
    let receipt = world.finish(id).await;
    assert!(receipt.places.iter().all(|place| place.remaining == 0));
    assert_eq!(
        (erased(&receipt, "threads"), erased(&receipt, "memories")),
        (2, 2)
    );
    let owner = world.owner().await;
    let mut left = Vec::new();
    for table in crate::schema::tables_with(&owner, "tenant_id").await {
        let any = format!("SELECT EXISTS (SELECT FROM recollect.{table} WHERE tenant_id = 'b')");
        if owner.query_one(&any, &[]).await.unwrap().get(0) {
            left.push(table);
        }
    }
    assert_eq!(left, ["erasures", "transactions"]);
    assert_eq!(world.threads_of("a").await, 1);
}

#[tokio::test]
async fn a_deletion_waits_for_memories_of_others_that_are_made_of_the_users_threads() {
    let world = World::new().await;
    let owner = world.owner().await;
    let pause = Pause::of_new_memories(&world).await;
    let thread = world.thread().await.id;
    let mut message = said(Role::User, "I like rum.");
    message.message.said_by = UserId::new("bob");
    let appended = world.append(thread, vec![message]).await.unwrap();
    let id = Uuid::new_v4();
    let begin = "SELECT recollect.begin_erasure('a', 'ada', $1, 'user', 'app', 'ada')";
    owner.execute(begin, &[&id]).await.unwrap();

    let bob = MemoryOwner {
        app: AppId::new("app"),
        user: UserId::new("bob"),
    };
    let rum = NewMemory {
        text: "Likes rum".to_owned(),
        sources: vec![appended.messages[0].id],
        ..NewMemory::default()
    };
    pause.begin().await;
    let memories = world.store.memories(&world.caller);
    let add = memories.add_memories(&bob, slice::from_ref(&rum), MemoryOrigin::Caller, None);
    let erase = async {
        world.wait_for_blocked(1).await;
        try_everything(&world).await;
        pause.end().await;
    };
    let (added, ()) = tokio::join!(add, erase);
    added.unwrap();
    let receipt = world.finish(id).await;
    assert!(receipt.places.iter().all(|place| place.remaining == 0));
    assert_eq!(erased(&receipt, "memory_sources"), 1);
    let left = "SELECT (SELECT count(*) FROM recollect.memories WHERE user_id = 'bob'),
                    (SELECT count(*) FROM recollect.memory_sources)";
    let left = owner.query_one(left, &[]).await.unwrap();
    let left: (i64, i64) = (left.get(0), left.get(1));
    assert_eq!(left, (1, 0));
}

//! Working memory: all is stored, or nothing.

use memory_contract::{
    ThreadId,
    json::JsonObject,
    memory::{ListedMemory, NewMemory},
    message::{Message, NewMessage, Role},
    precondition::Precondition,
};
use memory_store::{
    AppendError, CountedMessage, LedgerState, NamedModel, StoreError, WorkingMemory, WorkingPut,
    WorkingTarget,
};

use crate::world::{World, said, session};

/// Everything that a put writes to.
const TABLES: [&str; 9] = [
    "threads",
    "messages",
    "outbox",
    "distillates",
    "memories",
    "working_records",
    "working_memories",
    "distill_jobs",
    "transactions",
];

async fn read(world: &World, thread: ThreadId) -> WorkingMemory {
    let read = world
        .store
        .working_memories(&world.caller)
        .working_memory(thread, 500, 1 << 20);
    read.await.unwrap().0
}

pub fn put_of(messages: Vec<CountedMessage>) -> WorkingPut<'static> {
    WorkingPut {
        messages: Some(messages),
        contents: Vec::new(),
        context: Some(("They met.".to_owned(), 3)),
        memories: Some(vec![ListedMemory {
            content: NewMemory {
                text: "Ada is here.".to_owned(),
                ..NewMemory::default()
            },
            ..ListedMemory::default()
        }]),
        data: Some(JsonObject::parse(r#"{"n": 1}"#.to_owned()).unwrap()),
        ttl: Some(None),
        ttl_erases_thread: false,
        policy: None,
        model: Some(NamedModel {
            name: "gpt-4o",
            window: Some(128_000),
        }),
        precondition: Precondition::Unchecked,
    }
}

fn kept(memory: &WorkingMemory, from: usize) -> Vec<CountedMessage> {
    let keep = |one: &Message| CountedMessage {
        message: NewMessage {
            id: one.id,
            caller_chose_id: true,
            parts: one.parts.clone(),
            ..said(one.role, "").message
        },
        tokens: 10,
    };
    memory.messages[from..].iter().map(keep).collect()
}

#[tokio::test]
async fn a_put_that_fails_at_any_step_changes_nothing() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    for text in ["one", "two", "three"] {
        world.say(thread, Role::User, text).await;
    }
    let owner = world.owner().await;
    owner
        .batch_execute(
            "CREATE FUNCTION recollect.fail() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'on purpose'; END $$",
        )
        .await
        .unwrap();
    let before = read(&world, thread).await;
    let mut put = put_of(kept(&before, 2));
    put.messages
        .as_mut()
        .unwrap()
        .push(said(Role::Assistant, "four"));
    let target = WorkingTarget::Thread(thread);
    for table in TABLES {
        owner
            .batch_execute(&format!(
                "CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON recollect.{table}
                 FOR EACH ROW EXECUTE FUNCTION recollect.fail()"
            ))
            .await
            .unwrap();
        let failed = world
            .store
            .working_memories(&world.caller)
            .put_working_memory(&target, &put)
            .await;
        assert!(
            matches!(failed, Err(StoreError::Query { .. })),
            "{table}: {failed:?}"
        );
        owner
            .batch_execute(&format!("DROP TRIGGER fail ON recollect.{table}"))
            .await
            .unwrap();
        assert_eq!(read(&world, thread).await, before, "{table}");
        let memories = owner
            .query_one("SELECT count(*) FROM recollect.memories", &[])
            .await
            .unwrap();
        assert_eq!(memories.get::<_, i64>(0), 0, "{table}");
    }
    let done = world
        .store
        .working_memories(&world.caller)
        .put_working_memory(&target, &put)
        .await;
    let done = done.unwrap();
    assert_eq!((done.appended, done.covered), (vec![1], vec![]));
    let after = read(&world, thread).await;
    assert_eq!(
        (after.context.as_str(), after.messages.len()),
        ("They met.", 2)
    );
    assert_eq!(
        (after.model.as_str(), after.window),
        ("gpt-4o", Some(128_000))
    );
    let model = world
        .store
        .working_memories(&world.caller)
        .working_model(thread)
        .await;
    assert_eq!(model.unwrap(), ("gpt-4o".to_owned(), Some(128_000)));
    assert_eq!(after.policies.thread.message_count, 4);
}

#[tokio::test]
async fn a_put_that_fails_leaves_no_thread_behind() {
    let world = World::new().await;
    let other = world.thread().await.id;
    let taken = world.say(other, Role::User, "taken").await;
    let mut put = put_of(vec![said(Role::User, "new"), said(Role::User, "not new")]);
    put.messages.as_mut().unwrap()[1].message.id = taken;
    let session = session("app", "ada", "fresh");
    let target = WorkingTarget::Session(session.clone());
    let failed = world
        .store
        .working_memories(&world.caller)
        .put_working_memory(&target, &put)
        .await;
    assert!(
        matches!(failed, Err(StoreError::Append(AppendError::MessageExists { id })) if id == taken)
    );
    let found = world
        .store
        .threads(&world.caller)
        .find_thread(&session)
        .await;
    assert!(matches!(found, Err(StoreError::ThreadNotFound)));
    put.messages.as_mut().unwrap().truncate(1);
    let done = world
        .store
        .working_memories(&world.caller)
        .put_working_memory(&target, &put)
        .await;
    let found = world
        .store
        .threads(&world.caller)
        .find_thread(&session)
        .await;
    assert_eq!(done.unwrap().thread, found.unwrap().id);
}

#[tokio::test]
async fn a_put_and_concurrent_appends_lose_no_message() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    world.say(thread, Role::User, "first").await;
    let target = WorkingTarget::Thread(thread);
    let appends = async {
        for number in 0..20 {
            world
                .say(thread, Role::User, &format!("said {number}"))
                .await;
        }
    };
    let puts = async {
        let mut stored = 0;
        for number in 0..10 {
            let put = put_of(vec![said(Role::Assistant, &format!("put {number}"))]);
            match world
                .store
                .working_memories(&world.caller)
                .put_working_memory(&target, &put)
                .await
            {
                Ok(_) => stored += 1,
                Err(StoreError::EtagChanged { .. }) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
        stored
    };
    let ((), stored) = futures::join!(appends, puts);
    assert!(stored > 0);
    let memory = read(&world, thread).await;
    assert_eq!(memory.policies.thread.message_count, 21 + stored);
    let kind = memory_store::DistillKind::Summary;
    let ledger = world
        .store
        .distillates(&world.caller)
        .ledger(thread, None)
        .await
        .unwrap();
    let stretches = ledger.ranges(kind);
    let of = |state: LedgerState| -> i64 {
        let those = stretches.iter().filter(|one| one.state == state);
        those.map(|one| one.messages).sum()
    };
    assert_eq!(of(LedgerState::Raw), memory.message_count);
    assert_eq!(
        of(LedgerState::Raw) + of(LedgerState::SetAside),
        21 + stored
    );
}

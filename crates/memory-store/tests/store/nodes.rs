use std::time::{Duration, Instant};

use memory_agent_contract::node::{NewNodeMessage, NodeParent, NodePlace};
use memory_contract::message::Role;
use memory_objects::{Objects, ObjectsConfig, ObjectsError};
use memory_store::{Caller, Node, NodeTurn, Store, StoreError, TransactionQuery};
use tempfile::TempDir;

use crate::world::{Pause, World};

struct Nodes {
    world: World,
    store: Store,
    node: Node,
    _dir: TempDir,
}

impl Nodes {
    async fn new() -> Self {
        let world = World::new().await;
        let dir = tempfile::tempdir().unwrap();
        let mut config = ObjectsConfig::default();
        config.use_directory(dir.path());
        let objects = Objects::open(&config, 50).unwrap();
        let node = Node {
            thread: world.thread().await.id,
            id: "planner".to_owned(),
        };
        Self {
            store: world.store.clone().with_objects(Some(objects)),
            world,
            node,
            _dir: dir,
        }
    }

    fn caller(&self) -> &Caller {
        &self.world.caller
    }

    async fn add(&self, name: &str) {
        let said = |side: &str| NewNodeMessage {
            id: format!("{side}-{name}"),
            caller_chose_id: true,
            content: format!("{side} says {name}"),
            files: Vec::new(),
            created: None,
        };
        let turn = NodeTurn {
            node: self.node.clone(),
            app: memory_contract::AppId::new("app"),
            parent: NodeParent::Follow,
            place: NodePlace::Head,
            messages: [said("user"), said("assistant")],
            tokens: [3, 3],
            contents: None,
            request_id: None,
            ttl: None,
        };
        self.store
            .nodes(self.caller())
            .add_node_turn(&turn)
            .await
            .unwrap();
    }

    async fn flush(&self) -> u64 {
        self.store
            .nodes(self.caller())
            .flush_node(&self.node, soon())
            .await
            .unwrap()
    }

    async fn dialogue(&self) -> Vec<String> {
        let path = self
            .store
            .nodes(self.caller())
            .node_dialogue(&self.node, "", soon())
            .await;
        path.unwrap()
            .into_iter()
            .map(|message| message.id)
            .collect()
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

const TABLES: [&str; 2] = ["node_memories", "node_turns"];

#[tokio::test]
async fn a_flush_cut_off_after_its_write_is_done_again_without_doubles() {
    let nodes = Nodes::new().await;
    let owner = nodes.world.owner().await;
    let mut expected = Vec::new();
    for name in ["first", "second"] {
        nodes.add(name).await;
        for table in TABLES {
            let keep = format!("CREATE TEMP TABLE kept_{table} AS SELECT * FROM recollect.{table}");
            owner.batch_execute(&keep).await.unwrap();
        }
        assert_eq!(nodes.flush().await, 1);
        // The object is written, and the database knows nothing of it.
        for table in TABLES {
            let restore = format!(
                "DELETE FROM recollect.{table};
                 INSERT INTO recollect.{table} OVERRIDING SYSTEM VALUE SELECT * FROM kept_{table};
                 DROP TABLE kept_{table};"
            );
            owner.batch_execute(&restore).await.unwrap();
        }
        expected.extend([format!("user-{name}"), format!("assistant-{name}")]);
        assert_eq!(nodes.dialogue().await, expected);
        assert_eq!(nodes.flush().await, 1);
        assert_eq!(nodes.flush().await, 0);
        assert_eq!(nodes.dialogue().await, expected);
    }
}

#[tokio::test]
async fn a_flush_of_a_memory_that_was_cleared_meanwhile_is_not_noted() {
    let nodes = Nodes::new().await;
    nodes.add("old").await;
    let owner = nodes.world.owner().await;
    let ordinal = "SELECT ordinal FROM recollect.node_memories";
    let before: i64 = owner.query_one(ordinal, &[]).await.unwrap().get(0);
    nodes
        .store
        .nodes(nodes.caller())
        .clear_node(&nodes.node)
        .await
        .unwrap();
    nodes.add("new").await;
    let service = nodes.world.role("recollect_service").await;
    let noted: bool = service
        .query_one(
            "SELECT recollect.record_node_flush($1, $2, 'planner', $3, '{}', 'etag', 10)
             FROM set_config('recollect.tenant', $1, false)",
            &[
                &nodes.caller().tenant.as_str(),
                &nodes.node.thread.uuid(),
                &before,
            ],
        )
        .await
        .unwrap()
        .get(0);
    assert!(!noted);
    assert_eq!(nodes.dialogue().await, ["user-new", "assistant-new"]);
}

#[tokio::test]
async fn a_turn_is_read_also_while_a_flush_takes_it_away() {
    let nodes = Nodes::new().await;
    let mut owner = nodes.world.owner().await;
    nodes.add("first").await;
    let keep = |name: &str, table: &str| {
        format!("CREATE TEMP TABLE {name} AS SELECT * FROM recollect.{table};")
    };
    let both = keep("memories_before", "node_memories") + &keep("turns_before", "node_turns");
    owner.batch_execute(&both).await.unwrap();
    nodes.flush().await;
    let restore = keep("memories_after", "node_memories")
        + "DELETE FROM recollect.node_memories;
           INSERT INTO recollect.node_memories OVERRIDING SYSTEM VALUE SELECT * FROM memories_before;
           INSERT INTO recollect.node_turns OVERRIDING SYSTEM VALUE SELECT * FROM turns_before;";
    owner.batch_execute(&restore).await.unwrap();
    let expected = ["user-first", "assistant-first"];
    assert_eq!(nodes.dialogue().await, expected);

    // A flush ends while a read has seen the memory and not yet its turns.
    let flush = owner.transaction().await.unwrap();
    let lock = "LOCK TABLE recollect.node_turns IN ACCESS EXCLUSIVE MODE";
    flush.batch_execute(lock).await.unwrap();
    let end = async {
        let waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted
                     AND relation = 'recollect.node_turns'::regclass)";
        while !flush.query_one(waits, &[]).await.unwrap().get::<_, bool>(0) {}
        let fold = "DELETE FROM recollect.node_turns;
                    DELETE FROM recollect.node_memories;
                    INSERT INTO recollect.node_memories OVERRIDING SYSTEM VALUE
                    SELECT * FROM memories_after;";
        flush.batch_execute(fold).await.unwrap();
        flush.commit().await.unwrap();
    };
    let (dialogue, ()) = tokio::join!(nodes.dialogue(), end);
    assert_eq!(dialogue, expected);
}

#[tokio::test]
async fn an_object_is_erased_again_until_no_write_of_it_may_be_under_way() {
    let nodes = Nodes::new().await;
    let owner = nodes.world.owner().await;
    let count = async |table: &str| {
        let count = format!("SELECT count(*) FROM recollect.{table}");
        owner.query_one(&count, &[]).await.unwrap().get::<_, i64>(0)
    };
    nodes.add("first").await;
    nodes.flush().await;
    assert_eq!(count("object_writes").await, 0, "the store has answered");
    // As a write leaves it that has timed out.
    let unanswered = "INSERT INTO recollect.object_writes (tenant_id, object_key, write_id)
        SELECT tenant_id, object_key, gen_random_uuid() FROM recollect.node_memories
        RETURNING object_key";
    let key: String = owner.query_one(unanswered, &[]).await.unwrap().get(0);
    let objects = nodes.store.objects().unwrap();
    let exists = async || objects.read(&key, None).await.unwrap().is_some();
    let clear = nodes.store.nodes(nodes.caller()).clear_node(&nodes.node);
    assert_eq!(clear.await.unwrap(), 2);
    assert!(!exists().await);
    assert_eq!(count("object_deletions").await, 1);

    let late = objects.write(&key, b"late".to_vec(), None, None);
    late.await.unwrap();
    assert!(exists().await);
    let erase = async || {
        let due = "UPDATE recollect.object_deletions SET available_at = clock_timestamp()";
        owner.batch_execute(due).await.unwrap();
        let workers = &nodes.world.workers;
        workers.nodes(&nodes.store).erase_objects(10).await.unwrap()
    };
    assert_eq!(erase().await, 1);
    assert!(!exists().await);
    assert_eq!(count("object_deletions").await, 1);

    let age = "UPDATE recollect.object_writes SET began_at = began_at - interval '2 hours'";
    owner.batch_execute(age).await.unwrap();
    assert_eq!(erase().await, 1);
    assert_eq!(count("object_deletions").await, 0);
    let swept = nodes
        .world
        .workers
        .nodes(&nodes.store)
        .sweep_object_writes(10)
        .await;
    assert_eq!(swept.unwrap(), 1);
    assert_eq!(count("object_writes").await, 0);
}

#[tokio::test]
async fn a_thread_is_cleared_after_the_turn_that_is_being_added() {
    let nodes = Nodes::new().await;
    let (world, thread) = (&nodes.world, nodes.node.thread);
    let asked = world.say(thread, Role::User, "Plan it.").await;
    world.say(thread, Role::Assistant, "Done.").await;
    let threads = world.store.threads(&world.caller);
    threads.set_head(thread, asked, None).await.unwrap();
    let seqs_below = "
        CREATE OR REPLACE FUNCTION recollect.seqs_below(
            p_tenant text, p_thread uuid, p_branch integer, p_depth integer
        )
        RETURNS TABLE (seq bigint)
        LANGUAGE plpgsql STABLE AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock_shared(4711);
            RETURN QUERY
            SELECT m.seq FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
                AND m.branch = p_branch AND m.depth = p_depth + 1;
        END;
        $$;";
    let pause = Pause::new(world, seqs_below).await;
    pause.begin().await;
    let clear = async {
        world.wait_for_blocked(1).await;
        let threads = world.store.threads(&world.caller);
        threads.clear_thread(thread).await.unwrap();
    };
    let go_on = async {
        // The turn waits for the pause, and the clearing for the turn.
        world.wait_for_blocked(2).await;
        pause.end().await;
    };
    tokio::join!(nodes.add("meanwhile"), clear, go_on);
    let kept = nodes.store.nodes(nodes.caller()).node_messages(&nodes.node);
    assert!(kept.await.unwrap().is_empty());
}

#[tokio::test]
async fn an_expired_memory_leaves_no_turn_waiting() {
    let nodes = Nodes::new().await;
    let owner = nodes.world.owner().await;
    nodes.add("gone").await;
    let expire = "UPDATE recollect.node_memories SET expires_at = clock_timestamp()";
    owner.batch_execute(expire).await.unwrap();
    let other = Node {
        id: "writer".to_owned(),
        ..nodes.node.clone()
    };
    let nodes = Nodes {
        node: other,
        ..nodes
    };
    nodes.add("waits").await;
    let workers = &nodes.world.workers;
    let flushed = workers
        .nodes(&nodes.store)
        .flush_forgotten(Duration::ZERO, 1)
        .await;
    assert_eq!(flushed.unwrap(), 1);
}

#[tokio::test]
async fn a_deletion_spares_an_object_that_is_in_use_again() {
    let nodes = Nodes::new().await;
    let owner = nodes.world.owner().await;
    nodes.add("old").await;
    nodes.flush().await;
    // Erased with the thread's other messages, which waits for no object.
    nodes
        .store
        .threads(nodes.caller())
        .clear_thread(nodes.node.thread)
        .await
        .unwrap();
    assert!(nodes.dialogue().await.is_empty());
    nodes.add("new").await;
    nodes.flush().await;
    let erased = nodes
        .world
        .workers
        .nodes(&nodes.store)
        .erase_objects(10)
        .await;
    assert_eq!(erased.unwrap(), 1);
    let left = "SELECT count(*) FROM recollect.object_deletions";
    let left: i64 = owner.query_one(left, &[]).await.unwrap().get(0);
    assert_eq!(left, 0);
    assert_eq!(nodes.dialogue().await, ["user-new", "assistant-new"]);
}

#[tokio::test]
async fn turns_that_are_added_during_flushes_are_all_kept() {
    let nodes = Nodes::new().await;
    let writers = (0..4).map(|writer| {
        let nodes = &nodes;
        async move {
            for number in 0..8 {
                nodes.add(&format!("{writer}-{number}")).await;
                if number % 3 == 0 {
                    nodes.flush().await;
                }
            }
        }
    });
    futures::future::join_all(writers).await;
    nodes.flush().await;
    let mut dialogue = nodes.dialogue().await;
    assert_eq!(dialogue.len(), 64);
    dialogue.sort();
    dialogue.dedup();
    assert_eq!(dialogue.len(), 64);
}

#[tokio::test]
async fn a_memory_that_had_expired_when_a_turn_came_is_recorded_and_erased_with_its_copies() {
    let mut nodes = Nodes::new().await;
    nodes.add("one").await;
    let owner = nodes.world.owner().await;
    owner
        .batch_execute(
            "UPDATE recollect.node_memories SET expires_at = now();
             INSERT INTO recollect.node_copies (tenant_id, thread_id, node_id, object_key)
             SELECT tenant_id, thread_id, node_id, 'a copy' FROM recollect.node_memories",
        )
        .await
        .unwrap();
    nodes.world.caller.actor = "backend".to_owned();
    nodes.add("two").await;
    let query = TransactionQuery {
        limit: 3,
        ..TransactionQuery::default()
    };
    let page = nodes
        .store
        .audit(nodes.caller())
        .list_transactions(&query)
        .await;
    let noted: Vec<_> = page
        .unwrap()
        .items
        .into_iter()
        .map(|it| format!("{} {} {}", it.actor, it.action, it.item_count))
        .collect();
    assert_eq!(
        noted,
        [
            "backend add_node_turn 1",
            "worker expire_node_memory 2",
            "worker add_node_turn 1"
        ]
    );
    assert_eq!(nodes.dialogue().await, ["user-two", "assistant-two"]);
    let row = owner
        .query_one("SELECT count(*) FROM recollect.node_copies", &[])
        .await
        .unwrap();
    assert_eq!(row.get::<_, i64>(0), 0);
}

#[tokio::test]
async fn without_a_place_for_objects_a_turn_is_refused() {
    let nodes = Nodes::new().await;
    let answer = nodes
        .world
        .store
        .nodes(nodes.caller())
        .flush_node(&nodes.node, soon())
        .await;
    assert!(matches!(answer, Err(StoreError::NoObjectStore)));
}

#[test]
fn a_place_that_cannot_be_used_names_its_key() {
    for (url, options, key) in [
        ("nowhere", None, "url"),
        ("ftp://host/path", None, "url"),
        ("file:///proc/nowhere", None, "url"),
        ("s3://bucket", Some("aws_regoin"), "options"),
    ] {
        let config = ObjectsConfig {
            url: url.to_owned(),
            options: options
                .map(|name| (name.to_owned(), "x".to_owned().into()))
                .into_iter()
                .collect(),
            ..ObjectsConfig::default()
        };
        match Objects::open(&config, 50) {
            Err(ObjectsError::Config { key: found, .. }) => assert_eq!(found, key, "{url}"),
            other => panic!("{url}: {other:?}"),
        }
    }
}

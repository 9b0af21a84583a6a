//! Compares the databases that `migrate` makes, by their catalogs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use memory_agent_contract::{
    checkpoint::{ChannelValue, Encoded, NewCheckpoint, TaskWrite},
    node::{NewNodeMessage, NodeParent, NodePlace},
    plan::{NewAgentEvent, NewAttempt, NewPlan},
};
use memory_contract::{
    AppId, RequestId, ThreadId,
    json::JsonObject,
    message::{Parent, Role},
    policy::{ExtractionStrategy, MemoryPolicy},
    text::bare_text,
};
use memory_objects::{Objects, ObjectsConfig};
use memory_store::{
    Append, Extraction, Fact, HistoryQuery, Node, NodeTurn, Store, StoreError, WorkingTarget,
    migrate,
};
use sha2::{Digest as _, Sha256};
use tokio_postgres::{Client, types::Json};

use crate::{
    cluster,
    queries::sql_files,
    working::put_of,
    world::{World, after, config, connect, said},
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../memory-database");

/// Applies schema files to an empty database, as an earlier version did.
async fn apply_schema(owner: &Client, files: &[PathBuf]) {
    for (number, file) in (1_i32..).zip(files) {
        let sql = fs::read_to_string(file).unwrap();
        owner.batch_execute(&sql).await.unwrap();
        let digest = Sha256::digest(&sql);
        let sha256: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let insert =
            "INSERT INTO recollect.schema_files (number, name, sha256) VALUES ($1, '', $2)";
        owner.execute(insert, &[&number, &sha256]).await.unwrap();
    }
}

#[tokio::test]
async fn an_upgraded_database_equals_a_new_one() {
    let url = cluster::empty_database();
    let owner = connect(&url).await;
    // The version before: without the last schema file, and with other functions.
    let files = sql_files(&Path::new(ROOT).join("schema"));
    let (last, earlier) = files.split_last().unwrap();
    apply_schema(&owner, earlier).await;
    owner
        .batch_execute(
            "INSERT INTO recollect.schema_releases (sha256) VALUES ('earlier');
             CREATE FUNCTION recollect.is_tip(p_tenant text, p_thread uuid, p_branch integer, p_depth integer)
             RETURNS boolean LANGUAGE sql AS 'SELECT false'",
        )
        .await
        .unwrap();
    let reports = migrate(&config(&url)).await.unwrap();
    let last = last.strip_prefix(ROOT).unwrap().to_str().unwrap();
    assert_eq!(reports[0].applied, [last, "functions"]);
    assert_eq!(reports[0].version as usize, files.len());
    assert_eq!(
        cluster::catalog(&url),
        cluster::catalog(&cluster::database())
    );
}

#[tokio::test]
async fn changed_functions_are_applied_again_and_newer_databases_are_left_alone() {
    let url = cluster::database();
    let owner = connect(&url).await;
    let whole = cluster::catalog(&url);
    assert!(migrate(&config(&url)).await.unwrap()[0].applied.is_empty());
    owner
        .batch_execute(
            "DROP FUNCTION recollect.history; ALTER TABLE recollect.files NO FORCE ROW LEVEL SECURITY;
             DROP POLICY tenant ON recollect.files;
             INSERT INTO recollect.schema_releases (sha256) VALUES ('another')",
        )
        .await
        .unwrap();
    let reports = migrate(&config(&url)).await.unwrap();
    assert_eq!(reports[0].applied, ["functions"]);
    assert_eq!(cluster::catalog(&url), whole);

    owner
        .batch_execute(
            "INSERT INTO recollect.schema_files (number, name, sha256)
             SELECT max(number) + 1, 'later', '' FROM recollect.schema_files;
             INSERT INTO recollect.schema_releases (sha256) VALUES ('later')",
        )
        .await
        .unwrap();
    let newer = migrate(&config(&url)).await.unwrap();
    assert!(newer[0].applied.is_empty());
    assert_eq!(newer[0].version, reports[0].version + 1);
    assert!(memory_store::Store::connect(&config(&url)).await.is_ok());
}

#[tokio::test]
async fn an_older_version_leaves_the_functions_of_a_newer_one_and_works_with_them() {
    let url = cluster::database();
    let owner = connect(&url).await;
    let newest = "SELECT release FROM recollect.schema_releases ORDER BY id DESC LIMIT 1";
    let own: String = owner.query_one(newest, &[]).await.unwrap().get(0);
    assert_eq!(own, env!("CARGO_PKG_VERSION"));
    let record = async |release: &str| {
        let sql = "INSERT INTO recollect.schema_releases (sha256, release) VALUES ('other', $1)";
        owner.execute(sql, &[&release]).await.unwrap();
    };

    // Only a newer version was applied, with the same schema.
    let newer = "DELETE FROM recollect.schema_releases; DROP FUNCTION recollect.history;
                 CREATE FUNCTION recollect.newer() RETURNS integer LANGUAGE sql AS 'SELECT 1'";
    owner.batch_execute(newer).await.unwrap();
    record("999.10.0").await;
    let before = cluster::catalog(&url);
    let reports = migrate(&config(&url)).await.unwrap();
    assert_eq!(reports[0].newer.as_deref(), Some("999.10.0"));
    assert!(reports[0].applied.is_empty(), "{reports:?}");
    assert_eq!(cluster::catalog(&url), before);
    memory_store::Store::connect(&config(&url)).await.unwrap();

    // An older one, one of the same number, and one that recorded no number.
    for release in ["0.0.9", own.as_str(), ""] {
        owner
            .execute("DELETE FROM recollect.schema_releases", &[])
            .await
            .unwrap();
        record(release).await;
        let refused = memory_store::Store::connect(&config(&url)).await;
        assert!(matches!(refused, Err(StoreError::Migration { .. })));
        let reports = migrate(&config(&url)).await.unwrap();
        assert_eq!(reports[0].applied, ["functions"], "{release}");
        assert_eq!(reports[0].newer, None);
        memory_store::Store::connect(&config(&url)).await.unwrap();
    }
}

#[tokio::test]
async fn a_release_works_with_a_field_of_messages_that_a_newer_one_added() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    world.say(thread, Role::User, "before").await;
    let read = async |store: &Store| {
        let query = HistoryQuery {
            thread,
            head: None,
            max_tokens: i64::MAX,
            limit: 10,
        };
        let history = store.messages(&world.caller).history(&query).await.unwrap();
        let texts = history.messages.iter().map(|one| bare_text(&one.parts));
        texts.collect::<Vec<_>>()
    };
    assert_eq!(read(&world.store).await, ["before"]);
    let fields = "SELECT string_agg('m.' || attname, ', ' ORDER BY attnum) FROM pg_attribute
        WHERE attrelid = 'recollect.message'::regclass AND attnum > 0 AND NOT attisdropped";
    let owner = world.owner().await;
    let fields: String = owner.query_one(fields, &[]).await.unwrap().get(0);
    let newer = format!(
        "BEGIN;
         ALTER TYPE recollect.new_message ADD ATTRIBUTE note text;
         ALTER TYPE recollect.message ADD ATTRIBUTE note text;
         CREATE OR REPLACE FUNCTION recollect.readable(m recollect.messages) RETURNS recollect.message
         LANGUAGE sql IMMUTABLE AS 'SELECT ROW({fields}, chr(110))::recollect.message';
         COMMIT"
    );
    owner.batch_execute(&newer).await.unwrap();
    // Connections that knew the types before, and new ones.
    world.say(thread, Role::User, "between").await;
    let other = Store::connect(&config(&world.url)).await.unwrap();
    for store in [&world.store, &other] {
        assert_eq!(read(store).await, ["between", "before"]);
    }
}

#[tokio::test]
async fn a_failed_migration_changes_nothing() {
    let url = cluster::empty_database();
    let owner = connect(&url).await;
    // The functions of the last files cannot replace this one.
    owner
        .batch_execute(
            "CREATE SCHEMA recollect;
             CREATE FUNCTION recollect.sweep_working_memory(p_tenant text, p_actor text, p_thread uuid)
             RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        )
        .await
        .unwrap();
    let before = cluster::catalog(&url);
    let Err(StoreError::Migration { why, .. }) = migrate(&config(&url)).await else {
        panic!("it has to fail");
    };
    assert!(why.contains("functions/working/sweep.sql"), "{why}");
    assert_eq!(cluster::catalog(&url), before);
}

#[tokio::test]
async fn a_database_without_a_record_of_its_schema_is_refused_with_instructions() {
    let url = cluster::empty_database();
    let owner = connect(&url).await;
    owner
        .batch_execute(
            "CREATE SCHEMA recollect; CREATE TABLE recollect.schema_history (version integer)",
        )
        .await
        .unwrap();
    let error = migrate(&config(&url)).await.unwrap_err().to_string();
    assert!(error.contains("create a new database"), "{error}");
}

#[tokio::test]
async fn sql_reads_policies_by_the_names_that_rust_writes() {
    let world = World::new().await;
    let owner = world.owner().await;
    let policy = MemoryPolicy {
        ttl: Some(std::time::Duration::from_millis(90_500)),
        rebuild_expired: Some(true),
        extraction: Some(ExtractionStrategy::Summary),
        ..MemoryPolicy::default()
    };
    let sql =
        "SELECT f.ttl_seconds, f.rebuild_expired, f.extraction FROM recollect.policy_fields($1) f";
    let row = owner.query_one(sql, &[&Json(policy)]).await.unwrap();
    assert_eq!(row.get::<_, f64>(0), 90.5);
    assert!(row.get::<_, bool>(1));
    assert_eq!(row.get::<_, &str>(2), "summary");

    let policy = MemoryPolicy {
        memory_space: Some("desk".to_owned()),
        ..MemoryPolicy::default()
    };
    let sql =
        "INSERT INTO recollect.app_policies (tenant_id, app_id, policy) VALUES ('acme', 'app', $1)
               RETURNING memory_space";
    let row = owner.query_one(sql, &[&Json(policy)]).await.unwrap();
    assert_eq!(row.get::<_, &str>(0), "desk");
}

/// The tables with a column, from the catalog.
pub async fn tables_with(owner: &Client, column: &str) -> Vec<String> {
    let sql = "SELECT c.table_name::text FROM information_schema.columns c
               WHERE c.table_schema = 'recollect' AND c.column_name = $1 ORDER BY 1";
    let rows = owner.query(sql, &[&column]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// The tables of `tables` that have a row of a thread.
async fn with_rows_of(owner: &Client, tables: &[String], thread: ThreadId) -> Vec<String> {
    let mut found = Vec::new();
    for table in tables {
        let sql = format!("SELECT EXISTS (SELECT FROM recollect.{table} WHERE thread_id = $1)");
        let row = owner.query_one(&sql, &[&thread.uuid()]).await.unwrap();
        if row.get(0) {
            found.push(table.clone());
        }
    }
    found
}

#[tokio::test]
async fn a_deleted_thread_leaves_rows_only_where_its_end_is_recorded() {
    let world = World::new().await;
    let (store, caller) = (&world.store, &world.caller);
    let owner = world.owner().await;
    let subscription =
        "INSERT INTO recollect.subscriptions (tenant_id, name, app_id, user_id, actions, url)
                        VALUES ($1, 'all', '', '', '{}', '')";
    owner
        .execute(subscription, &[&caller.tenant.as_str()])
        .await
        .unwrap();
    let thread = world.thread().await.id;
    let append = Append {
        thread,
        messages: vec![
            said(Role::User, "I moved to Rome."),
            after(Parent::Root, Role::User, "I moved to Oslo."),
        ],
        request_id: Some(RequestId::new()),
        expected_head: None,
    };
    let appended = store.messages(caller).append(&append).await.unwrap();
    let fact = Fact {
        text: "Lives in Oslo.".to_owned(),
        sources: vec![appended.messages[1].id],
        ..Fact::default()
    };
    let extraction = Extraction {
        thread,
        generation: 0,
        to_seq: 2,
        facts: vec![fact],
        made_by: "extractive".to_owned(),
        strategy: ExtractionStrategy::Discrete,
        built_on: Vec::new(),
    };
    store
        .memories(caller)
        .store_extracted(&extraction)
        .await
        .unwrap();
    let target = WorkingTarget::Thread(thread);
    let put = put_of(vec![said(Role::User, "Hello again.")]);
    store
        .working_memories(caller)
        .put_working_memory(&target, &put)
        .await
        .unwrap();
    let plan = NewPlan {
        goal: "goal".to_owned(),
        current_phase: String::new(),
        iteration_count: 0,
        steps: Vec::new(),
        data: JsonObject::default(),
    };
    store
        .plans(caller)
        .put_plan(thread, &Default::default(), &plan)
        .await
        .unwrap();
    let attempt = NewAttempt {
        task: String::new(),
        action: "action".to_owned(),
        result: String::new(),
        error: String::new(),
        diagnosis: String::new(),
        fix: String::new(),
    };
    store
        .plans(caller)
        .append_attempt(thread, attempt, None)
        .await
        .unwrap();
    let event = NewAgentEvent {
        kind: "started".to_owned(),
        json: String::new(),
        created: None,
        message: None,
    };
    store
        .plans(caller)
        .append_events(thread, &[event], None)
        .await
        .unwrap();
    let of_node = |id: &str| NewNodeMessage {
        id: id.to_owned(),
        caller_chose_id: true,
        content: "step".to_owned(),
        files: Vec::new(),
        created: None,
    };
    let turn = NodeTurn {
        node: Node {
            thread,
            id: "planner".to_owned(),
        },
        app: AppId::new("app"),
        parent: NodeParent::Follow,
        place: NodePlace::Head,
        messages: [of_node("question"), of_node("answer")],
        tokens: [1, 1],
        contents: None,
        request_id: Some(RequestId::new()),
        ttl: None,
    };
    let directory = tempfile::tempdir().unwrap();
    let mut objects = ObjectsConfig::default();
    objects.use_directory(directory.path());
    let with_objects = store
        .clone()
        .with_objects(Some(Objects::open(&objects, 50).unwrap()));
    with_objects
        .nodes(caller)
        .add_node_turn(&turn)
        .await
        .unwrap();
    // A copy is only made of an object that cannot be read.
    let copy = "INSERT INTO recollect.node_copies (tenant_id, thread_id, node_id, object_key)
                VALUES ($1, $2, 'planner', 'copy')";
    owner
        .execute(copy, &[&caller.tenant.as_str(), &thread.uuid()])
        .await
        .unwrap();

    // Nothing was built on what is erased.
    let again = "INSERT INTO recollect.extract_again (tenant_id, thread_id, message_id)
                 VALUES ($1, $2, gen_random_uuid())";
    owner
        .execute(again, &[&caller.tenant.as_str(), &thread.uuid()])
        .await
        .unwrap();

    let range = "INSERT INTO recollect.memory_ranges
                     (tenant_id, thread_id, branch, after_depth, to_depth, based_on)
                 VALUES ($1, $2, 1, 0, 1, '{}')";
    owner
        .execute(range, &[&caller.tenant.as_str(), &thread.uuid()])
        .await
        .unwrap();

    let value = |bytes: usize| Encoded {
        kind: "bytes".to_owned(),
        data: vec![7; bytes],
    };
    let checkpoint = NewCheckpoint {
        allow_missing_parent: false,
        namespace: String::new(),
        id: "1".to_owned(),
        parent: String::new(),
        body: value(1),
        metadata: "{}".to_owned(),
        kept: Vec::new(),
        values: vec![ChannelValue {
            channel: "c".to_owned(),
            version: "1".to_owned(),
            // In chunks.
            value: value(5_000),
        }],
    };
    let checkpoints = || store.checkpoints(caller);
    checkpoints()
        .put_checkpoint(thread, &checkpoint)
        .await
        .unwrap();
    let write = TaskWrite {
        task: "t".to_owned(),
        path: String::new(),
        index: 0,
        channel: "c".to_owned(),
        value: value(1),
    };
    checkpoints()
        .put_writes(thread, "", "1", &[write], false)
        .await
        .unwrap();

    let mut tables = tables_with(&owner, "thread_id").await;
    tables.retain(|table| table != "object_deletions");
    assert_eq!(with_rows_of(&owner, &tables, thread).await, tables);
    store.threads(caller).delete_thread(thread).await.unwrap();
    tables.push("object_deletions".to_owned());
    // The queues to the index, to subscribers and to object storage, and the record of changes.
    assert_eq!(
        with_rows_of(&owner, &tables, thread).await,
        [
            "outbox",
            "subscription_events",
            "transactions",
            "object_deletions"
        ]
    );
}

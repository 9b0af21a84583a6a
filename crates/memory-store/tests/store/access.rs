//! Keys, secrets and transactions: what the roles may do, and what is forgotten.

use std::time::Duration;

use memory_contract::{
    key::{KeyBounds, KeyScope, KeyScopes},
    message::Role,
};
use memory_store::{NewApiKey, TransactionQuery, WorkerStore};
use secrecy::ExposeSecret as _;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use tokio_postgres::Client;

use crate::world::{World, caller, config, new_thread};

fn key(name: &str, expires: Option<OffsetDateTime>) -> NewApiKey {
    NewApiKey {
        name: name.to_owned(),
        scopes: KeyScopes::from_iter([KeyScope::Delete, KeyScope::Read]),
        bounds: KeyBounds::default(),
        expires,
    }
}

#[tokio::test]
async fn one_function_alone_sees_keys_of_all_tenants() {
    let world = World::new().await;
    let (_, secret) = world
        .store
        .keys(&world.caller)
        .create_api_key(&key("backend", None))
        .await
        .unwrap();
    let digest = Sha256::digest(secret.expose_secret()).to_vec();
    let ask = "SELECT tenant_id, name, scopes FROM recollect.authenticate($1)";

    let service = world.role("recollect_service").await;
    let rows = service.query(ask, &[&digest]).await.unwrap();
    assert_eq!(rows.len(), 1);
    let found: (String, String, Vec<String>) = (rows[0].get(0), rows[0].get(1), rows[0].get(2));
    assert_eq!(
        found,
        (
            "a".to_owned(),
            "backend".to_owned(),
            vec!["read".to_owned(), "delete".to_owned()],
        )
    );
    let other = vec![0_u8; 32];
    assert!(service.query(ask, &[&other]).await.unwrap().is_empty());

    let denied = async |role: &str, sql: &str| {
        let error = world.role(role).await.query(sql, &[]).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "42501", "{role}: {sql}");
    };
    denied("recollect_service", "SELECT digest FROM recollect.api_keys").await;
    denied(
        "recollect_service",
        "UPDATE recollect.api_keys SET scopes = '{admin}'",
    )
    .await;
    for role in ["recollect_worker", "recollect_search"] {
        denied(role, "SELECT name FROM recollect.api_keys").await;
        denied(role, "SELECT name FROM recollect.secrets").await;
        denied(role, "SELECT * FROM recollect.authenticate('\\x00')").await;
    }
    denied(
        "recollect_auth",
        "SELECT created_at FROM recollect.api_keys",
    )
    .await;
    denied("recollect_auth", "SELECT name FROM recollect.secrets").await;
    denied("recollect_auth", "DELETE FROM recollect.api_keys").await;
    // No role can change or delete the entries of the audit log.
    denied("recollect_service", "DELETE FROM recollect.transactions").await;
    denied(
        "recollect_service",
        "UPDATE recollect.transactions SET actor = 'x'",
    )
    .await;
    denied(
        "recollect_worker",
        "SELECT actor FROM recollect.transactions",
    )
    .await;
}

#[tokio::test]
async fn an_expired_key_is_refused_and_lookups_are_cached() {
    let world = World::new().await;
    let soon = OffsetDateTime::now_utc() - time::Duration::seconds(1);
    let make = async |name: &str, expires| {
        let made = world
            .store
            .keys(&world.caller)
            .create_api_key(&key(name, expires))
            .await;
        let digest: [u8; 32] = Sha256::digest(made.unwrap().1.expose_secret()).into();
        digest
    };
    let (expired, good) = (make("old", Some(soon)).await, make("new", None).await);
    let keys = world.store.authenticator();
    assert_eq!(keys.caller(expired).await.unwrap(), None);
    let holder = keys.caller(good).await.unwrap().unwrap();
    assert_eq!(holder.tenant, caller("a").tenant);
    let scopes: Vec<KeyScope> = holder.scopes.into();
    assert_eq!(scopes, [KeyScope::Read, KeyScope::Delete]);

    // Cached: the row is gone, which only an authenticator without the key in its cache
    // notices.
    world
        .store
        .keys(&world.caller)
        .revoke_api_key("new")
        .await
        .unwrap();
    assert!(keys.caller(good).await.unwrap().is_some());
    let others = world.store.authenticator();
    assert_eq!(others.caller(good).await.unwrap(), None);
}

#[tokio::test]
async fn old_transactions_are_forgotten_and_new_ones_are_not() {
    let world = World::new().await;
    let backend = world.caller_named("backend");
    let new = new_thread("app", "ada", "session:1");
    let created = world.store.threads(&backend).create_thread(&new);
    let thread = created.await.unwrap().id;
    world.say(thread, Role::User, "hello").await;
    let owner = world.owner().await;
    owner
        .execute(
            "UPDATE recollect.transactions SET created_at = created_at - interval '91 days'
             WHERE action = 'create_thread'",
            &[],
        )
        .await
        .unwrap();
    let list = async || {
        let query = TransactionQuery {
            limit: 10,
            ..TransactionQuery::default()
        };
        let page = world
            .store
            .audit(&world.caller)
            .list_transactions(&query)
            .await;
        page.unwrap()
            .items
            .into_iter()
            .map(|it| format!("{} {}", it.actor, it.action))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        list().await,
        ["worker append_messages", "backend create_thread"]
    );
    assert_eq!(
        world
            .workers
            .erasures(&world.store)
            .sweep_transactions(10)
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        world
            .workers
            .erasures(&world.store)
            .sweep_transactions(10)
            .await
            .unwrap(),
        0
    );
    assert_eq!(list().await, ["worker append_messages"]);
    let mut config = config(&world.url);
    config.transaction_retention = Duration::ZERO;
    let all = WorkerStore::connect(&config).await.unwrap();
    assert_eq!(
        all.erasures(&world.store)
            .sweep_transactions(10)
            .await
            .unwrap(),
        1
    );
}

#[tokio::test]
async fn a_number_that_is_taken_undoes_no_change() {
    let world = World::new().await;
    let owner = world.owner().await;
    // Every number comes twice, as if two calls had met.
    owner
        .batch_execute(
            "CREATE SEQUENCE recollect.halves;
             GRANT USAGE ON SEQUENCE recollect.halves TO recollect_service;
             ALTER TABLE recollect.transactions ALTER id SET DEFAULT nextval('recollect.halves') / 2",
        )
        .await
        .unwrap();
    let thread = world.thread().await.id;
    for _ in 0..4 {
        world.say(thread, Role::User, "hello").await;
    }
    let query = TransactionQuery {
        limit: 10,
        ..TransactionQuery::default()
    };
    let page = world
        .store
        .audit(&world.caller)
        .list_transactions(&query)
        .await;
    assert_eq!(page.unwrap().items.len(), 5);
    // No connection takes numbers in advance: then they would meet.
    let row = owner
        .query_one(
            "SELECT cache_size FROM pg_sequences WHERE sequencename = 'transaction_numbers'",
            &[],
        )
        .await
        .unwrap();
    assert_eq!(row.get::<_, i64>(0), 1);
}

/// Sets the clock forward by so many microseconds, or back: all that was recorded is so much
/// earlier then. Returns the time of a change made now.
async fn change_after(owner: &Client, micros: i64) -> i64 {
    let set = "SELECT setval('recollect.change_times', GREATEST(last_value - $1, 0))
               FROM recollect.change_times";
    owner.query_one(set, &[&micros]).await.unwrap();
    let time = "SELECT recollect.change_time()";
    owner.query_one(time, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_clock_that_was_set_back_keeps_changes_in_order() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let owner = world.owner().await;
    let mut before = 0;
    for seconds in [0, 1, -3_601, 1, 9, 3_590, 60, 7_140, -3_600] {
        let micros = seconds * 1_000_000;
        let time = change_after(&owner, micros).await;
        let earlier = before - micros;
        assert!(time > earlier, "{seconds} s later: {time} after {earlier}");
        before = time;
    }
    world.say(thread, Role::User, "hello").await;
    let last: i64 = owner
        .query_one("SELECT max(id) FROM recollect.transactions", &[])
        .await
        .unwrap()
        .get(0);
    assert!(last > before * 256, "{last} after {before}");
}

#[tokio::test]
async fn the_times_of_changes_return_to_the_clock() {
    let world = World::new().await;
    let owner = world.owner().await;
    let lead = async || {
        let lead = "SELECT last_value FROM recollect.change_lead";
        let micros: i64 = owner.query_one(lead, &[]).await.unwrap().get(0);
        micros
    };
    change_after(&owner, 0).await;
    assert_eq!(lead().await, 0);
    change_after(&owner, -3_600_000_000).await;
    let hour = lead().await;
    assert!((3_590_000_000..=3_601_000_000).contains(&hour), "{hour}");
    // A tenth of the time passes less, also where something changes twice a second.
    for _ in 0..100 {
        change_after(&owner, 510_000).await;
    }
    let later = lead().await;
    assert!(later <= hour - 5_000_000, "{later} after {hour}");
    // Where nothing changes, all of it does.
    change_after(&owner, 1_800_000_000).await;
    let idle = lead().await;
    assert!(idle <= later - 1_799_000_000, "{idle} after {later}");
    // And the clock is put right.
    change_after(&owner, 3_600_000_000).await;
    assert_eq!(lead().await, 0);
}

#[tokio::test]
async fn queueing_for_the_index_is_noted_once() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    world.say(thread, Role::User, "hello").await;
    let owner = world.owner().await;
    let noted = async || {
        let query = TransactionQuery {
            limit: 10,
            ..TransactionQuery::default()
        };
        let page = world
            .store
            .audit(&world.caller)
            .list_transactions(&query)
            .await;
        page.unwrap()
            .items
            .into_iter()
            .filter(|it| it.action == "reindex")
            .map(|it| (it.actor, it.thread, it.item_count))
            .collect::<Vec<_>>()
    };
    let backend = world.caller_named("backend");
    let queue = async |of| {
        let work = world.store.index(&backend).enqueue_all(of);
        work.await.unwrap()
    };
    // It waits already: nothing was changed.
    assert_eq!(queue(None).await, 0);
    assert_eq!(noted().await, []);
    let empty = "DELETE FROM recollect.outbox";
    owner.execute(empty, &[]).await.unwrap();
    assert_eq!(queue(None).await, 1);
    let all = || ("backend".to_owned(), None, 1);
    assert_eq!(noted().await, [all()]);
    let dead = "UPDATE recollect.outbox SET dead_at = now(), dead_order = 1";
    owner.execute(dead, &[]).await.unwrap();
    assert_eq!(queue(Some(thread)).await, 1);
    assert_eq!(
        noted().await,
        [("backend".to_owned(), Some(thread), 1), all()]
    );
}

#[tokio::test]
async fn only_the_service_may_call_functions() {
    let world = World::new().await;
    let owner = world.owner().await;
    let found = async |which: &str| {
        let sql = format!(
            "SELECT p.proname FROM pg_proc p
             WHERE p.pronamespace = 'recollect'::regnamespace AND {which}
             ORDER BY p.proname"
        );
        let rows = owner.query(&sql, &[]).await.unwrap();
        rows.iter()
            .map(|row| row.get::<_, String>(0))
            .collect::<Vec<_>>()
    };
    // Changes of the index's collections, a clock that is set back, and what subscriptions drop
    // concern the queues of all tenants. `public` means every role.
    let of_workers = [
        "add_collection",
        "collection_number",
        "event_queues",
        "list_collections",
        "make_due",
        "open_collections",
        "retire_collection",
        "serving_collection",
        "sweep_events",
        "switch_collection",
    ];
    for (role, allowed) in [("public", &[][..]), ("recollect_worker", &of_workers)] {
        let callable = found(&format!(
            "has_function_privilege('{role}', p.oid, 'EXECUTE')"
        ))
        .await;
        assert_eq!(callable, allowed, "{role}");
    }
    let closed = "NOT has_function_privilege('recollect_service', p.oid, 'EXECUTE')";
    assert_eq!(found(closed).await, [""; 0]);
    // Those that act as their owner are few, and no schema of a caller's misleads
    // them.
    assert_eq!(
        found("p.prosecdef").await,
        [
            "authenticate",
            "match_documents",
            "match_memories",
            "match_messages",
            "thread_in_bounds",
        ]
    );
    let led = "p.prosecdef AND NOT 'search_path=pg_catalog, pg_temp' = ANY (p.proconfig)";
    assert_eq!(found(led).await, [""; 0]);
    let owned =
        "p.prosecdef AND pg_get_userbyid(p.proowner) NOT IN ('recollect_auth', 'recollect_search')";
    assert_eq!(found(owned).await, [""; 0]);
}

use memory_contract::{
    key::KeyBounds,
    message::{MessageFilter, Parent, Role},
};
use memory_store::{HistoryQuery, Scope, StoreError};

use crate::{
    schema::tables_with,
    world::{World, after, caller, new_thread},
};

#[tokio::test]
async fn a_connection_without_a_tenant_sees_nothing() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    world.say(thread, Role::User, "hello").await;
    let owner = world.owner().await;
    let service = world.role("recollect_service").await;
    for table in tables_with(&owner, "tenant_id").await {
        let row = service
            .query_one(&format!("SELECT count(*) FROM recollect.{table}"), &[])
            .await
            .unwrap();
        assert_eq!(row.get::<_, i64>(0), 0, "{table}");
    }
    let error = service
        .execute("INSERT INTO recollect.outbox (tenant_id, thread_id, seq, op) VALUES ('a', gen_random_uuid(), 1, 'purge')", &[])
        .await
        .unwrap_err();
    assert_eq!(error.code().unwrap().code(), "42501");
}

#[tokio::test]
async fn a_query_that_forgets_the_tenant_sees_one_tenant_only() {
    let mut world = World::new().await;
    let ours = world.thread().await.id;
    world.say(ours, Role::User, "ours").await;
    world.caller = caller("b");
    let theirs = world.thread().await.id;
    world
        .append(theirs, vec![after(Parent::Root, Role::User, "theirs")])
        .await
        .unwrap();

    let mut service = world.role("recollect_service").await;
    let transaction = service.transaction().await.unwrap();
    transaction
        .execute("SELECT set_config('recollect.tenant', 'a', true)", &[])
        .await
        .unwrap();
    for table in ["threads", "branches", "messages", "outbox"] {
        let rows = transaction
            .query(
                &format!("SELECT DISTINCT tenant_id, thread_id FROM recollect.{table}"),
                &[],
            )
            .await
            .unwrap();
        assert_eq!(rows.len(), 1, "{table}");
        assert_eq!(rows[0].get::<_, String>(0), "a", "{table}");
    }
    let changed = transaction
        .execute("UPDATE recollect.messages SET name = 'x'", &[])
        .await
        .unwrap();
    assert_eq!(changed, 1);
    transaction.commit().await.unwrap();
    // The setting ends with its transaction.
    let row = service
        .query_one("SELECT count(*) FROM recollect.messages", &[])
        .await
        .unwrap();
    assert_eq!(row.get::<_, i64>(0), 0);
}

#[tokio::test]
async fn the_roles_own_nothing_and_the_owner_is_bound_too() {
    let world = World::new().await;
    let owner = world.owner().await;
    // Also of each table that a later schema file adds.
    let sql = "SELECT c.relname::text, c.relrowsecurity AND c.relforcerowsecurity
                   AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'tenant'),
                   pg_get_userbyid(c.relowner)::text
               FROM pg_class c
               WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p')";
    let tenants = tables_with(&owner, "tenant_id").await;
    assert!(tenants.len() >= 26);
    for row in owner.query(sql, &[]).await.unwrap() {
        let (table, bound, owned): (String, bool, String) = (row.get(0), row.get(1), row.get(2));
        assert_eq!(bound, tenants.contains(&table), "{table}");
        let of_no_tenant =
            table.starts_with("schema_") || ["index_collections", "servers"].contains(&&*table);
        assert_eq!(bound, !of_no_tenant, "{table}");
        assert!(!owned.starts_with("recollect"), "{table}");
    }
    let rows = owner
        .query("SELECT rolname FROM pg_roles WHERE rolname LIKE 'recollect%' AND (rolcanlogin OR rolsuper OR rolbypassrls)", &[])
        .await
        .unwrap();
    assert!(rows.is_empty());
}

#[tokio::test]
async fn workers_cannot_read_content() {
    let world = World::new().await;
    let worker = world.role("recollect_worker").await;
    for what in [
        "* FROM recollect.messages",
        "title FROM recollect.threads",
        "* FROM recollect.branches",
        "text FROM recollect.distillates",
    ] {
        let error = worker
            .query(&format!("SELECT {what}"), &[])
            .await
            .unwrap_err();
        assert_eq!(error.code().unwrap().code(), "42501", "{what}");
    }
    // The role that searches words cannot either.
    let search = world.role("recollect_search").await;
    for content in [
        "SELECT parts FROM recollect.messages",
        "SELECT value FROM recollect.documents",
    ] {
        let error = search.query(content, &[]).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "42501", "{content}");
    }
}

#[tokio::test]
async fn a_foreign_thread_is_not_found_in_any_call() {
    let world = World::new().await;
    let (us, them) = (world.caller.clone(), caller("b"));
    let thread = world.thread_of("app", "ada", "global").await.id;
    let message = world.say(thread, Role::User, "a secret about pixels").await;
    let store = &world.store;

    let not_found = |error| assert!(matches!(error, StoreError::ThreadNotFound), "{error:?}");
    not_found(store.threads(&them).get_thread(thread).await.unwrap_err());
    not_found(
        store
            .threads(&them)
            .find_thread(&new_thread("app", "ada", "global").session)
            .await
            .unwrap_err(),
    );
    not_found(
        store
            .threads(&them)
            .update_thread(thread, &Default::default(), &Default::default())
            .await
            .unwrap_err(),
    );
    not_found(store.threads(&them).clear_thread(thread).await.unwrap_err());
    not_found(
        store
            .threads(&them)
            .delete_thread(thread)
            .await
            .unwrap_err(),
    );
    not_found(
        store
            .threads(&them)
            .list_branches(thread, 0, 10)
            .await
            .unwrap_err(),
    );
    not_found(
        store
            .messages(&them)
            .get_message(thread, message)
            .await
            .unwrap_err(),
    );
    not_found(
        store
            .messages(&them)
            .delete_message(thread, message)
            .await
            .unwrap_err(),
    );
    not_found(store.messages(&them).recent(thread, 10).await.unwrap_err());
    let query = HistoryQuery {
        thread,
        head: Some(message.into()),
        max_tokens: 100,
        limit: 10,
    };
    not_found(store.messages(&them).history(&query).await.unwrap_err());

    let scope = Scope::Thread(thread);
    assert!(
        store
            .messages(&them)
            .hydrate(&scope, None, &[message])
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        store
            .messages(&them)
            .neighbors(&scope, None, &[message], 2, 2)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        store
            .messages(&them)
            .index_records(&[message], i32::MAX, None)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        store
            .messages(&them)
            .places(&[message])
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(store.index(&them).enqueue_all(None).await.unwrap(), 0);
    let filter = MessageFilter::default();
    for caller in [&us, &them] {
        let found = store
            .messages(caller)
            .search_text(&scope, "pixels", &filter, 10)
            .await
            .unwrap();
        assert_eq!(found.len(), usize::from(caller == &us));
    }
    assert_eq!(
        store
            .threads(&us)
            .get_thread(thread)
            .await
            .unwrap()
            .message_count,
        1
    );
}

#[tokio::test]
async fn a_query_that_forgets_its_caller_s_bounds_sees_only_what_is_within_them() {
    let world = World::new().await;
    for user in ["ada", "bea"] {
        let thread = world.thread_of("shop", user, "k").await.id;
        world.say(thread, Role::User, "hello").await;
    }
    let of_bank = world.thread_of("bank", "ada", "k").await.id;
    world.say(of_bank, Role::User, "hello").await;
    let mut service = world.role("recollect_service").await;
    for (bounds, threads) in [
        ("", 3),
        (r#"{"app_ids": ["shop"]}"#, 2),
        (
            r#"{"app_id_prefixes": ["sh", "x"], "user_ids": ["ada"]}"#,
            1,
        ),
        (r#"{"user_id_prefixes": ["a"]}"#, 2),
        (r#"{"user_ids": ["ad", "cid"]}"#, 0),
        (r#"{"app_ids": ["bank"], "user_ids": ["bea"]}"#, 0),
    ] {
        let transaction = service.transaction().await.unwrap();
        let enter = "SELECT set_config('recollect.tenant', 'a', true), set_config('recollect.bounds', $1, true)";
        transaction.execute(enter, &[&bounds]).await.unwrap();
        for table in ["threads", "branches", "messages", "outbox", "distill_jobs"] {
            let count = format!("SELECT count(DISTINCT thread_id) FROM recollect.{table}");
            let row = transaction.query_one(&count, &[]).await.unwrap();
            assert_eq!(row.get::<_, i64>(0), threads, "{table} {bounds}");
        }
        let changed = "UPDATE recollect.messages SET name = 'x'";
        let changed = transaction.execute(changed, &[]).await.unwrap();
        assert_eq!(i64::try_from(changed).unwrap(), threads, "{bounds}");
        transaction.rollback().await.unwrap();
    }
}

#[tokio::test]
async fn every_table_of_an_owner_or_a_thread_knows_the_bounds() {
    let world = World::new().await;
    let owner = world.owner().await;
    let of_threads = tables_with(&owner, "thread_id").await;
    let of_users = tables_with(&owner, "user_id").await;
    let sql = "SELECT c.relname::text, pg_get_expr(p.polqual, c.oid)
               FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
               WHERE p.polname = 'tenant'";
    let mut bound = 0;
    for row in owner.query(sql, &[]).await.unwrap() {
        let (table, policy): (String, String) = (row.get(0), row.get(1));
        let is_owned = of_threads.contains(&table) || of_users.contains(&table);
        // An erasure stops everybody from creating what it erases, and a change is an event of each
        // subscription that wants it.
        if is_owned && !["erasures", "subscriptions"].contains(&table.as_str()) {
            assert!(policy.contains("in_bounds"), "{table}: {policy}");
            bound += 1;
        }
    }
    assert!(bound > 20, "{bound}");
}

#[tokio::test]
async fn a_bound_caller_finds_and_creates_nothing_of_others_in_the_store_alone() {
    let mut world = World::new().await;
    let thread = world.thread_of("shop", "ada", "k").await.id;
    world.say(thread, Role::User, "hello").await;
    let lists = serde_json::from_str(r#"{"app_ids": ["shop"], "user_ids": ["bea"]}"#).unwrap();
    world.caller.bounds = KeyBounds::new(lists).unwrap();
    let own = world.thread_of("shop", "bea", "k").await.id;
    world.say(own, Role::User, "hello").await;
    let threads = world.store.threads(&world.caller);
    assert!(matches!(
        threads.get_thread(thread).await,
        Err(StoreError::ThreadNotFound)
    ));
    assert!(matches!(
        threads.delete_thread(thread).await,
        Err(StoreError::ThreadNotFound)
    ));
    let appended = world
        .append(thread, vec![after(Parent::Root, Role::User, "theirs")])
        .await;
    assert!(
        matches!(appended, Err(StoreError::ThreadNotFound)),
        "{appended:?}"
    );
    for (app, user) in [("shop", "ada"), ("shop", ""), ("bank", "bea")] {
        let created = threads.create_thread(&new_thread(app, user, "new")).await;
        assert!(
            matches!(created, Err(StoreError::OutOfBounds)),
            "{app} {user}: {created:?}"
        );
    }
}

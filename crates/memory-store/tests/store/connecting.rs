use std::time::Duration;

use memory_store::{Store, StoreError, WorkerStore};

use crate::{
    cluster,
    world::{World, caller, config, connect, new_thread},
};

#[tokio::test]
async fn a_database_is_migrated_once_however_many_try() {
    let url = cluster::empty_database();
    let error = Store::connect(&config(&url)).await.unwrap_err();
    assert!(matches!(error, StoreError::Migration { .. }), "{error:?}");
    let own = config(&url);
    let reports = futures::future::join_all((0..4).map(|_| memory_store::migrate(&own))).await;
    let reports: Vec<_> = reports.into_iter().map(Result::unwrap).collect();
    assert_eq!(
        reports
            .iter()
            .filter(|reports| reports.iter().any(|report| !report.applied.is_empty()))
            .count(),
        1
    );
    let store = Store::connect(&config(&url)).await.unwrap();
    WorkerStore::connect(&config(&url)).await.unwrap();
    store.ping().await.unwrap();
    assert!(
        store
            .postgres_version()
            .await
            .unwrap()
            .split('.')
            .all(|part| part.parse::<u32>().is_ok())
    );
}

#[tokio::test]
async fn a_schema_of_another_build_is_refused_with_instructions() {
    let world = World::new().await;
    let owner = world.owner().await;
    let change = "UPDATE recollect.schema_files SET sha256 = '1' WHERE number = 2";
    assert_eq!(owner.execute(change, &[]).await.unwrap(), 1);
    let error = memory_store::migrate(&config(&world.url))
        .await
        .unwrap_err();
    let StoreError::Migration { why, .. } = error else {
        panic!("{error:?}");
    };
    assert!(
        why.contains("schema/002_conversations.sql") && why.contains("create a new database"),
        "{why}"
    );
    // Nor does a server start, also where the other build has more files.
    let more = "INSERT INTO recollect.schema_files (number, name, sha256)
                SELECT max(number) + 1, 'later', '' FROM recollect.schema_files";
    owner.execute(more, &[]).await.unwrap();
    let Err(StoreError::Migration { why, .. }) = Store::connect(&config(&world.url)).await else {
        panic!("it has to be refused");
    };
    assert!(why.contains("create a new database"), "{why}");
}

#[tokio::test]
async fn a_user_without_superuser_can_own_the_schema_once_the_roles_are_granted() {
    let url = cluster::empty_database();
    let admin = connect(&url).await;
    let database: String = admin
        .query_one("SELECT current_database()", &[])
        .await
        .unwrap()
        .get(0);
    let owner = format!("owner_of_{database}");
    admin
        .batch_execute(&format!(
            "CREATE ROLE {owner} LOGIN; GRANT CREATE ON DATABASE {database} TO {owner}"
        ))
        .await
        .unwrap();
    let own_url = url.replace("user=postgres", &format!("user={owner}"));
    let error = memory_store::migrate(&config(&own_url)).await.unwrap_err();
    assert!(error.to_string().contains("GRANT"), "{error}");
    admin
        .batch_execute(&format!(
            "GRANT recollect_service, recollect_worker, recollect_search, recollect_auth TO {owner}"
        ))
        .await
        .unwrap();
    memory_store::migrate(&config(&own_url)).await.unwrap();
    let store = Store::connect(&config(&own_url)).await.unwrap();
    let created = store
        .threads(&caller("a"))
        .resolve_thread(&new_thread("app", "ada", "global"))
        .await
        .unwrap();
    assert!(created.created);
}

#[tokio::test]
async fn a_user_who_does_not_inherit_from_the_roles_migrates_after_the_grant_in_the_error() {
    let url = cluster::empty_database();
    let admin = connect(&url).await;
    let (_, database) = url.rsplit_once('=').unwrap();
    let owner = format!("without_inherit_{database}");
    admin
        .batch_execute(&format!(
            "CREATE ROLE {owner} LOGIN NOINHERIT; GRANT CREATE ON DATABASE {database} TO {owner};
             GRANT recollect_service, recollect_worker, recollect_search, recollect_auth TO {owner}"
        ))
        .await
        .unwrap();
    let own = config(&url.replace("user=postgres", &format!("user={owner}")));
    let mut refused = 0;
    while let Err(error) = memory_store::migrate(&own).await {
        let StoreError::Migration { why, .. } = error else {
            panic!("{error:?}");
        };
        let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'recollect'";
        let left: i64 = admin.query_one(schemas, &[]).await.unwrap().get(0);
        assert_eq!(left, 0, "a refused migration changes nothing");
        assert!(
            why.contains("does not inherit") && why.contains("GRANT recollect_"),
            "{why}"
        );
        let (_, remedy) = why.split_once("As a superuser: ").unwrap();
        admin.batch_execute(remedy).await.unwrap();
        refused += 1;
        // At most once for each role that functions belong to.
        assert!(refused <= 2, "{why}");
    }
    assert!(refused > 0);
    // The next version has other functions.
    let other = "INSERT INTO recollect.schema_releases (sha256) VALUES ('other')";
    admin.execute(other, &[]).await.unwrap();
    let reports = memory_store::migrate(&own).await.unwrap();
    assert_eq!(reports[0].applied, ["functions"]);
}

#[tokio::test]
async fn a_migration_does_not_wait_for_another_one_forever() {
    let url = cluster::empty_database();
    let other = connect(&url).await;
    let lock = i64::from_be_bytes(*b"recollec");
    other
        .execute("SELECT pg_advisory_lock($1)", &[&lock])
        .await
        .unwrap();
    let hasty = format!("{url} options='-c lock_timeout=100'");
    let error = memory_store::migrate(&config(&hasty)).await.unwrap_err();
    assert!(error.to_string().contains("another migration"), "{error}");
}

#[tokio::test]
async fn a_migration_does_not_wait_forever_for_a_silent_server() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let mut config = config(&format!("host=127.0.0.1 port={port} user=postgres"));
    config.connect_timeout = Duration::from_millis(100);
    let error = memory_store::migrate(&config).await.unwrap_err();
    assert!(error.retryable(), "{error:?}");
}

#[tokio::test]
async fn errors_for_administrators_name_the_setting() {
    let url = cluster::database();
    let wrong = [
        String::new(),
        "postgresql://host:port:extra/db".to_owned(),
        url.replace("dbname=", "dbname=no_such_"),
    ];
    for url in wrong {
        let error = Store::connect(&config(&url)).await.unwrap_err();
        assert!(
            matches!(error, StoreError::Config { key: "url", .. }),
            "{error:?}"
        );
        assert!(!error.retryable());
    }
    let mut config = config("host=/nowhere user=postgres");
    config.pool_timeout = Duration::from_secs(2);
    let error = Store::connect(&config).await.unwrap_err();
    assert!(error.retryable(), "{error:?}");
    let shown = serde_json::to_string(&config).unwrap();
    assert!(!shown.contains("nowhere"), "{shown}");
}

#[tokio::test]
async fn a_broken_connection_is_replaced() {
    let world = World::new().await;
    world.store.ping().await.unwrap();
    world
        .owner()
        .await
        .batch_execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    world.store.ping().await.unwrap();
    let status = world.store.pool_status();
    assert!(status.open >= 1 && status.max == 16, "{status:?}");
}

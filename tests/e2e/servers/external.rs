//! An external Postgres by URL: `migrate`, `serve`, `worker`, the pool.

use std::time::{Duration, Instant};

use recollect_tests::{
    Client, Cluster, DataDir, Failure, Key, Options, SOON, Server, apply, by_id, eventually,
    history_request, http_get, recollect, recollect_at, search_request, text_of, texts, trial,
    trial_with_own_server, turn,
};
use serde_json::Value;
use tonic::Code;

use crate::recall::diary;

fn serve(dir: &DataDir, url: &str, lines: &[&str]) -> Options {
    Options::serve(url, lines).index(dir, "index")
}

#[apply(trial_with_own_server)]
async fn l02_one_url_switches_to_external_postgres() {
    let (cluster, url) = Cluster::migrated().await;
    // Once more changes nothing.
    recollect(&["migrate"], &[("DATABASE_URL", &url)]).ok();
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, &[]));
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    let stored = diary::store(&client, &thread_id).await;
    let query = search_request(&thread_id, "What pet do we have?", &stored.revision);
    let found = client.search(query).await;
    assert_eq!(found.degradations, []);
    let found = texts(&found.matches);
    assert!(found.contains(&"We adopted a greyhound, he is called Biscuit.".to_owned()));
    let (status, body) = http_get(&server.ready().metrics_addr, "/readyz").await;
    assert_eq!(status, 200, "{body}");

    // It is all in that database, under forced row-level security.
    let admin = cluster.superuser().await;
    let count = "SELECT count(*) FROM recollect.messages";
    let rows: i64 = admin.query_one(count, &[]).await.unwrap().get(0);
    assert_eq!(rows, 44);
    // All tables but those of the migrations and of the index, which belong to no tenant.
    let forced = "SELECT relname, relrowsecurity AND relforcerowsecurity FROM pg_class \
                  WHERE relnamespace = 'recollect'::regnamespace AND relkind IN ('r', 'p') \
                  AND relname NOT LIKE 'schema%' AND relname NOT IN ('index_collections', 'servers')";
    let forced = admin.query(forced, &[]).await.unwrap();
    assert!(forced.len() >= 5, "{forced:?}");
    for table in forced {
        let (name, forced): (String, bool) = (table.get(0), table.get(1));
        assert!(forced, "row-level security is not forced on {name}");
    }
    let owned = "SELECT count(*) FROM pg_class WHERE relowner IN \
                 (SELECT oid FROM pg_roles WHERE rolname IN ('recollect_service', 'recollect_worker'))";
    let owned: i64 = admin.query_one(owned, &[]).await.unwrap().get(0);
    assert_eq!(owned, 0, "the service's roles own nothing");
    admin
        .batch_execute("SET ROLE recollect_service")
        .await
        .unwrap();
    let seen: i64 = admin.query_one(count, &[]).await.unwrap().get(0);
    assert_eq!(seen, 0, "without a tenant nothing is seen");
    admin
        .batch_execute("SELECT set_config('recollect.tenant', 'globex', false)")
        .await
        .unwrap();
    let seen: i64 = admin.query_one(count, &[]).await.unwrap().get(0);
    assert_eq!(seen, 0, "another tenant sees nothing");

    let messages = client.all_messages(&thread_id).await;
    assert!(server.terminate().await.success(), "{}", dir.log());
    let server = Server::start(&dir, &serve(&dir, &url, &[]));
    let client = server.client(Key::Acme).await;
    assert_eq!(client.all_messages(&thread_id).await, messages);
}

#[apply(trial_with_own_server)]
async fn calls_wait_where_postgres_allows_fewer_connections_than_the_pool() {
    let (cluster, url) = Cluster::migrated().await;
    let admin = cluster.superuser().await;
    let limit = "ALTER ROLE recollect_owner CONNECTION LIMIT 12";
    admin.batch_execute(limit).await.unwrap();
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, &[]));
    let client = server.client(Key::Acme).await;
    let calls = (0..40).map(|_| {
        let client = client.clone();
        async move {
            for _ in 0..5 {
                let thread_id = client.thread("app").await;
                client.append_turn(&thread_id, "Q", "A").await;
                assert_eq!(client.all_messages(&thread_id).await.len(), 2);
            }
        }
    });
    futures::future::join_all(calls).await;
    let (status, body) = http_get(&server.ready().metrics_addr, "/readyz").await;
    assert_eq!(status, 200, "{body}");
    assert!(dir.log().contains("Postgres allows no more connections"));
    assert!(server.terminate().await.success(), "{}", dir.log());
}

fn setting(rows: &[Value], key: &str) -> (String, String) {
    let row = rows.iter().find(|row| row["key"] == key);
    let row = row.unwrap_or_else(|| panic!("there is no {key}"));
    let value = row["value"]
        .as_str()
        .map_or_else(|| row["value"].to_string(), str::to_owned);
    (value, row["source"].to_string())
}

#[apply(trial)]
async fn l03_the_pool_has_the_documented_settings() {
    let rows = recollect(&["config", "--json"], &[]).ok().json_lines();
    for (key, expected) in [
        ("database.pooler", "false"),
        ("database.pool_size", "20"),
        ("database.max_overflow", "30"),
        ("database.pool_timeout", "30s"),
        ("database.pre_ping", "true"),
        ("database.recycle", "30m"),
        ("database.echo", "false"),
        ("database.connect_timeout", "20s"),
    ] {
        let (value, source) = setting(&rows, key);
        assert_eq!(value, expected, "{key}");
        assert!(source.to_lowercase().contains("default"), "{key}: {source}");
    }
    let name = "RECOLLECT_DATABASE__POOL_SIZE";
    let rows = recollect(&["config", "--json"], &[(name, "7")])
        .ok()
        .json_lines();
    let (value, source) = setting(&rows, "database.pool_size");
    assert_eq!(value, "7");
    assert!(source.contains(name), "{source}");
}

async fn connections(cluster: &Cluster) -> i64 {
    let admin = cluster.superuser().await;
    let query = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'recollect_owner'";
    admin.query_one(query, &[]).await.unwrap().get(0)
}

async fn histories(client: &Client, thread_id: &str, count: usize) -> Vec<Result<(), Failure>> {
    let calls = (0..count).map(|_| {
        let (mut messages, request) = (client.messages(), history_request(thread_id));
        async move {
            messages
                .get_history(request)
                .await
                .map(|_| ())
                .map_err(Failure::from)
        }
    });
    futures::future::join_all(calls).await
}

#[apply(trial_with_own_server)]
async fn l03_the_pool_has_a_limit_and_a_timeout() {
    let (cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let mut options = serve(
        &dir,
        &url,
        &[
            "database.pool_size = 2",
            "database.max_overflow = 1",
            "database.pool_timeout = \"1s\"",
            "server.call_timeout = \"4s\"",
            "embedding.kind = \"none\"",
        ],
    );
    // No worker, because its connections would be counted too. Without a worker the
    // index has to be a Qdrant, which this test does not need.
    options.args.push("--no-worker".to_owned());
    options
        .config
        .push("index.url = \"http://127.0.0.1:1\"".to_owned());
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    client.append_turn(&thread_id, "Q", "A").await;

    let mut admin = cluster.superuser().await;
    let lock = admin.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE recollect.messages IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let start = Instant::now();
    let answers = histories(&client, &thread_id, 12).await;
    assert!(start.elapsed() < Duration::from_secs(20));
    // A backend whose connection was replaced ends a little later.
    eventually(
        "pool_size and max_overflow limit the connections",
        SOON,
        async || connections(&cluster).await <= 3,
    )
    .await;
    let mut starved = 0;
    for answer in answers {
        let failure = answer.expect_err("the table is locked");
        if failure.code == Code::DeadlineExceeded {
            // It had a connection, and waited for the lock until the server's
            // own limit for a call.
            failure.is(Code::DeadlineExceeded, "DEADLINE_EXCEEDED");
        } else {
            let failure = failure.is(Code::Unavailable, "DATABASE_UNAVAILABLE");
            assert!(failure.retry.is_some(), "says when to come back");
            starved += 1;
        }
    }
    assert!(starved >= 9, "{starved} of 12 found no connection in time");
    lock.rollback().await.unwrap();
    eventually("the pool has recovered", SOON, async || {
        histories(&client, &thread_id, 12)
            .await
            .iter()
            .all(Result::is_ok)
    })
    .await;
    assert!(
        !dir.log().contains("messages/history"),
        "queries are not logged by default"
    );
}

/// The process id of the connection that serves a history.
async fn serving(cluster: &Cluster, client: &Client, thread_id: &str) -> i32 {
    let mut admin = cluster.superuser().await;
    let lock = admin.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE recollect.threads IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    // A transaction sees one state of pg_stat_activity, so another connection looks.
    let observer = cluster.superuser().await;
    let mut pid = None;
    let find = async {
        let waiting = "SELECT pid FROM pg_stat_activity \
                       WHERE usename = 'recollect_owner' AND wait_event_type = 'Lock' LIMIT 1";
        eventually("the history waits for the table", SOON, async || {
            pid = observer
                .query_opt(waiting, &[])
                .await
                .unwrap()
                .map(|row| row.get(0));
            pid.is_some()
        })
        .await;
        lock.rollback().await.unwrap();
    };
    let ((), answers) = tokio::join!(find, histories(client, thread_id, 1));
    answers.into_iter().for_each(|answer| answer.unwrap());
    pid.unwrap()
}

#[apply(trial_with_own_server)]
async fn l03_an_old_connection_is_replaced_and_queries_are_logged() {
    let (cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let lines = [
        "database.pool_size = 1",
        "database.max_overflow = 0",
        "database.recycle = \"2s\"",
        "database.echo = true",
        "embedding.kind = \"none\"",
    ];
    let server = Server::start(&dir, &serve(&dir, &url, &lines).without_worker());
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    let secret = "The heron is called Wilhelmina.";
    client.append_turn(&thread_id, secret, "Noted.").await;
    let first = serving(&cluster, &client, &thread_id).await;
    eventually("another connection serves", SOON, async || {
        serving(&cluster, &client, &thread_id).await != first
    })
    .await;
    let admin = cluster.superuser().await;
    let left = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1";
    eventually("the old one is closed", SOON, async || {
        let left: i64 = admin.query_one(left, &[&first]).await.unwrap().get(0);
        left == 0
    })
    .await;

    let log = dir.log();
    let echoed: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("messages/history"))
        .collect();
    assert!(echoed.len() >= 2, "{echoed:?}");
    assert!(echoed.iter().all(|line| line.contains("duration_ms")));
    assert!(!log.contains("Wilhelmina"), "no content is logged");
}

#[apply(trial_with_own_server)]
async fn l03_dead_connections_are_found_before_use() {
    let (cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, &["embedding.kind = \"none\""]));
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    client.append_turn(&thread_id, "Q", "A").await;
    for answer in histories(&client, &thread_id, 20).await {
        answer.unwrap();
    }
    let admin = cluster.superuser().await;
    let end = "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE usename = 'recollect_owner'";
    let ended = admin.query(end, &[]).await.unwrap();
    let ended: Vec<i32> = ended.iter().map(|row| row.get(0)).collect();
    assert!(ended.len() > 1, "the pool keeps its connections");
    // Every one: a connection that is about to end may still take a call.
    eventually("they have ended", SOON, async || {
        let left = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY ($1)";
        let left: i64 = admin.query_one(left, &[&ended]).await.unwrap().get(0);
        left == 0
    })
    .await;
    // One that was used in the last second is not tested: it is as good as in use.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    for answer in histories(&client, &thread_id, 20).await {
        answer.expect("a dead connection must never reach a caller");
    }
}

#[apply(trial_with_own_server)]
async fn l04_connecting_has_a_timeout() {
    // The kernel accepts connections, and no process ever answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://u:p@{}/d", silent.local_addr().unwrap());
    let dir = DataDir::new();
    let start = Instant::now();
    let options = serve(
        &dir,
        &url,
        &[
            "database.connect_timeout = \"1s\"",
            "database.pool_timeout = \"2s\"",
            "embedding.kind = \"none\"",
        ],
    );
    let Err(problem) = Server::try_start(&dir, &options) else {
        panic!("it is ready without a database");
    };
    let took = start.elapsed();
    assert!((1..15).contains(&took.as_secs()), "{took:?}: {problem}");
    assert!(
        problem.contains("ended") && problem.contains("database"),
        "{problem}"
    );
}

#[apply(trial_with_own_server)]
async fn b19_a_server_follows_its_database_to_a_standby() {
    let (mut primary, url) = Cluster::migrated().await;
    let standby = primary.standby().await;
    let hosts = format!("{},{}", primary.addr(), standby.addr());
    let url = url.replace(&primary.addr().to_string(), &hosts);
    let url = format!("{url}?target_session_attrs=read-write");
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, &["embedding.kind = \"none\""]));
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    let mut expected = Vec::new();
    for number in 0..50 {
        let question = format!("Question {number}?");
        client.append_turn(&thread_id, &question, "Answer.").await;
        expected.extend([question, "Answer.".to_owned()]);
    }

    primary.crash();
    standby.promote().await;
    let request = memory_contract::proto::AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: turn("After?", "After."),
        request_id: "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c12".to_owned(),
        ..Default::default()
    };
    eventually("appends are acknowledged again", SOON, async || {
        let appended = client.messages().append_messages(request.clone()).await;
        appended.is_ok()
    })
    .await;
    expected.extend(["After?".to_owned(), "After.".to_owned()]);
    let all = client.all_messages(&thread_id).await;
    let all: Vec<String> = all.iter().map(text_of).collect();
    assert_eq!(all, expected);
    eventually("it is ready", SOON, async || {
        http_get(&server.ready().metrics_addr, "/readyz").await.0 == 200
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn b19_a_database_that_crashes_comes_back_without_a_restart() {
    let (mut cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, &["embedding.kind = \"none\""]));
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    client.append_turn(&thread_id, "Before?", "Before.").await;
    cluster.crash();
    let request = history_request(&thread_id);
    // A process that serves a connection ends a moment after the first one.
    eventually("the database is gone", SOON, async || {
        let answer = client.messages().get_history(request.clone()).await;
        answer.is_err()
    })
    .await;
    let failure = client.refused(request).await;
    let failure = failure.is(Code::Unavailable, "DATABASE_UNAVAILABLE");
    assert!(
        failure.retry.is_some_and(|delay| !delay.is_zero()),
        "says when to come back"
    );
    assert!(
        !failure.message.contains("127.0.0.1"),
        "no word of what is inside: {failure:?}"
    );
    eventually("it is said to be not ready", SOON, async || {
        http_get(&server.ready().metrics_addr, "/readyz").await.0 == 503
    })
    .await;
    assert_eq!(
        http_get(&server.ready().metrics_addr, "/livez").await.0,
        200
    );
    // The server goes on answering, so that no load balancer drops all servers at once.
    let health = |service: &str| {
        let args = ["health", "--service", service];
        recollect_at(&server.ready().addr, Key::Acme, &args).code
    };
    assert_eq!(health(""), Some(0));
    assert_eq!(health("recollect.v1.MessageService"), Some(1));

    cluster.restart().await;
    let mut revision = String::new();
    eventually("calls are answered again", SOON, async || {
        let request = memory_contract::proto::AppendMessagesRequest {
            thread: by_id(&thread_id),
            messages: turn("After?", "After."),
            request_id: "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c11".to_owned(),
            ..Default::default()
        };
        match client.messages().append_messages(request).await {
            Ok(answer) => {
                revision = answer.into_inner().revision;
                true
            }
            Err(_) => false,
        }
    })
    .await;
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(
        texts(&history.messages),
        ["Before?", "Before.", "After?", "After."]
    );
    // The worker has come back too.
    let found = client
        .search(search_request(&thread_id, "after", &revision))
        .await;
    assert_eq!(found.degradations, []);
    eventually("it is ready", SOON, async || {
        http_get(&server.ready().metrics_addr, "/readyz").await.0 == 200
    })
    .await;
    assert_eq!(health("all"), Some(0));
}

#[apply(trial)]
async fn a_password_is_never_shown() {
    let url = "postgres://memory:open-sesame@127.0.0.1:1/memories";
    let env = [
        ("DATABASE_URL", url),
        ("RECOLLECT_INDEX__API_KEY", "open-sesame"),
    ];
    for args in [
        &["config"][..],
        &["config", "--json"],
        &["migrate"],
        &["doctor"],
    ] {
        let said = recollect(args, &env);
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(!all.contains("open-sesame"), "{args:?}: {all}");
        assert!(!all.is_empty(), "{args:?}");
    }
}

#[apply(trial_with_own_server)]
async fn a_server_that_is_stopped_as_soon_as_it_serves_ends_in_order() {
    let (_cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    // Models are still being loaded then. A server without background jobs ends soonest.
    let options = Options::serve(&url, &["embedding.document_sessions = 8"]).without_worker();
    for _ in 0..3 {
        let server = Server::start(&dir, &options);
        let status = server.terminate().await;
        assert!(status.success(), "{status}: {}", dir.log());
    }
}

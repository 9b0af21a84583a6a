//! The embedded default: one command, one directory.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use memory_contract::proto::{GetServerInfoRequest, IndexBackend};
use recollect_tests::{
    Client, DataDir, Failure, Key, Options, SOON, Server, apply, eventually, history_request, node,
    recollect, runs, search_request, texts, trial_with_own_server,
};
use tonic::Code;

use crate::recall::diary;

fn bare_options() -> Options {
    Options {
        config: Vec::new(),
        keys: Vec::new(),
        bare: true,
        ..Options::default()
    }
}

#[apply(trial_with_own_server)]
async fn l01_the_local_default_needs_no_configuration() {
    let dir = DataDir::new();
    let server = Server::start(&dir, &bare_options());
    let client = Client::with_authorization(&server.ready().addr, None).await;
    let info = client.call(GetServerInfoRequest {}).await;
    assert_eq!(info.tenant, "default");
    assert_eq!(info.index_backend(), IndexBackend::QdrantEdge);
    let thread_id = client.thread("app").await;
    let stored = diary::store(&client, &thread_id).await;
    let search = search_request(&thread_id, "What pet do we have?", &stored.revision);
    let found = client.search(search).await;
    assert_eq!(found.degradations, []);
    let found = texts(&found.matches);
    assert!(found.contains(&"We adopted a greyhound, he is called Biscuit.".to_owned()));
    let planner = node(&thread_id, "planner");
    client.add_node_turn(&planner, "Q", "A").await;
    client.flush_node(&planner).await;
    let key = client.object_key(&planner).await;

    // Everything is in the documented directory, in the one that the server was started in.
    let data = dir.default_data();
    let said = server.ready().line["data_dir"].as_str().unwrap();
    let said = fs::canonicalize(dir.path().join(said)).unwrap();
    assert_eq!(said, fs::canonicalize(&data).unwrap());
    for name in ["PG_VERSION", "index"] {
        let found = dir.find(name).unwrap_or_else(|| panic!("no {name}"));
        assert!(found.starts_with(&data), "{}", found.display());
    }
    assert!(data.join("objects").join(key).is_file());
    let mode = fs::metadata(&data).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "only the owner may enter it");
    let mut beside: Vec<String> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    beside.sort();
    assert_eq!(beside, [".recollect", "server.log"]);

    // Started there again, it has the data again.
    let messages = client.all_messages(&thread_id).await;
    assert!(server.stop().await.success(), "{}", dir.log());
    let server = Server::start(&dir, &bare_options());
    let client = Client::with_authorization(&server.ready().addr, None).await;
    assert_eq!(client.all_messages(&thread_id).await, messages);
    assert_eq!(client.node_dialogue(&planner, "").await, ["Q", "A"]);
}

#[apply(trial_with_own_server)]
async fn l01_everything_is_kept_over_a_restart() {
    let (dir, server, client) = Server::start_own(&Options::default()).await;
    let thread_id = client.thread("app").await;
    let stored = diary::store(&client, &thread_id).await;
    let query = search_request(&thread_id, "violin", &stored.revision);
    let before = client.search(query.clone()).await.matches;
    let messages = client.all_messages(&thread_id).await;
    assert!(server.stop().await.success());

    let server = Server::start(&dir, &Options::default());
    let client = server.client(Key::Acme).await;
    assert_eq!(client.all_messages(&thread_id).await, messages);
    let again = client.search(query).await;
    assert_eq!(again.degradations, []);
    assert_eq!(texts(&again.matches)[0], texts(&before)[0]);
    let next = client.append_turn(&thread_id, "Next?", "Next.").await;
    assert_eq!(next.messages[0].seq, 45);
}

#[apply(trial_with_own_server)]
async fn a_second_server_on_the_same_data_directory_is_refused() {
    let dir = DataDir::new();
    let server = Server::start(&dir, &Options::default());
    let data = dir.data().display().to_string();
    let second = recollect(
        &[
            "dev",
            "--data-dir",
            &data,
            "--listen",
            "127.0.0.1:0",
            "--json",
        ],
        &[],
    );
    assert_eq!(second.code, Some(6), "{second:?}");
    assert!(second.stderr.contains("in use"), "{second:?}");
    assert!(second.stderr.contains(&data), "{second:?}");
    assert!(
        second.stderr.contains(&server.ready().pid.to_string()),
        "{second:?}"
    );
    assert_eq!(second.stdout, "");
    // The first one is not disturbed.
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    client.append_turn(&thread_id, "Q", "A").await;
    assert!(server.stop().await.success());
}

#[apply(trial_with_own_server)]
async fn a_data_directory_that_only_root_can_enter_works() {
    let dir = DataDir::new();
    let path = dir.data();
    fs::create_dir(&path).unwrap();
    for above in [dir.path(), path.as_path()] {
        fs::set_permissions(above, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let server = Server::start(&dir, &Options::default());
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    client.append_turn(&thread_id, "Q", "A").await;
    assert_eq!(
        client
            .call(history_request(&thread_id))
            .await
            .messages
            .len(),
        2
    );
    for above in [dir.path(), path.as_path()] {
        let mode = fs::metadata(above).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{} stays closed", above.display());
    }
}

#[apply(trial_with_own_server)]
async fn it_stops_on_a_signal_and_takes_postgres_with_it() {
    let (dir, server, client) = Server::start_own(&Options::default()).await;
    let thread_id = client.thread("app").await;
    client.append_text(&thread_id, "Goodbye.").await;
    let postgres = dir.postgres_pid().unwrap();
    assert!(runs(postgres));
    let status = server.terminate().await;
    assert!(status.success(), "{status}: {}", dir.log());
    eventually("Postgres ends", SOON, async || !runs(postgres)).await;
    assert_eq!(dir.postgres_pid(), None, "it was shut down in order");
}

#[apply(trial_with_own_server)]
async fn it_stops_when_standard_input_ends() {
    let dir = DataDir::new();
    let server = Server::start(&dir, &Options::with(&["embedding.kind = \"none\""]));
    let postgres = dir.postgres_pid().unwrap();
    assert!(server.stop().await.success(), "{}", dir.log());
    assert!(!runs(postgres), "{}", dir.log());
    assert_eq!(
        dir.postgres_pid(),
        None,
        "it was shut down in order: {}",
        dir.log()
    );
    assert!(!dir.log().contains("at once"), "{}", dir.log());
}

#[apply(trial_with_own_server)]
async fn it_refuses_to_listen_beyond_loopback_without_keys() {
    let dir = DataDir::new();
    let data = dir.data().display().to_string();
    let refused = recollect(
        &[
            "dev",
            "--data-dir",
            &data,
            "--listen",
            "0.0.0.0:0",
            "--json",
        ],
        &[],
    );
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stderr.contains("--listen"), "{refused:?}");
    assert!(refused.stderr.contains("auth.keys"), "{refused:?}");
    assert_eq!(refused.stdout, "");
}

#[apply(trial_with_own_server)]
async fn a_wrong_configuration_names_its_key_and_its_source() {
    let dir = DataDir::new();
    let data = dir.data().display().to_string();
    let file = dir.path().join("wrong.toml").display().to_string();
    let run = |config: &str, env: &[(&str, &str)]| {
        fs::write(&file, config).unwrap();
        let args = [
            "dev",
            "--config",
            &file,
            "--data-dir",
            &data,
            "--listen",
            "127.0.0.1:0",
        ];
        recollect(&[&args[..], &["--json"]].concat(), env)
    };
    for (config, key) in [
        ("server.listen_on = \"x\"", "listen_on"),
        ("sevrer.listen = \"127.0.0.1:0\"", "sevrer"),
        ("database.pool_size = \"many\"", "database.pool_size"),
        ("database.pool_size = 0", "database.pool_size"),
        ("database.pool_timeout = \"soon\"", "database.pool_timeout"),
        ("telemetry.log_format = \"xml\"", "telemetry.log_format"),
        ("telemetry.log_level = \"=,=\"", "telemetry.log_level"),
        ("index.backend = \"redis\"", "index.backend"),
        ("embedding.kind = \"cloud\"", "embedding.kind"),
        ("worker.indexer.lease = \"0s\"", "worker.indexer.lease"),
        (
            "[[auth.keys]]\nname = \"a\"\ntenant = \"t\"\nsha256 = \"zz\"",
            "auth.keys",
        ),
        (
            "[[auth.keys]]\nname = \"a\"\ntenant = \"\"\nsha256 = \"zz\"",
            "auth.keys",
        ),
    ] {
        let refused = run(config, &[]);
        assert_eq!(refused.code, Some(5), "{config}: {refused:?}");
        assert!(refused.stderr.contains(key), "{config}: {refused:?}");
        assert!(
            refused.stderr.contains("wrong.toml"),
            "{config}: {refused:?}"
        );
        assert_eq!(refused.stdout, "", "{config}");
    }
    for (name, value, key) in [
        (
            "RECOLLECT_DATABASE__POOL_SIZE",
            "many",
            "database.pool_size",
        ),
        (
            "RECOLLECT_WORKER__EXPIRY_INTERVAL",
            "-1s",
            "worker.expiry_interval",
        ),
        ("RECOLLECT_SERVER__NO_SUCH_KEY", "1", "no_such_key"),
    ] {
        let refused = run("", &[(name, value)]);
        assert_eq!(refused.code, Some(5), "{name}: {refused:?}");
        assert!(refused.stderr.contains(key), "{name}: {refused:?}");
        assert!(refused.stderr.contains(name), "{name}: {refused:?}");
    }
    let refused = run("this is no TOML", &[]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stderr.contains("wrong.toml"), "{refused:?}");
    let missing = recollect(&["dev", "--config", "/no/such/file.toml"], &[]);
    assert_eq!(missing.code, Some(5), "{missing:?}");
    assert!(missing.stderr.contains("/no/such/file.toml"), "{missing:?}");
    assert!(
        !dir.data().exists(),
        "all is checked before anything is made"
    );
}

#[apply(trial_with_own_server)]
async fn an_occupied_port_is_reported() {
    let dir = DataDir::new();
    let data = dir.data().display().to_string();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let refused = recollect(
        &["dev", "--data-dir", &data, "--listen", &addr, "--json"],
        &[],
    );
    assert!(matches!(refused.code, Some(5 | 6)), "{refused:?}");
    assert!(refused.stderr.contains(&addr), "{refused:?}");
}

#[apply(trial_with_own_server)]
async fn too_many_calls_are_refused_with_a_retry_delay() {
    let (_dir, _server, client) =
        Server::start_own(&Options::with(&["server.max_calls = 2"])).await;
    let thread_id = client.thread("app").await;
    let text = "many words ".repeat(2_000);
    client.append_text(&thread_id, &text).await;
    let calls = (0..60).map(|_| {
        let mut messages = client.messages();
        let request = history_request(&thread_id);
        async move { messages.get_history(request).await }
    });
    let answers = futures::future::join_all(calls).await;
    let refused: Vec<Failure> = answers
        .into_iter()
        .filter_map(|answer| answer.err().map(Failure::from))
        .collect();
    assert!(!refused.is_empty(), "sixty calls at once fit into two");
    assert!(refused.len() < 60, "some are answered");
    for failure in refused {
        let failure = failure.is(Code::ResourceExhausted, "OVERLOADED");
        assert!(failure.retry.is_some_and(|delay| !delay.is_zero()));
    }
    // And then there is room again.
    client.append_turn(&thread_id, "Q", "A").await;
}

//! Conversations in a separate database (`database.chat_url`).

use memory_contract::convert::action_name;
use memory_contract::proto::{
    CreateApiKeyRequest, DeleteSecretRequest, File, FileRef, FileType, GetFileRequest,
    GetHistoryResponse, GetSecretRequest, GetServerInfoRequest, ListTransactionsRequest,
    MemoryPolicy, Part, RegisterFileRequest, Role, SetSecretRequest, file, file_ref,
    get_file_request, part::Content,
};
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, Refused as _, SOON, Server, apply, eventually,
    history_request, http_get, node, node_turn, recall_request, recollect, recollect_at,
    search_request, texts, trial_with_own_server, with_parts,
};
use tonic::Code;

use crate::access::transactions;

const ID: &str = "upload-1";

fn reference() -> Part {
    Part {
        content: Some(Content::File(FileRef {
            r#type: FileType::Image.into(),
            location: Some(file_ref::Location::UploadFileId(ID.to_owned())),
            caption: "A heron on a jetty".to_owned(),
            ..Default::default()
        })),
        ..Default::default()
    }
}

/// Registers the file that is referred to.
async fn register(client: &Client) {
    let request = RegisterFileRequest {
        file: Some(File {
            location: Some(file::Location::UploadFileId(ID.to_owned())),
            r#type: FileType::Image.into(),
            storage_key: "uploads/1.png".to_owned(),
            ..Default::default()
        }),
    };
    client.call(request).await;
}

/// The storage key and the flag of the reference in the newest message.
fn looked_up(history: &GetHistoryResponse) -> (Option<String>, bool) {
    let parts = &history.messages.last().unwrap().parts;
    let Some(Content::File(reference)) = &parts[0].content else {
        panic!("{parts:?}")
    };
    let key = reference.file.as_ref().map(|file| file.storage_key.clone());
    (key, reference.dangling)
}

/// A server on both databases, without a model.
fn serve(dir: &DataDir, env: &[(&str, &str); 2], lines: &[&str]) -> Options {
    let [(_, main), (chat_url, chat)] = env;
    let lines = [&["embedding.kind = \"none\""], lines].concat();
    let options = Options::serve(main, &lines).index(dir, "index");
    options.env(chat_url, chat)
}

async fn rows(cluster: &Cluster, table: &str) -> i64 {
    let admin = cluster.superuser().await;
    let query = format!("SELECT count(*) FROM recollect.{table}");
    admin.query_one(&query, &[]).await.unwrap().get(0)
}

#[apply(trial_with_own_server)]
async fn l07_messages_live_in_another_database_than_the_rest() {
    let (mut main, chat) = (Cluster::start().await, Cluster::start().await);
    let (main_url, chat_url) = (main.url(), chat.url());
    let env = [
        ("DATABASE_URL", main_url.as_str()),
        ("RECOLLECT_DATABASE__CHAT_URL", chat_url.as_str()),
    ];
    let dir = DataDir::new();
    let options = serve(&dir, &env, &[]);
    // A server needs both schemas.
    recollect(&["migrate"], &env[..1]).ok();
    let problem = Server::try_start(&dir, &options).err();
    let problem = problem.expect("one database has no schema");
    assert!(problem.contains("chat_url"), "{problem}");
    let doctor = recollect(&["doctor", "--json"], &env).json_lines();
    let verdict = |check: &str| {
        let line = doctor.iter().find(|line| line["check"] == check);
        line.unwrap_or_else(|| panic!("{check} is not checked"))["verdict"].clone()
    };
    for (check, expected) in [
        ("database", "ok"),
        ("schema", "ok"),
        ("chat database", "ok"),
        ("chat schema", "fail"),
    ] {
        assert_eq!(verdict(check), expected, "{check}");
    }
    let migrated = recollect(&["migrate"], &env).ok().stdout;
    for expected in [
        "database.url: The schema is at version",
        "database.chat_url: applied",
        "database.chat_url: The schema is at version",
    ] {
        assert!(migrated.contains(expected), "{migrated}");
    }
    let shown = recollect(&["config"], &env).ok().stdout;
    assert!(!shown.contains(&chat_url), "{shown}");

    let server = Server::start(&dir, &options);
    let metrics_addr = &server.ready().metrics_addr;
    let client = server.client(Key::Acme).await;
    register(&client).await;
    let thread_id = client.thread("app").await;
    client.append_turn(&thread_id, "Before?", "Before.").await;
    let message = with_parts(Role::User, vec![reference()]);
    let stored = client.append(&thread_id, vec![message]).await;
    let history = client.call(history_request(&thread_id)).await;
    let known = (Some("uploads/1.png".to_owned()), false);
    assert_eq!(history.messages.len(), 3);
    assert_eq!(looked_up(&history), known);
    let question = recall_request(&thread_id, "before", &stored.revision);
    let recalled = client.recall(question).await;
    assert_eq!(recalled.degradations, []);
    assert!(texts(&recalled.messages).contains(&"Before.".to_owned()));

    for (table, in_chat, in_main) in [
        ("threads", 1, 0),
        ("branches", 1, 0),
        ("messages", 3, 0),
        ("files", 0, 1),
    ] {
        let found = (rows(&chat, table).await, rows(&main, table).await);
        assert_eq!(found, (in_chat, in_main), "{table}");
    }
    let (_, metrics) = http_get(metrics_addr, "/metrics").await;
    for pool in ["service", "main", "worker"] {
        let gauge = format!("recollect_pool_open{{pool=\"{pool}\"}}");
        assert!(metrics.contains(&gauge), "{metrics}");
    }
    let (status, body) = http_get(metrics_addr, "/readyz").await;
    assert_eq!(status, 200);
    assert!(body.contains("\"ready\""), "{body}");

    // Without the other database conversations go on.
    main.crash();
    let stored = client.append_turn(&thread_id, "After?", "After.").await;
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(texts(&history.messages)[3..], ["After?", "After."]);
    let search = search_request(&thread_id, "after", &stored.revision);
    assert_eq!(client.search(search).await.degradations, []);
    let message = with_parts(Role::User, vec![reference()]);
    client.append(&thread_id, vec![message]).await;
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(looked_up(&history), (None, false), "the file is unknown");
    let get = || GetFileRequest {
        location: Some(get_file_request::Location::UploadFileId(ID.to_owned())),
    };
    let refused = client.refused(get()).await;
    refused.is(Code::Unavailable, "DATABASE_UNAVAILABLE");
    let state = async |word: &str| {
        let (status, body) = http_get(metrics_addr, "/readyz").await;
        status == 200 && body.contains(&format!("\"{word}\""))
    };
    eventually("it is degraded", SOON, async || state("degraded").await).await;
    let (_, body) = http_get(metrics_addr, "/readyz").await;
    assert!(body.contains("files"), "{body}");
    let health = |service: &str| {
        let args = ["health", "--service", service];
        recollect_at(&server.ready().addr, Key::Acme, &args).code
    };
    assert_eq!(health("recollect.v1.MessageService"), Some(0));
    assert_eq!(health("recollect.v1.FileService"), Some(1));

    main.restart().await;
    eventually("it is ready", SOON, async || state("ready").await).await;
    assert_eq!(health("all"), Some(0));
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(looked_up(&history), known);
}

#[apply(trial_with_own_server)]
async fn l07_keys_and_secrets_are_in_their_own_database_and_both_have_an_audit_log() {
    let (main, mut chat) = (Cluster::start().await, Cluster::start().await);
    let (main_url, chat_url) = (main.url(), chat.url());
    let env = [
        ("DATABASE_URL", main_url.as_str()),
        ("RECOLLECT_DATABASE__CHAT_URL", chat_url.as_str()),
    ];
    recollect(&["migrate"], &env).ok();
    let keys = |args: &[&str]| {
        let args: Vec<&str> = ["keys", args[0], "--tenant", "initech"]
            .into_iter()
            .chain(args[1..].iter().copied())
            .collect();
        recollect(&args, &env).ok()
    };
    let made = keys(&["create", "--name", "backend", "--scope", "admin", "--json"]).json();
    let secret = made["secret"].as_str().unwrap().to_owned();
    let dir = DataDir::new();
    let lines = [
        "auth.database = true",
        "secrets.key = \"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\"",
    ];
    let options = Options {
        keys: Vec::new(),
        ..serve(&dir, &env, &lines).objects(&dir)
    };
    let server = Server::start(&dir, &options);
    let addr = &server.ready().addr;
    let bearer = format!("Bearer {secret}");
    let client = Client::with_authorization(addr, Some(&bearer)).await;

    // From the one database to the other and back.
    let thread_id = client.thread("app").await;
    let request = SetSecretRequest {
        name: "openai".to_owned(),
        value: "hunter6".to_owned(),
    };
    client.call(request).await;
    client.append_turn(&thread_id, "Q", "A").await;
    register(&client).await;
    client.set_policy("app", MemoryPolicy::default()).await;
    let request = CreateApiKeyRequest {
        name: "reports".to_owned(),
        ..Default::default()
    };
    let reports = client.call(request).await;
    let reports = format!("Bearer {}", reports.secret);
    let reports = Client::with_authorization(addr, Some(&reports)).await;
    let request = node_turn(&node(&thread_id, "planner"), "Q", "A");
    reports.call(request).await;
    let get = GetSecretRequest {
        name: "openai".to_owned(),
    };
    let value = client.call(get).await;
    assert_eq!(value.value, "hunter6");
    let delete = DeleteSecretRequest {
        name: "openai".to_owned(),
    };
    client.call(delete).await;

    for (table, in_chat, in_main) in [
        ("api_keys", 0, 2),
        ("app_policies", 1, 0),
        ("node_memories", 1, 0),
        ("node_turns", 1, 0),
    ] {
        let found = (rows(&chat, table).await, rows(&main, table).await);
        assert_eq!(found, (in_chat, in_main), "{table}");
    }
    let expected = [
        ("backend", "delete_secret"),
        ("reports", "add_node_turn"),
        ("backend", "create_api_key"),
        ("backend", "update_app_policy"),
        ("backend", "register_file"),
        ("backend", "append_messages"),
        ("backend", "set_secret"),
        ("backend", "create_thread"),
        ("cli", "create_api_key"),
    ];
    for page_size in [1, 2, 0] {
        let request = ListTransactionsRequest {
            page_size,
            ..Default::default()
        };
        let all = transactions(&client, request).await;
        let listed: Vec<_> = all
            .iter()
            .map(|done| (done.actor.clone(), action_name(done.action())))
            .collect();
        let expected = expected.map(|(actor, action)| (actor.to_owned(), action.to_owned()));
        assert_eq!(listed, expected, "{page_size}");
    }
    let by_actor = ListTransactionsRequest {
        actor: "cli".to_owned(),
        ..Default::default()
    };
    assert_eq!(transactions(&client, by_actor).await.len(), 1);

    // A key can be revoked while the conversations' database is down.
    chat.crash();
    keys(&["revoke", "--name", "reports"]);
    let info = async |client: &Client| {
        let request = GetServerInfoRequest {};
        client.admin().get_server_info(request).await
    };
    let refused = info(&client).await.refused();
    refused.is(Code::Unavailable, "DATABASE_UNAVAILABLE");
    eventually("the key ends", SOON, async || {
        let answer = info(&reports).await;
        answer.is_err_and(|status| status.code() == Code::Unauthenticated)
    })
    .await;
}

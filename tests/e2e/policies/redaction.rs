//! Secrets and personal data are replaced or refused before anything is stored.

use memory_contract::proto::{
    AppendMessagesRequest, CreateApiKeyRequest, KeyBounds, MemoryPolicy, PutMemoryFileRequest,
    Redaction, ReplaceInMemoryFileRequest, Role, SensitiveKind, UserRef,
};
use recollect_tests::{
    Client, Cluster, DataDir, Dynamic, Http, Key, Mcp, Options, PLAIN, SOON, Server,
    VALID_REQUESTS, app, apply, by_session, eventually, metadata, say, session, text_of, texts,
    tool_call, trial, trial_with_own_server,
};
use serde_json::{Value, json};
use tonic::{Code, Status};

use super::set;
use crate::plain;

/// A key of a provider, in two parts: scanners of source code look for whole ones.
fn secret() -> String {
    ["sk_live_", "51Hq8ZtKq3vGd7Yw2nRbXc4Lm"].concat()
}

fn redacting(redaction: Redaction) -> MemoryPolicy {
    MemoryPolicy {
        redaction: redaction.into(),
        ..Default::default()
    }
}

fn reason(status: &Status) -> Option<String> {
    use tonic_types::StatusExt as _;
    Some(status.get_details_error_info()?.reason)
}

/// Requests of an app that has a thread with two messages and a memory.
async fn requests(client: &Client, app: &str) -> Vec<(&'static str, Value)> {
    let owner = json!({ "app_id": app, "user_id": "ada" });
    let stored = json!({
        "thread": { "session": { "app_id": app, "user_id": "ada", "session_key": "k" } },
        "messages": [
            { "role": 1, "parts": [{ "text": "Hello." }] },
            { "role": 2, "parts": [{ "text": "Welcome." }] },
        ],
    });
    let stored = answer(client, "MessageService/AppendMessages", stored).await;
    let memory = json!({ "user": owner, "memories": [{ "text": "Likes tea." }] });
    let memory = answer(client, "MemoryService/AddMemories", memory).await;
    let id = |value: &Value| value.as_str().unwrap().to_owned();
    let names = [
        ("$THREAD", id(&stored["thread_id"])),
        ("$MESSAGE", id(&stored["messages"][0]["message_id"])),
        ("$REPLY", id(&stored["messages"][1]["message_id"])),
        ("$MEMORY", id(&memory["memories"][0]["memory"]["memory_id"])),
        ("$KEY", "k".to_owned()),
        ("$UUID", "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c12".to_owned()),
        ("$NEW", "new".to_owned()),
        ("\"fuzz\"", format!("{app:?}")),
    ];
    let names: Vec<_> = names
        .iter()
        .map(|(name, id)| (*name, id.as_str()))
        .collect();
    let requests = Dynamic::requests(VALID_REQUESTS, &names);
    requests
        .into_iter()
        .map(|(method, request, _)| (method, request))
        .collect()
}

async fn answer(client: &Client, method: &str, request: Value) -> Value {
    let answered = Dynamic::call(client, method, request).await;
    let answered = answered.unwrap_or_else(|error| panic!("{method}: {error}"));
    answered.into_inner().remove(0)
}

/// What a string of a request is.
enum Leaf {
    Text,
    /// A JSON value as text.
    Json,
    /// A name, a setting, or content that only its maker can read.
    Other,
}

/// What the string at a path of JSON is, by the name of its field and by the method.
fn leaf(method: &str, path: &[String]) -> Leaf {
    let mut names = path
        .iter()
        .rev()
        .filter(|name| name.parse::<usize>().is_err());
    let field = names.next().map_or("", String::as_str);
    let above = names.next().map_or("", String::as_str);
    match field {
        // Filters are compared with what is stored, and kinds of memories are settings.
        _ if path
            .iter()
            .any(|name| ["filter", "conditions", "memory_kinds"].contains(&name.as_str())) =>
        {
            Leaf::Other
        }
        "metadata" if method.contains("/List") || method.contains("/Delete") => Leaf::Other,
        "task" if method.contains("/List") => Leaf::Other,
        "data" if method.starts_with("CheckpointService") => Leaf::Other,
        "metadata" | "attributes" | "arguments" | "json" | "data" | "patch" => Leaf::Json,
        "name" if above == "file" => Leaf::Text,
        "queries" if above.is_empty() => Leaf::Text,
        "text" | "title" | "caption" | "query" | "topics" | "entities" | "goal" | "result"
        | "task" | "action" | "error" | "content" | "summary" | "indexed_text" => Leaf::Text,
        _ => Leaf::Other,
    }
}

/// The paths of all strings.
fn strings(value: &Value, path: &[String], found: &mut Vec<Vec<String>>) {
    let below = |name: String| [path, &[name]].concat();
    match value {
        Value::String(_) => found.push(path.to_vec()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                strings(item, &below(index.to_string()), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                strings(field, &below(name.clone()), found);
            }
        }
        _ => {}
    }
}

/// The request with a text in the place of the string at a path; `None` if none belongs there.
fn planted(method: &str, request: &Value, path: &[String], text: &str) -> Option<Value> {
    let mut request = request.clone();
    let place = request.pointer_mut(&format!("/{}", path.join("/")))?;
    *place = match leaf(method, path) {
        Leaf::Other => return None,
        Leaf::Text => json!(format!("I say {text}.")),
        // The form of its messages is what a provider's body has.
        Leaf::Json if path.iter().any(|name| name == "provider_messages") => {
            json!(json!([{ "role": "user", "content": text }]).to_string())
        }
        Leaf::Json => json!(json!({ "a": [text] }).to_string()),
    };
    Some(request)
}

#[apply(trial)]
async fn l15_a_secret_from_before_a_refusing_policy_can_be_taken_out_of_a_file() {
    let client = plain().await;
    let app = app();
    let key = secret();
    let user = Some(UserRef {
        app_id: app.clone(),
        user_id: "ada".to_owned(),
    });
    let put = PutMemoryFileRequest {
        user: user.clone(),
        path: "/notes.md".to_owned(),
        text: format!("The key is {key}.\n"),
        precondition: None,
    };
    client.call(put).await;
    set(&client, &app, redacting(Redaction::Refuse)).await;
    let replace = |old: &str, new: &str| ReplaceInMemoryFileRequest {
        user: user.clone(),
        path: "/notes.md".to_owned(),
        old_text: old.to_owned(),
        new_text: new.to_owned(),
        precondition: None,
    };
    let refused = client.refused(replace("The key", &key)).await;
    let refused = refused.is(Code::InvalidArgument, "TEXT_REFUSED");
    assert_eq!(refused.fields.len(), 1);
    assert_eq!(refused.fields[0].0, "new_text");
    let lines = client.call(replace(&key, "in the vault")).await.lines;
    assert_eq!(lines.unwrap().text, "The key is in the vault.\n");
}

#[apply(trial)]
async fn l15_secrets_are_replaced_before_they_are_stored() {
    let client = plain().await;
    let app = app();
    set(&client, &app, redacting(Redaction::Replace)).await;
    let key = secret();
    let request = AppendMessagesRequest {
        thread: by_session(session(&app, "ada", "k")),
        messages: vec![
            say(
                Role::User,
                &format!("My key is {key}, my card 4111 1111 1111 1111, mail ada@example.org."),
            ),
            tool_call("c1", "pay", json!({ "key": key, "amount": 1.50 })),
        ],
        ..Default::default()
    };
    let answered = client.messages().append_messages(request).await.unwrap();
    let counts = answered.metadata().get("recollect-redacted").unwrap();
    assert_eq!(counts.to_str().unwrap(), "card=1, stripe-key=2");
    let thread_id = answered.into_inner().thread_id;
    let history = client.all_messages(&thread_id).await;
    // E-mail addresses are found only where a policy asks for it.
    assert_eq!(
        text_of(&history[0]),
        "My key is [REDACTED:stripe-key], my card [REDACTED:card], mail ada@example.org."
    );
    let call = format!("{:?}", history[1]);
    assert!(
        call.contains("[REDACTED:stripe-key]") && !call.contains(&key),
        "{call}"
    );

    let kinds = [SensitiveKind::Email, SensitiveKind::Phone]
        .map(Into::into)
        .to_vec();
    let policy = MemoryPolicy {
        redacted_kinds: kinds,
        ..redacting(Redaction::Replace)
    };
    set(&client, &app, policy).await;
    let said = "Mail ada@example.org or call +49 30 901820, with 4111 1111 1111 1111.";
    client.append(&thread_id, vec![say(Role::User, said)]).await;
    let history = client.all_messages(&thread_id).await;
    assert_eq!(
        text_of(&history[2]),
        "Mail [REDACTED:email] or call [REDACTED:phone], with 4111 1111 1111 1111."
    );

    set(&client, &app, redacting(Redaction::Off)).await;
    client.append(&thread_id, vec![say(Role::User, &key)]).await;
    assert_eq!(texts(&client.all_messages(&thread_id).await)[3], key);
}

#[apply(trial)]
async fn l15_every_text_of_every_call_is_looked_at() {
    let client = plain().await;
    let app = app();
    let requests = requests(&client, &app).await;
    set(&client, &app, redacting(Redaction::Refuse)).await;
    let key = secret();
    let mut refused = 0;
    for (method, request) in &requests {
        let mut paths = Vec::new();
        strings(request, &[], &mut paths);
        for path in paths {
            // Files belong to no app: what the server sets holds for them.
            if method.starts_with("FileService") {
                continue;
            }
            let Some(request) = planted(method, request, &path, &key) else {
                continue;
            };
            let place = format!("{method} {}", path.join("."));
            match Dynamic::call(&client, method, request).await {
                Err(status) => {
                    assert_eq!(status.code(), Code::InvalidArgument, "{place}: {status}");
                    assert_eq!(reason(&status).as_deref(), Some("TEXT_REFUSED"), "{place}");
                    assert!(status.message().contains("stripe-key"), "{place}: {status}");
                    assert!(!format!("{status:?}").contains(&key), "{place}: {status:?}");
                }
                // Streams answer for each request.
                Ok(answers) => {
                    let answers = Value::from(answers.into_inner()).to_string();
                    assert!(answers.contains("TEXT_REFUSED"), "{place}: {answers}");
                    assert!(!answers.contains(&key), "{place}: {answers}");
                }
            }
            refused += 1;
        }
    }
    assert!(refused > 45, "{refused} texts");
    let listed = json!({ "target": { "app": { "app_id": app } } });
    let exported = Dynamic::call(&client, "TransferService/ExportRecords", listed).await;
    let exported = Value::from(exported.unwrap().into_inner()).to_string();
    assert!(
        exported.contains("Hello.") && !exported.contains(&key),
        "{exported}"
    );
}

#[apply(trial)]
async fn l15_a_key_of_another_app_does_not_switch_redaction_off() {
    let client = plain().await;
    let (secret_app, other_app) = (app(), app());
    let made = CreateApiKeyRequest {
        name: format!("bound-{other_app}"),
        bounds: Some(KeyBounds {
            app_ids: vec![other_app.clone()],
            ..Default::default()
        }),
        ..Default::default()
    };
    let made = client.call(made).await;
    set(&client, &secret_app, redacting(Redaction::Replace)).await;
    let bearer = format!("Bearer {}", made.secret);
    let bound = Client::with_authorization(&PLAIN.ready().addr, Some(&bearer)).await;
    let said = |app: &str| AppendMessagesRequest {
        thread: by_session(session(app, "ada", "k")),
        messages: vec![say(Role::User, &secret())],
        ..Default::default()
    };
    // The first call after the change reads which apps redact.
    bound.call(said(&other_app)).await;
    let thread_id = client.call(said(&secret_app)).await.thread_id;
    assert_eq!(
        texts(&client.all_messages(&thread_id).await),
        ["[REDACTED:stripe-key]"]
    );
}

#[apply(trial)]
async fn l15_a_providers_body_keeps_its_form() {
    let client = plain().await;
    let app = app();
    set(&client, &app, redacting(Redaction::Replace)).await;
    let key = secret();
    let image = "https://example.org/a.png?token=aB3dE5gH7jK9mN1p&size=2";
    let body = json!([
        { "role": "user", "content": [
            { "type": "text", "text": format!("Pay with {key}.") },
            { "type": "image_url", "image_url": { "url": image } },
        ] },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "4111111111111111", "type": "function", "function": {
                "name": "pay", "arguments": json!({ "card": 4_111_111_111_111_111_u64 }).to_string() } },
        ] },
        { "role": "tool", "tool_call_id": "4111111111111111", "content": format!("{{\"key\": \"{key}\"}}") },
    ]);
    let request = json!({
        "thread": { "session": { "app_id": app, "user_id": "ada", "session_key": "k" } },
        "provider_messages": [{ "format": 1, "json": body.to_string() }],
    });
    let stored = answer(&client, "MessageService/AppendMessages", request).await;
    let request = json!({ "thread": { "thread_id": stored["thread_id"] }, "formats": [1] });
    let history = answer(&client, "MessageService/GetHistory", request).await;
    let rendered: Value =
        serde_json::from_str(history["rendered"][0]["body"].as_str().unwrap()).unwrap();
    let text = rendered.to_string();
    assert!(!text.contains(&key), "{text}");
    assert!(
        text.contains(image) && text.contains("Pay with [REDACTED:stripe-key]."),
        "{text}"
    );
    let messages = rendered.get("messages").unwrap_or(&rendered);
    let call = &messages[1]["tool_calls"][0];
    assert_eq!(call["id"], "4111111111111111", "{text}");
    assert_eq!(messages[2]["tool_call_id"], "4111111111111111", "{text}");
    let arguments = call["function"]["arguments"].as_str().unwrap();
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    assert_eq!(arguments, json!({ "card": "[REDACTED:card]" }));
}

#[apply(trial)]
async fn l15_ids_that_look_personal_stay_apart() {
    let client = plain().await;
    let app = app();
    let kinds = SensitiveKind::Email.into();
    let policy = MemoryPolicy {
        redacted_kinds: vec![kinds],
        ..redacting(Redaction::Replace)
    };
    set(&client, &app, policy).await;
    let mut threads = Vec::new();
    for user in ["ada@example.org", "bob@example.org"] {
        let request = AppendMessagesRequest {
            thread: by_session(session(&app, user, user)),
            messages: vec![say(Role::User, &format!("I am {user}."))],
            ..Default::default()
        };
        threads.push(client.call(request).await.thread_id);
    }
    assert_ne!(threads[0], threads[1]);
    for thread_id in threads {
        assert_eq!(
            texts(&client.all_messages(&thread_id).await),
            ["I am [REDACTED:email]."]
        );
    }
}

#[apply(trial)]
async fn l15_json_and_mcp_are_redacted_as_grpc_is() {
    let client = plain().await;
    let app = app();
    set(&client, &app, redacting(Redaction::Replace)).await;
    let addr = &PLAIN.ready().addr;
    let key = secret();
    let http = Http::new(addr, Key::Acme);
    let request = json!({
        "thread": { "session": { "app_id": app, "user_id": "ada", "session_key": "k" } },
        "messages": [{ "role": "ROLE_USER", "parts": [{ "text": format!("It is {key}.") }] }],
    });
    let answered = http.call("MessageService/AppendMessages", &request).await;
    assert_eq!(answered.headers["recollect-redacted"], "stripe-key=1");
    let thread_id = answered.ok()["threadId"].as_str().unwrap().to_owned();
    assert_eq!(
        texts(&client.all_messages(&thread_id).await),
        ["It is [REDACTED:stripe-key]."]
    );

    let mcp = Mcp::http(addr, Key::Acme, Some(&app), Some("ada"));
    let remembered = mcp
        .tool("remember", json!({ "text": format!("Uses {key}.") }))
        .await;
    assert!(!remembered.to_string().contains(&key), "{remembered}");
    let target = json!({ "target": { "user": { "app_id": app, "user_id": "ada" } } });
    let memories = answer(&client, "MemoryService/ListMemories", target)
        .await
        .to_string();
    assert!(
        memories.contains("Uses [REDACTED:stripe-key]."),
        "{memories}"
    );
}

#[apply(trial)]
async fn l15_imports_are_redacted_and_say_so() {
    let client = plain().await;
    let app = app();
    let key = secret();
    let said = json!({
        "thread": { "session": { "app_id": app, "user_id": "ada", "session_key": "k" } },
        "messages": [{ "role": 1, "parts": [{ "text": format!("It is {key}.") }] }],
        "request_id": "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c13",
    });
    answer(&client, "MessageService/AppendMessages", said.clone()).await;
    let memory = json!({ "user": { "app_id": app, "user_id": "ada" },
        "memories": [{ "text": format!("Uses {key}."), "metadata": metadata(json!({ "k": key })) }] });
    answer(&client, "MemoryService/AddMemories", memory).await;
    let target = json!({ "target": { "app": { "app_id": app } } });
    let exported = Dynamic::call(&client, "TransferService/ExportRecords", target.clone()).await;
    let exported: Vec<Value> = exported.unwrap().into_inner();
    assert!(Value::from(exported.clone()).to_string().contains(&key));

    let delete = json!({ "app": { "app_id": app } });
    let deletion = answer(&client, "AdminService/DeleteApp", delete).await;
    let deletion = json!({ "deletion_id": deletion["deletion"]["deletion_id"] });
    eventually("the app is deleted", SOON, async || {
        let state = answer(&client, "AdminService/GetDeletion", deletion.clone()).await;
        state["deletion"].get("finish_time").is_some()
    })
    .await;
    set(&client, &app, redacting(Redaction::Replace)).await;
    let http = Http::new(&PLAIN.ready().addr, Key::Acme);
    let answers = http
        .stream("TransferService/ImportRecords", &exported)
        .await;
    let answers = answers
        .iter()
        .map(|answer| answer.json())
        .collect::<Vec<_>>();
    let summary = answers.iter().find_map(|answer| answer.get("summary"));
    let summary = summary.unwrap_or_else(|| panic!("{answers:?}"));
    assert_eq!(summary["redactionCount"], "3", "{answers:?}");
    assert_eq!(
        summary["completeness"], "EXPORT_COMPLETENESS_COMPLETE",
        "{answers:?}"
    );
    let imported = Dynamic::call(&client, "TransferService/ExportRecords", target).await;
    let imported = Value::from(imported.unwrap().into_inner()).to_string();
    assert_eq!(
        imported.matches("[REDACTED:stripe-key]").count(),
        3,
        "{imported}"
    );
    assert!(!imported.contains(&key), "{imported}");

    // Messages of other applications.
    let import = json!({
        "thread": { "session": { "app_id": app, "user_id": "bob", "session_key": "k" } },
        "messages": said["messages"],
    });
    let stored = answer(&client, "MessageService/ImportMessages", import).await;
    assert_eq!(stored["imported"]["redaction_count"], 1, "{stored}");
}

#[apply(trial_with_own_server)]
async fn l15_what_is_replaced_is_in_no_table_and_in_no_log() {
    let (cluster, url) = Cluster::migrated().await;
    let admin = cluster.superuser().await;
    let dir = DataDir::new();
    let lines = [
        "policy.redaction = \"replace\"",
        "embedding.kind = \"none\"",
    ];
    let options = Options::serve(&url, &lines)
        .index(&dir, "index")
        .objects(&dir);
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let key = secret();
    let mut sent = 0;
    for (method, request) in requests(&client, "fuzz").await {
        let mut paths = Vec::new();
        strings(&request, &[], &mut paths);
        let mut all = request.clone();
        for path in &paths {
            all = planted(method, &all, path, &key).unwrap_or(all);
        }
        if all != request {
            // A request that another has made impossible is refused, after it was redacted.
            let _ = Dynamic::call(&client, method, all).await;
            sent += 1;
        }
    }
    assert!(sent > 25, "{sent} requests");
    let tables = "SELECT relname FROM pg_class WHERE relkind = 'r' \
                  AND relnamespace = 'recollect'::regnamespace";
    let mut replaced = 0;
    for table in admin.query(tables, &[]).await.unwrap() {
        let table: String = table.get(0);
        let all =
            format!("SELECT COALESCE(string_agg(t::text, E'\\n'), '') FROM recollect.{table} t");
        let rows: String = admin.query_one(&all, &[]).await.unwrap().get(0);
        assert!(!rows.contains(&key), "the secret is in {table}");
        replaced += rows.matches("[REDACTED:stripe-key]").count();
    }
    assert!(replaced > 15, "{replaced} places");
    assert!(!dir.log().contains(&key), "the secret is in the log");
}

#[apply(trial_with_own_server)]
async fn l15_another_process_redacts_soon_after_the_policy_is_set() {
    let (_cluster, url) = Cluster::migrated().await;
    let dirs = [DataDir::new(), DataDir::new()];
    let start = |dir| {
        let options = Options::serve(&url, &["embedding.kind = \"none\""]);
        Server::start(dir, &options.without_worker())
    };
    let servers = [start(&dirs[0]), start(&dirs[1])];
    let here = servers[0].client(Key::Acme).await;
    let there = servers[1].client(Key::Acme).await;
    let thread_id = there.thread("app").await;
    there
        .append(&thread_id, vec![say(Role::User, "Hello.")])
        .await;
    set(&here, "app", redacting(Redaction::Replace)).await;
    eventually("the other process redacts", SOON, async || {
        there
            .append(&thread_id, vec![say(Role::User, &secret())])
            .await;
        let history = texts(&there.all_messages(&thread_id).await);
        history.last().unwrap() == "[REDACTED:stripe-key]"
    })
    .await;
}

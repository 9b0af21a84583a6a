//! A whole tenant is exported to another server and back.

use memory_contract::proto::{
    AddNodeTurnRequest, AgentEvent, AppendEventsRequest, CheckpointValue, CheckpointWrite,
    DocumentInput, ExportRecordsRequest, FileRef, FileType, GetAppPolicyRequest, ListFilesRequest,
    MemoryInput, MemoryPolicy, MessageInput, NodeMessageInput, OpaquePart, Part, ProviderFormat,
    PutCheckpointRequest, PutCheckpointWritesRequest, PutDocumentsRequest, Reasoning,
    ResolveThreadRequest, Role, SetHeadRequest, SupersedeMemoryRequest, ToolResult, UserRef,
    add_node_turn_request::Parent as NodeParent, file, file_ref, message_input::Parent,
    part::Content, record::Kind, tool_result_part,
};
use prost_types::Timestamp;
use recollect_tests::{
    Client, DataDir, Key, Options, Server, apply, attempt, by_id, history_request, memory,
    metadata, node, plan, put, recollect_at, reply, say, says, session, texts, tool_call,
    trial_with_own_server, turn, with_parts,
};
use serde_json::{Value, json as data};

use super::{records, register, split, summary};

fn reference(location: file_ref::Location) -> Part {
    Part {
        content: Some(Content::File(FileRef {
            r#type: FileType::Image.into(),
            location: Some(location),
            name: "n".to_owned(),
            caption: "Ein Bild".to_owned(),
            ..Default::default()
        })),
        ..Default::default()
    }
}

async fn append(client: &Client, thread: &str, messages: Vec<MessageInput>) -> Vec<String> {
    let stored = client.append(thread, messages).await.messages;
    stored
        .into_iter()
        .map(|message| message.message_id)
        .collect()
}

async fn erase(client: &Client, thread: &str, message: &str) {
    client.delete_message(thread, message).await;
}

/// A thread with all kinds of content, and a tree in which messages were erased.
async fn rich_thread(client: &Client) -> String {
    let request = ResolveThreadRequest {
        session: Some(session("shop", "ada", "thread:rich")),
        title: "Ein Titel 🦀".to_owned(),
        metadata: metadata(data!({"k": [1, 2.5, null, {"ü": true}]})),
        policy: Some(MemoryPolicy {
            top_k: Some(7),
            min_score: Some(0.3),
            ..Default::default()
        }),
        ..Default::default()
    };
    let thread = client.call(request).await.thread.unwrap().thread_id;

    let mut first = say(Role::User, "Q\u{2028}1 \"quoted\" 日本語");
    first.name = "Ada".to_owned();
    first.user_id = "ada's sister".to_owned();
    first.external_id = "msg_1 ß".to_owned();
    first.metadata = metadata(data!({"n": 1.5, "deep": {"a": [true]}}));
    first.create_time = Some(Timestamp {
        seconds: 1_500_000_000,
        nanos: 123_456_000,
    });
    let ids = append(client, &thread, vec![first, say(Role::Assistant, "A1")]).await;
    let (question, answer) = (&ids[0], &ids[1]);

    // A branch whose first message is erased: what follows it hangs on Q1.
    let other = append(
        client,
        &thread,
        vec![reply(question, Role::Assistant, "A2")],
    )
    .await;
    append(client, &thread, turn("Q2 after A2", "A4")).await;
    erase(client, &thread, &other[0]).await;
    // A message erased in the middle of a branch.
    let middle = append(client, &thread, vec![reply(answer, Role::User, "gone")]).await;
    append(
        client,
        &thread,
        vec![say(Role::Assistant, "after what is gone")],
    )
    .await;
    erase(client, &thread, &middle[0]).await;

    // A second root with tools, data and files.
    let mut root = say(Role::User, "A new beginning");
    root.parent = Some(Parent::Root(()));
    let result = ToolResult {
        tool_call_id: "c1".to_owned(),
        name: "look".to_owned(),
        content: vec![
            tool_result_part::Content::Json("{\"x\": [1e300, -7.0, 9007199254740993]}".to_owned())
                .into(),
            tool_result_part::Content::Text("seen".to_owned()).into(),
        ],
        is_error: true,
    };
    let structured = Part {
        content: Some(Content::Json(
            "{\"a\" : {\"b\": [0.10, \"ß\", false]}}".to_owned(),
        )),
        ..Default::default()
    };
    let thought = Content::Reasoning(Reasoning {
        provider: ProviderFormat::OpenaiResponses.into(),
        id: "rs_1".to_owned(),
        text: "Hm.\n".to_owned(),
        summaries: vec!["**Thinks**".to_owned()],
        signature: "EqQB+/==".to_owned(),
        encrypted_content: "gAAA".to_owned(),
    });
    let built_in = Content::Opaque(OpaquePart {
        provider: ProviderFormat::Gemini.into(),
        r#type: "executableCode".to_owned(),
        json: "{ \"executableCode\": {\"n\": 1.0} }".to_owned(),
    });
    let signed = Part {
        signature: "c2lnbmVk".to_owned(),
        ..Content::Text("Found.".to_owned()).into()
    };
    let files = [
        file_ref::Location::UploadFileId("up-1".to_owned()),
        file_ref::Location::Url("https://example.org/a?b=c#d".to_owned()),
        file_ref::Location::ToolFileId("nowhere".to_owned()),
    ];
    append(
        client,
        &thread,
        vec![
            root,
            tool_call("c1", "look", data!({"at": "moon", "n": 3})),
            with_parts(
                Role::Tool,
                vec![Part {
                    content: Some(Content::ToolResult(result)),
                    ..Default::default()
                }],
            ),
            with_parts(
                Role::Assistant,
                vec![thought.into(), built_in.into(), structured, signed],
            ),
            with_parts(Role::User, files.map(reference).to_vec()),
        ],
    )
    .await;
    // The head is not what came last.
    let request = SetHeadRequest {
        thread: by_id(&thread),
        head_message_id: answer.clone(),
        expected_head: None,
    };
    client.call(request).await;
    thread
}

/// Memories of two nodes: one with two branches, half of it flushed, and one
/// whose turn waits.
async fn nodes(client: &Client, thread: &str) {
    let planner = node(thread, "planner/ä");
    let side = |id: &str, content: &str| NodeMessageInput {
        message_id: id.to_owned(),
        content: content.to_owned(),
        files: Vec::new(),
        create_time: Some(Timestamp {
            seconds: 1_600_000_000,
            nanos: 5_000,
        }),
    };
    let request = |parent: &str, number: u32| AddNodeTurnRequest {
        node: Some(planner.clone()),
        parent: (!parent.is_empty()).then(|| NodeParent::ParentMessageId(parent.to_owned())),
        user: Some(side(&format!("q{number}"), "Frage?")),
        assistant: Some(side(&format!("a{number}"), "")),
        ..Default::default()
    };
    client.call(request("", 1)).await;
    client.call(request("", 2)).await;
    client.flush_node(&planner).await;
    let mut branch = request("a1", 3);
    branch.user.as_mut().unwrap().files = vec![FileRef {
        r#type: FileType::Audio.into(),
        location: Some(file_ref::Location::UploadFileId("up-2".to_owned())),
        ..Default::default()
    }];
    client.call(branch).await;
    let mut root = request("", 4);
    root.parent = Some(NodeParent::Root(()));
    root.assistant = Some(says("Auch ein Anfang."));
    client.call(root).await;
    client
        .add_node_turn(&node(thread, "critic"), "Gut?", "Nein.")
        .await;
}

/// A plan, a log with an attempt that was made twice alike, and memories: of a
/// record that is proved, of what held once, and of the app.
async fn knowledge(client: &Client, thread: &str) {
    let mut wanted = plan("Ein Ziel", &["Erst", "Dann"]);
    wanted.data = metadata(data!({"n": [1, {"ü": null}], "id": 1234567890123456789_i64}));
    wanted.steps[1].result = "Fertig".to_owned();
    client.put_plan(put(thread, "", wanted)).await;
    for error in ["Zu früh", "Zu früh", ""] {
        let attempt = attempt("task", "Versuch", error);
        client.log_attempt(thread, attempt, "").await;
    }
    let said = client.all_messages(thread).await;
    let sources = |range: std::ops::Range<usize>| {
        let ids = said[range].iter().map(|said| said.message_id.clone());
        ids.collect()
    };
    let home = MemoryInput {
        external_id: "home".to_owned(),
        topics: vec!["places".to_owned()],
        entities: vec!["Köln".to_owned()],
        source_message_ids: sources(0..2),
        event_time: Some(Timestamp {
            seconds: 1_400_000_000,
            nanos: 7_000,
        }),
        pinned: Some(true),
        metadata: metadata(data!({"quelle": {"größe": [1, 2.5, null]}})),
        ..memory("Wohnt in Köln")
    };
    let known = client.remember("shop", "ada", vec![home]).await;
    let request = SupersedeMemoryRequest {
        memory_id: known.memories[0].memory.clone().unwrap().memory_id,
        replacement: Some(MemoryInput {
            external_id: "home".to_owned(),
            source_message_ids: sources(2..3),
            ..memory("Wohnt in Bonn")
        }),
    };
    client.call(request).await;
    client.remember_one("shop", "", "Closed on Sundays").await;
}

/// Events, checkpoints with values that come in several messages, and documents: one that
/// queries match, one that lives for a time, and one of the app.
async fn runs(client: &Client, thread: &str) {
    let said = client.all_messages(thread).await;
    let event = |kind: &str, message: Option<&str>| AgentEvent {
        r#type: kind.to_owned(),
        json: metadata(data!({"n": [1, null]})),
        message_id: message.map(str::to_owned),
        ..Default::default()
    };
    let request = AppendEventsRequest {
        thread: by_id(thread),
        events: vec![
            event("begin", None),
            event("said", Some(&said[0].message_id)),
        ],
        ..Default::default()
    };
    client.call(request).await;

    let value = |channel: &str, version: &str, data: Option<Vec<u8>>| CheckpointValue {
        channel: channel.to_owned(),
        version: version.to_owned(),
        r#type: "bytes".to_owned(),
        data,
    };
    let large = |seed: u8| -> Vec<u8> {
        let numbers = 0..3_000_000_u32;
        numbers
            .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8 ^ seed)
            .collect()
    };
    for (id, parent, values) in [
        ("1", "", vec![value("a", "1", Some(large(1)))]),
        (
            "2",
            "1",
            vec![value("a", "1", None), value("b", "1", Some(large(2)))],
        ),
        (
            "3",
            "2",
            vec![
                value("a", "1", None),
                value("b", "1", None),
                value("c", "1", Some(vec![])),
            ],
        ),
    ] {
        let request = PutCheckpointRequest {
            thread: by_id(thread),
            checkpoint_id: id.to_owned(),
            parent_checkpoint_id: parent.to_owned(),
            r#type: "json".to_owned(),
            data: format!("body of {id}").into_bytes(),
            metadata: metadata(data!({"step": 1.5, "ü": [id]})),
            values,
            ..Default::default()
        };
        let put = client.call(request).await;
        assert_eq!(put.missing_value_count, 0);
    }
    let write = |index: i32, data: Vec<u8>| CheckpointWrite {
        task_id: "t".to_owned(),
        task_path: "~".to_owned(),
        index,
        channel: "c".to_owned(),
        r#type: "bytes".to_owned(),
        data,
    };
    for writes in [
        vec![write(-1, vec![0, 255]), write(0, large(3))],
        vec![write(1, large(4))],
    ] {
        let request = PutCheckpointWritesRequest {
            thread: by_id(thread),
            checkpoint_id: "3".to_owned(),
            writes,
            ..Default::default()
        };
        client.call(request).await;
    }
    for (user, key, ttl, fields) in [
        ("ada", "notes", None, vec!["text".to_owned()]),
        ("ada", "for a while", Some(86_400), vec![]),
        ("", "rules", None, vec![]),
    ] {
        let request = PutDocumentsRequest {
            user: Some(UserRef {
                app_id: "shop".to_owned(),
                user_id: user.to_owned(),
            }),
            documents: vec![DocumentInput {
                namespace: vec!["a".to_owned(), "ü".to_owned()],
                key: key.to_owned(),
                json: "{\"text\": \"Zebras graze.\", \"n\": [1.50, 9007199254740993]}".to_owned(),
                ttl: ttl.map(|seconds| prost_types::Duration { seconds, nanos: 0 }),
                index_fields: fields,
            }],
        };
        client.call(request).await;
    }
}

/// Data of every kind that an export has.
pub(super) async fn populate(client: &Client) {
    for (app, label) in [("shop", "Kundin"), ("unused", "Human")] {
        let policy = MemoryPolicy {
            top_k: Some(9),
            user_label: Some(label.to_owned()),
            ..Default::default()
        };
        client.set_policy(app, policy).await;
    }
    for id in ["up-1", "up-2", "unused"] {
        register(client, file::Location::UploadFileId(id.to_owned())).await;
    }
    let url = "https://example.org/a?b=c#d".to_owned();
    register(client, file::Location::Url(url)).await;
    // Threads before and behind, one of them empty.
    let before = client.resolve(session("shop", "ada", "thread:0")).await;
    append(client, &before.thread_id, turn("Before?", "Before.")).await;
    let thread = rich_thread(client).await;
    nodes(client, &thread).await;
    knowledge(client, &thread).await;
    runs(client, &thread).await;
    client.resolve(session("other", "", "global")).await;
    let last = client.resolve(session("other", "bob", "user:bob")).await;
    for block in 0..3 {
        let said = (0..150).map(|n| say(Role::User, &format!("{block}.{n}")));
        append(client, &last.thread_id, said.collect()).await;
    }
}

async fn files_of(client: &Client) -> Vec<file::Location> {
    let request = ListFilesRequest::default();
    let files = client.call(request).await.files;
    files
        .into_iter()
        .map(|file| file.location.unwrap())
        .collect()
}

#[apply(trial_with_own_server)]
async fn l12_a_whole_tenant_comes_back_identical() {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (_dir, server, client) = Server::start_own(&options).await;
    populate(&client).await;
    let all = ExportRecordsRequest::default();
    let (sent, reported) = split(records(&client, all.clone()).await);
    let counts = [
        reported.app_policy_count,
        reported.file_count,
        reported.thread_count,
        reported.node_count,
        reported.node_message_count,
        reported.unreadable_node_count,
        reported.plan_count,
        reported.attempt_count,
        reported.memory_count,
        reported.event_count,
        reported.checkpoint_count,
        reported.document_count,
    ];
    assert_eq!(counts, [2, 4, 4, 2, 10, 0, 1, 3, 3, 2, 3, 3]);
    assert_eq!(reported.message_count, 2 + 10 + 450);
    assert_eq!(reported.checksum.len(), 64);

    // The messages are sent as a tree without holes.
    let mut ids = vec![String::new()];
    for record in &sent {
        if let Kind::Message(message) = record {
            assert!(ids.contains(&message.parent_message_id), "{message:?}");
            ids.push(message.message_id.clone());
        }
    }
    // Data of other tenants is not in it.
    let globex = server.client(Key::Globex).await;
    let nothing = split(records(&globex, all.clone()).await);
    assert_eq!((nothing.0, nothing.1.thread_count), (vec![], 0));

    let out = tempfile::tempdir().unwrap();
    let path = |name: &str| out.path().join(name).display().to_string();
    let (first, second) = (path("first.jsonl"), path("second.jsonl"));
    let addr = &server.ready().addr;
    let exported = recollect_at(addr, Key::Acme, &["export", "--output", &first]).ok();
    assert!(exported.stderr.contains(&reported.checksum), "{exported:?}");

    let other_dir = DataDir::new();
    let other = Server::start(&other_dir, &options);
    let import = |server: &Server| {
        let args = ["import", &first, "--json", "--no-wait"];
        recollect_at(&server.ready().addr, Key::Acme, &args)
            .ok()
            .json()
    };
    let imported = import(&other);
    let expected = data!({"threads": 3, "stored": 462, "known": 0, "app_policies": 2, "files": 4,
        "node_turns": 5, "plans": 1, "attempts": 3, "memories": 3, "missing_sources": 0,
        "events": 2, "checkpoints": 3, "documents": 3,
        "refused": 0, "checked": true, "checksum": reported.checksum});
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&imported[key], value, "{key}: {imported}");
    }

    // What is there now is exported as what it was made of.
    let copy = other.client(Key::Acme).await;
    assert_eq!(summary(&copy, all.clone()).await, reported);
    let args = ["export", "--output", &second];
    let again = recollect_at(&other.ready().addr, Key::Acme, &args).ok();
    assert!(again.stderr.contains(&reported.checksum), "{again:?}");
    let summary_of = |path: &str| -> Value {
        let text = std::fs::read_to_string(path).unwrap();
        serde_json::from_str(text.lines().last().unwrap()).unwrap()
    };
    assert_eq!(summary_of(&first), summary_of(&second));

    // And not only by its checksum.
    assert_eq!(files_of(&copy).await, files_of(&client).await);
    let request = GetAppPolicyRequest {
        app_id: "shop".to_owned(),
    };
    let policy = copy.call(request).await.app_policy.unwrap().policy.unwrap();
    assert_eq!((policy.top_k, policy.user_label()), (Some(9), "Kundin"));
    let rich = session("shop", "ada", "thread:rich");
    let (from, to) = (
        client.resolve(rich.clone()).await,
        copy.resolve(rich.clone()).await,
    );
    assert_eq!((&to.title, &to.metadata), (&from.title, &from.metadata));
    assert_eq!(to.head_message_id, from.head_message_id);
    for end in ["A4", "after what is gone", "A1"] {
        let head = client.all_messages(&from.thread_id).await;
        let head = head.into_iter().find(|m| texts([m]) == [end]).unwrap();
        let read = async |client: &Client, thread: &str| {
            let mut request = history_request(thread);
            request.head_message_id.clone_from(&head.message_id);
            texts(&client.call(request).await.messages)
        };
        let (was, is) = (
            read(&client, &from.thread_id).await,
            read(&copy, &to.thread_id).await,
        );
        assert_eq!(was, is, "{end}");
    }
    let home = async |client: &Client, thread: &str| {
        let known = client.all_memories("shop", "ada").await;
        let (newest, superseded) = client.get_memory(&known[0].memory_id).await;
        assert_eq!((known.len(), &superseded[..]), (2, &known[1..]));
        assert_eq!(superseded[0].superseded_by, newest.memory_id);
        let threads = [&newest.thread_id, &superseded[0].thread_id];
        assert_eq!(threads, [thread; 2]);
        let sources = superseded[0].source_message_ids.clone();
        assert!(superseded[0].known_until.is_some());
        (newest.text, sources, superseded[0].known_until)
    };
    let (was, is) = (
        home(&client, &from.thread_id).await,
        home(&copy, &to.thread_id).await,
    );
    assert_eq!(was, is);
    assert_eq!(was.1.len(), 2);
    let plans = [
        client.get_plan(&from.thread_id).await,
        copy.get_plan(&to.thread_id).await,
    ];
    assert_eq!(plans[0].steps, plans[1].steps);
    for current in ["a2", "a3", "q4"] {
        let dialogue = async |client: &Client, thread: &str| {
            let node = node(thread, "planner/ä");
            client.node_dialogue(&node, current).await
        };
        let (was, is) = (
            dialogue(&client, &from.thread_id).await,
            dialogue(&copy, &to.thread_id).await,
        );
        assert_eq!(was, is, "{current}");
    }

    // Once more: nothing is stored twice, and it is still the same.
    let again = import(&other);
    assert_eq!(
        (&again["stored"], &again["known"], &again["checked"]),
        (&data!(0), &data!(462), &data!(true)),
        "{again}"
    );
    assert_eq!(summary(&copy, all).await, reported);
}

//! A key without the scope `delete` shortens no life of stored content.

use memory_contract::proto::{
    AddMemoriesRequest, AppPolicy, CheckpointValue, CheckpointWrite, CreateThreadRequest,
    DocumentInput, DocumentRef, GetCheckpointRequest, GetDocumentsRequest, ImportMemoriesRequest,
    KeyScope, MemoryPolicy, PutCheckpointRequest, PutCheckpointWritesRequest, PutDocumentsRequest,
    PutWorkingMemoryRequest, SupersedeMemoryRequest, Thread, UpdateAppPolicyRequest,
    UpdateThreadRequest, UserRef,
};
use recollect_tests::{
    Client, Failure, PLAIN, app, apply, by_id, by_session, listed, mask, memory, of_user, seconds,
    session, trial,
};
use tonic::Code;

use super::{caller, create_key};
use crate::plain;

const DAY: i64 = 86_400;

/// An administrator, and a caller who may read and write.
async fn callers() -> (Client, Client) {
    let admin = plain().await;
    let scopes = [KeyScope::Read, KeyScope::Write];
    let made = create_key(&admin, &format!("key-{}", app()), &scopes).await;
    let writer = caller(&PLAIN.ready().addr, &made.secret).await;
    (admin, writer)
}

fn names(failure: Failure, field: &str) {
    let failure = failure.is(Code::PermissionDenied, "PERMISSION_DENIED");
    assert_eq!(failure.metadata["scope"], "delete", "{failure:?}");
    assert_eq!(failure.metadata["field"], field, "{failure:?}");
    assert!(failure.message.contains("`delete`"), "{failure:?}");
}

fn ada(app: &str) -> Option<UserRef> {
    Some(UserRef {
        app_id: app.to_owned(),
        user_id: "ada".to_owned(),
    })
}

fn with_ttl(thread_id: &str, ttl: Option<i64>) -> UpdateThreadRequest {
    UpdateThreadRequest {
        thread: Some(Thread {
            thread_id: thread_id.to_owned(),
            ttl: ttl.map(seconds),
            ..Default::default()
        }),
        update_mask: Some(mask(&["ttl"])),
        precondition: None,
    }
}

fn app_policy(app: &str, policy: MemoryPolicy, paths: &[&str]) -> UpdateAppPolicyRequest {
    UpdateAppPolicyRequest {
        app_policy: Some(AppPolicy {
            app_id: app.to_owned(),
            policy: Some(policy),
            ..Default::default()
        }),
        update_mask: (!paths.is_empty()).then(|| mask(paths)),
        precondition: None,
    }
}

#[apply(trial)]
async fn l06_a_writer_prolongs_the_life_of_a_thread_and_does_not_shorten_it() {
    let (admin, writer) = callers().await;
    let thread_id = writer.thread(&app()).await;
    writer.append_turn(&thread_id, "Q", "A").await;
    names(
        writer.refused(with_ttl(&thread_id, Some(1))).await,
        "thread.ttl",
    );
    names(
        writer
            .refused(with_ttl(&thread_id, Some(DAY * 3_650)))
            .await,
        "thread.ttl",
    );
    assert_eq!(writer.get_thread(&thread_id).await.expire_time, None);

    admin.call(with_ttl(&thread_id, Some(DAY))).await;
    names(
        writer.refused(with_ttl(&thread_id, Some(DAY / 2))).await,
        "thread.ttl",
    );
    writer.call(with_ttl(&thread_id, Some(DAY * 2))).await;
    writer.call(with_ttl(&thread_id, None)).await;
    assert_eq!(writer.get_thread(&thread_id).await.expire_time, None);
    assert_eq!(writer.all_messages(&thread_id).await.len(), 2);

    // A new thread may have any lifetime.
    let created = CreateThreadRequest {
        session: Some(session(&app(), "ada", "s")),
        ttl: Some(seconds(60)),
        ..Default::default()
    };
    let created = writer.call(created).await.thread.unwrap();
    assert!(created.expire_time.is_some());
    // The end of an ephemeral thread moves with each use, unless a lifetime is set.
    let ephemeral = CreateThreadRequest {
        session: Some(session(&app(), "ada", "s")),
        ephemeral: true,
        ..Default::default()
    };
    let ephemeral = writer.call(ephemeral).await.thread.unwrap().thread_id;
    names(
        writer.refused(with_ttl(&ephemeral, Some(DAY))).await,
        "thread.ttl",
    );
}

#[apply(trial)]
async fn l06_a_writer_adds_documents_and_replaces_none() {
    let (admin, writer) = callers().await;
    let app = app();
    let put = |key: &str, json: &str, ttl: Option<i64>| PutDocumentsRequest {
        user: ada(&app),
        documents: vec![
            DocumentInput {
                namespace: vec!["notes".to_owned()],
                key: format!("new-{key}-{json}"),
                json: "{}".to_owned(),
                ..Default::default()
            },
            DocumentInput {
                namespace: vec!["notes".to_owned()],
                key: key.to_owned(),
                json: json.to_owned(),
                ttl: ttl.map(seconds),
                ..Default::default()
            },
        ],
    };
    writer.call(put("a", r#"{"n": 1}"#, None)).await;
    for replacing in [
        put("a", r#"{"n": 2}"#, None),
        put("a", r#"{"n": 1}"#, Some(1)),
    ] {
        names(writer.refused(replacing).await, "documents[1]");
    }
    // The same document may live longer, and not shorter, also after a refresh.
    writer.call(put("b", "{}", Some(DAY))).await;
    writer.call(put("b", "{}", Some(DAY * 2))).await;
    names(
        writer.refused(put("b", "{}", Some(DAY))).await,
        "documents[1]",
    );
    let read = GetDocumentsRequest {
        user: ada(&app),
        documents: vec![DocumentRef {
            namespace: vec!["notes".to_owned()],
            key: "a".to_owned(),
        }],
        ..Default::default()
    };
    let kept = writer.call(read.clone()).await.documents;
    assert_eq!(kept[0].json, r#"{"n": 1}"#);
    assert_eq!(kept[0].expire_time, None);
    admin.call(put("a", r#"{"n": 2}"#, None)).await;
    assert_eq!(writer.call(read).await.documents[0].json, r#"{"n": 2}"#);
}

#[apply(trial)]
async fn l06_a_writer_adds_checkpoints_and_replaces_none() {
    let (admin, writer) = callers().await;
    let app = app();
    let thread = by_session(session(&app, "ada", "graph"));
    let value = |version: &str, data: Option<&str>| CheckpointValue {
        channel: "c".to_owned(),
        version: version.to_owned(),
        r#type: "bytes".to_owned(),
        data: data.map(|data| data.as_bytes().to_vec()),
    };
    let put = |data: &str, values: Vec<CheckpointValue>| PutCheckpointRequest {
        thread: thread.clone(),
        checkpoint_id: "1".to_owned(),
        data: data.as_bytes().to_vec(),
        values,
        ..Default::default()
    };
    // A checkpoint whose value is missing is completed.
    let incomplete = writer.call(put("body", vec![value("1", None)])).await;
    assert_eq!(incomplete.missing_value_count, 1);
    let whole = put("body", vec![value("1", Some("value"))]);
    for _ in 0..2 {
        assert_eq!(writer.call(whole.clone()).await.missing_value_count, 0);
    }
    let (other_type, other_parent) = (
        PutCheckpointRequest {
            r#type: "x".to_owned(),
            ..whole.clone()
        },
        PutCheckpointRequest {
            parent_checkpoint_id: "0".to_owned(),
            allow_missing_parent: true,
            ..whole.clone()
        },
    );
    for replacing in [
        put("other", vec![value("1", None)]),
        put("body", Vec::new()),
        other_type,
        other_parent,
    ] {
        names(writer.refused(replacing).await, "checkpoint_id");
    }
    let writes = |data: &str, replace| PutCheckpointWritesRequest {
        thread: thread.clone(),
        checkpoint_id: "1".to_owned(),
        writes: vec![CheckpointWrite {
            task_id: "t".to_owned(),
            channel: "c".to_owned(),
            data: data.as_bytes().to_vec(),
            ..Default::default()
        }],
        replace,
        ..Default::default()
    };
    writer.call(writes("first", false)).await;
    writer.call(writes("second", false)).await;
    names(writer.refused(writes("third", true)).await, "replace");
    // Nothing is replaced.
    writer.call(writes("first", true)).await;
    let read = GetCheckpointRequest {
        thread: thread.clone(),
        ..Default::default()
    };
    let kept = writer.call(read.clone()).await.checkpoint.unwrap();
    assert_eq!(kept.data, b"body");
    assert_eq!(kept.values[0].data.as_deref(), Some(&b"value"[..]));
    assert_eq!(kept.writes[0].data, b"first");
    admin.call(writes("third", true)).await;
    admin.call(put("other", Vec::new())).await;
    let replaced = writer.call(read).await.checkpoint.unwrap();
    assert_eq!(
        (replaced.data, replaced.values.len()),
        (b"other".to_vec(), 0)
    );
    assert_eq!(replaced.writes[0].data, b"third");
}

#[apply(trial)]
async fn l06_a_writer_puts_no_working_memory_that_ends_a_stored_thread() {
    let (admin, writer) = callers().await;
    let app = app();
    let put = |session_key: &str, ttl| PutWorkingMemoryRequest {
        thread: by_session(session(&app, "ada", session_key)),
        ttl: Some(seconds(ttl)),
        ttl_deletes_thread: true,
        ..Default::default()
    };
    let thread = writer.resolve(session(&app, "ada", "stored")).await;
    names(writer.refused(put("stored", 1)).await, "ttl");
    let by_its_id = PutWorkingMemoryRequest {
        thread: by_id(&thread.thread_id),
        ..put("stored", 1)
    };
    names(writer.refused(by_its_id).await, "ttl");
    // The working memory alone may expire.
    let alone = PutWorkingMemoryRequest {
        ttl_deletes_thread: false,
        ..put("stored", 60)
    };
    writer.call(alone).await;
    assert_eq!(writer.get_thread(&thread.thread_id).await.expire_time, None);
    admin.call(put("stored", DAY)).await;
    assert!(
        writer
            .get_thread(&thread.thread_id)
            .await
            .expire_time
            .is_some()
    );
    writer.call(put("stored", DAY * 2)).await;

    // The thread of a new session lives as long as the put says.
    writer.call(put("new", 60)).await;
    writer.call(put("new", 120)).await;
    names(writer.refused(put("new", 30)).await, "ttl");

    let policy = PutWorkingMemoryRequest {
        ttl: None,
        ttl_deletes_thread: false,
        policy: Some(MemoryPolicy {
            node_ttl: Some(seconds(1)),
            ..Default::default()
        }),
        ..put("stored", 1)
    };
    names(writer.refused(policy).await, "policy.node_ttl");
}

#[apply(trial)]
async fn l06_a_writer_changes_no_policy_so_that_content_is_erased_earlier() {
    let (admin, writer) = callers().await;
    let app = app();
    let policy = MemoryPolicy::default;
    for (shorter, field) in [
        (
            MemoryPolicy {
                ttl: Some(seconds(1)),
                ..policy()
            },
            "ttl",
        ),
        (
            MemoryPolicy {
                node_ttl: Some(seconds(1)),
                ..policy()
            },
            "node_ttl",
        ),
        (
            MemoryPolicy {
                memory_max_age: Some(seconds(DAY)),
                ..policy()
            },
            "memory_max_age",
        ),
        (
            MemoryPolicy {
                memory_max_inactivity: Some(seconds(DAY)),
                ..policy()
            },
            "memory_max_inactivity",
        ),
        (
            MemoryPolicy {
                memory_max_count: Some(1),
                ..policy()
            },
            "memory_max_count",
        ),
    ] {
        let path = format!("policy.{field}");
        for paths in [vec![], vec!["policy"], vec![path.as_str()]] {
            let refused = writer
                .refused(app_policy(&app, shorter.clone(), &paths))
                .await;
            names(refused, &format!("app_policy.policy.{field}"));
        }
        admin.call(app_policy(&app, shorter, &[])).await;
    }
    // All of it again, longer, and other fields at any time.
    let longer = MemoryPolicy {
        top_k: Some(3),
        ttl: Some(seconds(DAY)),
        node_ttl: Some(seconds(DAY)),
        memory_max_age: Some(seconds(DAY * 2)),
        memory_max_inactivity: Some(seconds(DAY * 2)),
        memory_max_count: Some(20_000),
        ..policy()
    };
    writer.call(app_policy(&app, longer, &[])).await;
    // Without a policy, 10,000 memories are kept.
    names(
        writer
            .refused(app_policy(&app, policy(), &["policy"]))
            .await,
        "app_policy.policy.memory_max_count",
    );
    writer
        .call(app_policy(&app, policy(), &["policy.ttl"]))
        .await;

    let thread_id = writer.thread(&app).await;
    let of_thread = |node_ttl| UpdateThreadRequest {
        thread: Some(Thread {
            thread_id: thread_id.clone(),
            policy: Some(MemoryPolicy {
                node_ttl: Some(seconds(node_ttl)),
                ..policy()
            }),
            ..Default::default()
        }),
        update_mask: None,
        precondition: None,
    };
    names(
        writer.refused(of_thread(60)).await,
        "thread.policy.node_ttl",
    );
    writer.call(of_thread(DAY * 2)).await;
}

#[apply(trial)]
async fn l06_a_writer_adds_no_memory_that_erases_another() {
    let (admin, writer) = callers().await;
    let app = app();
    let two = MemoryPolicy {
        memory_max_count: Some(2),
        ..Default::default()
    };
    admin.set_policy(&app, two).await;
    let add = |texts: &[&str]| AddMemoriesRequest {
        user: of_user(&app, "ada"),
        memories: texts.iter().map(|text| memory(text)).collect(),
    };
    names(
        writer
            .refused(add(&["Has a dog.", "Likes tea.", "Is tall."]))
            .await,
        "memories",
    );
    assert!(writer.all_memories(&app, "ada").await.is_empty());
    let added = writer.call(add(&["Has a dog.", "Likes tea."])).await;
    names(writer.refused(add(&["Is tall."])).await, "memories");
    // What is known already needs no room.
    writer.call(add(&["Likes tea."])).await;

    let dog = added.memories[0].memory.clone().unwrap();
    let supersede = SupersedeMemoryRequest {
        memory_id: dog.memory_id.clone(),
        replacement: Some(memory("Has a cat.")),
    };
    names(writer.refused(supersede).await, "memories");
    let mut stored = dog.clone();
    stored.memory_id = uuid::Uuid::now_v7().to_string();
    stored.text = "Was born in Rome.".to_owned();
    let import = ImportMemoriesRequest {
        user: of_user(&app, "ada"),
        memories: vec![stored],
    };
    names(writer.refused(import).await, "memories");
    let put = PutWorkingMemoryRequest {
        thread: by_session(session(&app, "ada", "s")),
        memories: vec![listed("Is tall.")],
        ..Default::default()
    };
    names(writer.refused(put).await, "memories");

    // Another user has room, and a key that may delete needs none.
    let of_bob = AddMemoriesRequest {
        user: of_user(&app, "bob"),
        ..add(&["Is tall."])
    };
    writer.call(of_bob).await;
    admin.call(add(&["Is tall."])).await;
}

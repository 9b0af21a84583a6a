//! Checkpoints of agents' runs are stored, read, listed, copied and deleted.

use memory_contract::convert::action_name;
use memory_contract::proto::{
    Checkpoint, CheckpointValue, CheckpointWrite, CopyCheckpointsRequest, DeleteCheckpointsRequest,
    GetCheckpointRequest, ListCheckpointsRequest, ListTransactionsRequest, PutCheckpointRequest,
    PutCheckpointWritesRequest, SessionRef,
};
use recollect_tests::{
    Client, Key, PLAIN, app, apply, by_id, by_session, session, target_session, target_thread,
    target_user, trial,
};
use serde_json::{Value, json};
use tonic::Code;

use super::user;
use crate::access::transactions;
use crate::plain;

pub(super) fn of(app: &str, key: &str) -> SessionRef {
    session(app, "ada", key)
}

pub(super) fn value(channel: &str, version: &str, data: Option<&[u8]>) -> CheckpointValue {
    CheckpointValue {
        channel: channel.to_owned(),
        version: version.to_owned(),
        r#type: "bytes".to_owned(),
        data: data.map(<[u8]>::to_vec),
    }
}

/// A checkpoint of a session of `ada`, with new values by channel and version.
pub(super) fn checkpoint(
    app: &str,
    key: &str,
    id: &str,
    values: &[(&str, &str, &[u8])],
) -> PutCheckpointRequest {
    PutCheckpointRequest {
        thread: by_session(of(app, key)),
        checkpoint_id: id.to_owned(),
        r#type: "json".to_owned(),
        data: format!("body of {id}").into_bytes(),
        values: values
            .iter()
            .map(|(channel, version, data)| value(channel, version, Some(data)))
            .collect(),
        ..Default::default()
    }
}

pub(super) fn write(task: &str, index: i32, data: &[u8]) -> CheckpointWrite {
    CheckpointWrite {
        task_id: task.to_owned(),
        task_path: "~".to_owned(),
        index,
        channel: "c".to_owned(),
        r#type: "bytes".to_owned(),
        data: data.to_vec(),
    }
}

pub(super) fn writes(
    app: &str,
    key: &str,
    id: &str,
    writes: Vec<CheckpointWrite>,
) -> PutCheckpointWritesRequest {
    PutCheckpointWritesRequest {
        thread: by_session(of(app, key)),
        checkpoint_id: id.to_owned(),
        writes,
        ..Default::default()
    }
}

/// Reads a checkpoint of the root graph; with an empty id the latest.
pub(super) async fn get(client: &Client, app: &str, key: &str, id: &str) -> Option<Checkpoint> {
    let request = GetCheckpointRequest {
        thread: by_session(of(app, key)),
        checkpoint_id: id.to_owned(),
        ..Default::default()
    };
    client.call(request).await.checkpoint
}

/// Lists all checkpoints of `ada`, a few at a time.
async fn list(client: &Client, app: &str, request: ListCheckpointsRequest) -> Vec<Checkpoint> {
    let mut request = ListCheckpointsRequest {
        target: request.target.clone().or(target_user(app, "ada")),
        page_size: 2,
        ..request
    };
    let mut all = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        assert!(page.checkpoints.len() <= 2);
        all.extend(page.checkpoints);
        if page.next_page_token.is_empty() {
            return all;
        }
        request.page_token = page.next_page_token;
    }
}

fn ids(checkpoints: &[Checkpoint]) -> Vec<&str> {
    checkpoints
        .iter()
        .map(|one| one.checkpoint_id.as_str())
        .collect()
}

pub(super) fn values(checkpoint: &Checkpoint) -> Vec<(&str, &str, &[u8])> {
    let values = checkpoint.values.iter();
    values
        .map(|one| (one.channel.as_str(), one.version.as_str(), one.data()))
        .collect()
}

async fn delete(client: &Client, request: DeleteCheckpointsRequest) -> i64 {
    client.call(request).await.deleted_count
}

#[apply(trial)]
async fn b18_a_checkpoint_has_the_values_of_its_channels_new_and_old() {
    let client = plain().await;
    let app = app();
    assert_eq!(
        get(&client, &app, "s", "").await,
        None,
        "the session has no thread"
    );
    let large: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
    let first = PutCheckpointRequest {
        metadata: json!({"step": 1, "source": "input"}).to_string(),
        ..checkpoint(
            &app,
            "s",
            "01",
            &[("a", "1", b"one"), ("b", "1", &large), ("e", "1", b"")],
        )
    };
    let thread_id = client.call(first).await.thread_id;
    let mut second = PutCheckpointRequest {
        parent_checkpoint_id: "01".to_owned(),
        ..checkpoint(&app, "s", "02", &[("a", "2", b"two")])
    };
    second.values.push(value("b", "1", None));
    second.values.push(value("unknown", "9", None));
    assert_eq!(client.call(second.clone()).await.thread_id, thread_id);

    let latest = get(&client, &app, "s", "").await.unwrap();
    assert_eq!(
        values(&latest),
        [("a", "2", b"two".as_slice()), ("b", "1", &large)]
    );
    assert!(latest.values.iter().all(|one| one.r#type == "bytes"));
    assert_eq!(
        (
            latest.checkpoint_id.as_str(),
            latest.parent_checkpoint_id.as_str(),
            latest.metadata.as_str()
        ),
        ("02", "01", "{}")
    );
    assert_eq!(
        (latest.r#type.as_str(), latest.data.as_slice()),
        ("json", b"body of 02".as_slice())
    );
    assert_eq!(
        (latest.thread_id, latest.session_key.as_str()),
        (thread_id, "s")
    );
    let earlier = get(&client, &app, "s", "01").await.unwrap();
    assert_eq!(
        values(&earlier),
        [
            ("a", "1", b"one".as_slice()),
            ("b", "1", &large),
            ("e", "1", b"")
        ]
    );
    let metadata: Value = serde_json::from_str(&earlier.metadata).unwrap();
    assert_eq!(metadata, json!({"step": 1, "source": "input"}));
    assert_eq!(get(&client, &app, "s", "03").await, None);

    // A repeat is the same; another content replaces the checkpoint, not the values.
    client.call(second.clone()).await;
    second.data = b"changed".to_vec();
    second.values = vec![value("a", "2", Some(b"other"))];
    client.call(second).await;
    let changed = get(&client, &app, "s", "").await.unwrap();
    assert_eq!(changed.data, b"changed");
    assert_eq!(values(&changed), [("a", "2", b"two".as_slice())]);
    // Values of another namespace are others.
    let mut inner = checkpoint(&app, "s", "01", &[]);
    inner.namespace = "inner".to_owned();
    inner.values = vec![value("b", "1", None)];
    client.call(inner).await;
    let request = GetCheckpointRequest {
        thread: by_session(of(&app, "s")),
        namespace: "inner".to_owned(),
        ..Default::default()
    };
    let inner = client.call(request).await.checkpoint.unwrap();
    assert!(inner.values.is_empty());
}

#[apply(trial)]
async fn b18_writes_of_tasks_belong_to_their_checkpoint() {
    let client = plain().await;
    let app = app();
    let large = vec![7; 10_000];
    client.call(checkpoint(&app, "s", "00", &[])).await;
    // Before their checkpoint.
    let early = vec![
        write("t", 1, b"second"),
        write("t", 0, b"first"),
        write("u", -3, &large),
    ];
    client.call(writes(&app, "s", "01", early)).await;
    assert_eq!(get(&client, &app, "s", "01").await, None);
    client.call(checkpoint(&app, "s", "01", &[])).await;
    client.call(checkpoint(&app, "s", "02", &[])).await;
    let read = async || {
        let found = get(&client, &app, "s", "01").await.unwrap();
        let writes = found.writes.into_iter();
        writes
            .map(|one| (one.task_id, one.index, one.data))
            .collect::<Vec<_>>()
    };
    let expected = |first: &[u8]| {
        vec![
            ("t".to_owned(), 0, first.to_vec()),
            ("t".to_owned(), 1, b"second".to_vec()),
            ("u".to_owned(), -3, large.clone()),
        ]
    };
    assert_eq!(read().await, expected(b"first"));
    let again = writes(&app, "s", "01", vec![write("t", 0, b"again")]);
    client.call(again.clone()).await;
    assert_eq!(read().await, expected(b"first"), "it stays");
    let replace = PutCheckpointWritesRequest {
        replace: true,
        ..again
    };
    client.call(replace).await;
    assert_eq!(read().await, expected(b"again"));
    assert!(
        get(&client, &app, "s", "02")
            .await
            .unwrap()
            .writes
            .is_empty()
    );
}

#[apply(trial)]
async fn b18_checkpoints_are_listed_latest_first_by_thread_namespace_and_metadata() {
    let client = plain().await;
    let app = app();
    for (key, namespace, id, run) in [
        ("one", "", "01", "r1"),
        ("two", "", "02", "r1"),
        ("one", "", "03", "r2"),
        ("one", "inner:1", "04", "r2"),
        ("two", "", "04", "r2"),
    ] {
        let put = PutCheckpointRequest {
            namespace: namespace.to_owned(),
            metadata: json!({"run_id": run, "step": 1, "tags": ["a", "b"]}).to_string(),
            ..checkpoint(&app, key, id, &[("c", id, id.as_bytes())])
        };
        client.call(put).await;
    }
    client
        .call(writes(&app, "one", "03", vec![write("t", 0, b"w")]))
        .await;
    let all = ListCheckpointsRequest::default;
    let found = list(&client, &app, all()).await;
    assert_eq!(ids(&found), ["04", "04", "03", "02", "01"]);
    for one in &found {
        let id = one.checkpoint_id.as_str();
        assert_eq!(values(one), [("c", id, id.as_bytes())]);
        assert_eq!(one.writes.len(), usize::from(id == "03"));
    }
    let one = || target_session(of(&app, "one"));
    let of_one = ListCheckpointsRequest {
        target: one(),
        ..all()
    };
    assert_eq!(
        ids(&list(&client, &app, of_one.clone()).await),
        ["04", "03", "01"]
    );
    let thread_id = found[2].thread_id.clone();
    let by_thread_id = ListCheckpointsRequest {
        target: target_thread(thread_id),
        ..all()
    };
    assert_eq!(
        ids(&list(&client, &app, by_thread_id).await),
        ["04", "03", "01"]
    );
    let cases: Vec<(ListCheckpointsRequest, &[&str])> = vec![
        (
            ListCheckpointsRequest {
                namespace: Some(String::new()),
                ..of_one.clone()
            },
            &["03", "01"],
        ),
        (
            ListCheckpointsRequest {
                namespace: Some("inner:1".to_owned()),
                ..of_one.clone()
            },
            &["04"],
        ),
        (
            ListCheckpointsRequest {
                before: "03".to_owned(),
                ..all()
            },
            &["02", "01"],
        ),
        (
            ListCheckpointsRequest {
                checkpoint_id: "04".to_owned(),
                ..all()
            },
            &["04", "04"],
        ),
        (
            ListCheckpointsRequest {
                metadata: json!({"run_id": "r1"}).to_string(),
                ..all()
            },
            &["02", "01"],
        ),
        (
            ListCheckpointsRequest {
                metadata: json!({"run_id": "r1", "step": 1}).to_string(),
                ..of_one
            },
            &["01"],
        ),
        (
            ListCheckpointsRequest {
                metadata: json!({"run_id": "r1", "step": 2}).to_string(),
                ..all()
            },
            &[],
        ),
        (
            ListCheckpointsRequest {
                metadata: json!({"run_id": "r1", "tags": ["a", "b"]}).to_string(),
                ..all()
            },
            &["02", "01"],
        ),
        // A part of a list is not equal to it.
        (
            ListCheckpointsRequest {
                metadata: json!({"run_id": "r1", "tags": ["a"]}).to_string(),
                ..all()
            },
            &[],
        ),
    ];
    for (request, expected) in cases {
        assert_eq!(
            ids(&list(&client, &app, request.clone()).await),
            expected,
            "{request:?}"
        );
    }
    // Others see none of them.
    let globex = PLAIN.client(Key::Globex).await;
    assert!(list(&globex, &app, all()).await.is_empty());
    assert_eq!(get(&globex, &app, "one", "").await, None);
    let bobs = ListCheckpointsRequest {
        target: target_user(&app, "bob"),
        ..all()
    };
    assert!(list(&client, &app, bobs).await.is_empty());
}

#[apply(trial)]
async fn b18_checkpoints_are_copied_pruned_and_erased_by_run() {
    let client = plain().await;
    let app = app();
    let large: Vec<u8> = (0..9_000_u32).flat_map(u32::to_le_bytes).collect();
    for (id, parent, run) in [("01", "", "r1"), ("02", "01", "r2"), ("03", "02", "r2")] {
        let put = PutCheckpointRequest {
            parent_checkpoint_id: parent.to_owned(),
            metadata: json!({"run_id": run}).to_string(),
            ..checkpoint(
                &app,
                "s",
                id,
                &[("c", id, &[&large, id.as_bytes()].concat())],
            )
        };
        client.call(put).await;
        client
            .call(writes(&app, "s", id, vec![write("t", 0, id.as_bytes())]))
            .await;
    }
    let copy = |target: &str| CopyCheckpointsRequest {
        source: by_session(of(&app, "s")),
        target: by_session(of(&app, target)),
    };
    for target in ["pruned", "runs"] {
        assert_eq!(client.call(copy(target)).await.copied_count, 3);
        assert_eq!(
            client.call(copy(target)).await.copied_count,
            0,
            "it is idempotent"
        );
    }
    let nothing = CopyCheckpointsRequest {
        source: by_session(of(&app, "none")),
        target: by_session(of(&app, "new")),
    };
    assert_eq!(client.call(nothing).await.copied_count, 0);

    let whole = |found: &Checkpoint, id: &str| {
        assert_eq!(
            values(found),
            [("c", id, [&large, id.as_bytes()].concat().as_slice())]
        );
        assert_eq!(found.writes.len(), 1);
    };
    let prune = DeleteCheckpointsRequest {
        threads: vec![of(&app, "pruned").into(), of(&app, "none").into()],
        keep_latest: true,
        ..Default::default()
    };
    assert_eq!(delete(&client, prune.clone()).await, 2);
    assert_eq!(delete(&client, prune).await, 0);
    let latest = get(&client, &app, "pruned", "").await.unwrap();
    assert_eq!(
        (
            latest.checkpoint_id.as_str(),
            latest.parent_checkpoint_id.as_str()
        ),
        ("03", "")
    );
    whole(&latest, "03");
    assert_eq!(get(&client, &app, "pruned", "02").await, None);

    let any = DeleteCheckpointsRequest {
        user: user(&app, "ada"),
        metadata: vec!["{}".to_owned()],
        ..Default::default()
    };
    client.refused(any).await.names_field("metadata[0]");
    // The other thread has another value of the same version.
    client
        .call(checkpoint(&app, "other", "00", &[("c", "01", b"other")]))
        .await;
    let differs = client.refused(copy("other")).await;
    differs.is(Code::FailedPrecondition, "CHECKPOINT_VALUES_DIFFER");
    assert_eq!(get(&client, &app, "other", "01").await, None);

    let run = DeleteCheckpointsRequest {
        user: user(&app, "ada"),
        metadata: vec![json!({"run_id": "r2"}).to_string()],
        ..Default::default()
    };
    let of_source = DeleteCheckpointsRequest {
        user: None,
        threads: vec![of(&app, "runs").into()],
        ..run.clone()
    };
    assert_eq!(delete(&client, of_source).await, 2);
    whole(&get(&client, &app, "runs", "").await.unwrap(), "01");
    assert_eq!(
        delete(&client, run).await,
        3,
        "of the source and the pruned thread"
    );
    whole(&get(&client, &app, "s", "").await.unwrap(), "01");

    let all = DeleteCheckpointsRequest {
        threads: vec![of(&app, "s").into()],
        ..Default::default()
    };
    assert_eq!(delete(&client, all).await, 1);
    assert_eq!(get(&client, &app, "s", "").await, None);
    whole(&get(&client, &app, "runs", "").await.unwrap(), "01");
    // The thread stays, and a value that was erased with it has to be sent again.
    let mut later = checkpoint(&app, "s", "04", &[]);
    later.values = vec![value("c", "01", None)];
    let thread_id = client.call(later).await.thread_id;
    assert!(get(&client, &app, "s", "").await.unwrap().values.is_empty());
    let done = transactions(
        &client,
        ListTransactionsRequest {
            thread: by_id(&thread_id),
            ..Default::default()
        },
    );
    let done: Vec<(String, String, i64)> = done
        .await
        .into_iter()
        .take(5)
        .map(|one| (action_name(one.action()), one.subject, one.item_count))
        .collect();
    let expected = [
        ("put_checkpoint", "04", 0),
        ("delete_checkpoints", "", 1),
        ("delete_checkpoints", "", 2),
        ("put_checkpoint_writes", "03", 1),
        ("put_checkpoint", "03", 1),
    ];
    let expected =
        expected.map(|(action, subject, count)| (action.to_owned(), subject.to_owned(), count));
    assert_eq!(done, expected);
}

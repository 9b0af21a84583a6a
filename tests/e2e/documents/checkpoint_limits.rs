//! Checkpoints end with their thread, and have limits.

use memory_contract::proto::{
    CheckpointValue, CheckpointWrite, GetCheckpointRequest, PutCheckpointRequest,
};
use recollect_tests::{Refused as _, app, apply, by_id, trial};
use tonic::Code;

use super::checkpoints::{checkpoint, get, value, values, write, writes};
use crate::plain;
use crate::threads::ephemeral::ephemeral;

#[apply(trial)]
async fn b18_checkpoints_end_with_their_thread() {
    let client = plain().await;
    let app = app();
    let put = checkpoint(&app, "s", "01", &[("c", "1", &[5; 3_000])]);
    let thread_id = client.call(put.clone()).await.thread_id;
    client.clear_thread(&thread_id).await;
    assert_eq!(get(&client, &app, "s", "").await, None);
    client.call(put.clone()).await;
    assert_eq!(get(&client, &app, "s", "").await.unwrap().values.len(), 1);
    client.delete_thread(&thread_id).await;
    assert_eq!(get(&client, &app, "s", "").await, None);
    let request = GetCheckpointRequest {
        thread: by_id(&thread_id),
        ..Default::default()
    };
    client
        .refused(request)
        .await
        .is(Code::NotFound, "THREAD_NOT_FOUND");
    // The session gets another thread.
    assert_ne!(client.call(put).await.thread_id, thread_id);

    let ephemeral_id = ephemeral(&client, &app, "ada").await;
    let put = PutCheckpointRequest {
        thread: by_id(&ephemeral_id),
        ..checkpoint(&app, "s", "01", &[("c", "1", &[5; 3_000])])
    };
    client.call(put).await;
    let request = GetCheckpointRequest {
        thread: by_id(&ephemeral_id),
        ..Default::default()
    };
    let found = client.call(request).await.checkpoint.unwrap();
    assert_eq!(values(&found), [("c", "1", [5; 3_000].as_slice())]);
}

#[apply(trial)]
async fn b18_values_that_were_erased_meanwhile_are_counted_and_left_out() {
    let client = plain().await;
    let app = app();
    let first = checkpoint(&app, "s", "01", &[("a", "1", b"one"), ("b", "1", b"two")]);
    let stored = client.call(first).await;
    assert_eq!(stored.missing_value_count, 0);
    let mut second = checkpoint(&app, "s", "02", &[("c", "2", b"three")]);
    second.values.push(value("a", "1", None));
    second.values.push(value("b", "1", None));
    assert_eq!(client.call(second.clone()).await.missing_value_count, 0);

    client.clear_thread(&stored.thread_id).await;
    assert_eq!(client.call(second.clone()).await.missing_value_count, 2);
    let left = get(&client, &app, "s", "").await.unwrap();
    assert_eq!(values(&left), [("c", "2", b"three".as_slice())]);
    // With their data the checkpoint is complete.
    second.values[1] = value("a", "1", Some(b"one"));
    second.values[2] = value("b", "1", Some(b"two"));
    assert_eq!(client.call(second).await.missing_value_count, 0);
    let whole = get(&client, &app, "s", "").await.unwrap();
    assert_eq!(whole.values.len(), 3);
}

#[apply(trial)]
async fn checkpoints_over_a_limit_are_refused_and_nothing_is_stored() {
    let client = plain().await;
    let app = app();
    let put = |values: Vec<CheckpointValue>| PutCheckpointRequest {
        values,
        ..checkpoint(&app, "s", "01", &[])
    };
    let one = || value("c", "1", Some(b"x"));
    let cases = [
        ("values[1].channel", put(vec![one(), one()])),
        ("values", put(vec![one(); 1_025])),
        ("values[0].version", put(vec![value("c", "", None)])),
        (
            "metadata",
            PutCheckpointRequest {
                metadata: "[]".to_owned(),
                ..put(Vec::new())
            },
        ),
    ];
    for (field, wrong) in cases {
        client.refused(wrong).await.names_field(field);
    }
    let twice = writes(
        &app,
        "s",
        "01",
        vec![write("t", 0, b"a"), write("t", 0, b"b")],
    );
    client.refused(twice).await.names_field("writes[1].index");
    assert_eq!(get(&client, &app, "s", "").await, None);

    // A state grows over several calls, up to 16 MiB.
    let part = vec![1; 3 * 1024 * 1024];
    let channels = ["a", "b", "c", "d", "e", "f"];
    for (count, channel) in channels.iter().enumerate() {
        let mut request = put(vec![value(channel, "1", Some(&part))]);
        let before = channels[..count]
            .iter()
            .map(|channel| value(channel, "1", None));
        request.values.extend(before);
        let answer = client.checkpoints().put_checkpoint(request).await;
        if count < 5 {
            answer.unwrap();
        } else {
            answer.refused().names_field("checkpoint_id");
        }
        let written = vec![CheckpointWrite {
            channel: (*channel).to_owned(),
            ..write(channel, 0, &part)
        }];
        let request = writes(&app, "s", "01", written);
        let answer = client.checkpoints().put_checkpoint_writes(request).await;
        if count < 5 {
            answer.unwrap();
        } else {
            answer.refused().names_field("checkpoint_id");
        }
    }
    let found = get(&client, &app, "s", "").await.unwrap();
    assert_eq!((found.values.len(), found.writes.len()), (5, 5));
    assert!(found.values.iter().all(|one| one.data() == part));

    // What is stored counts, however little is sent for it.
    let mut small: Vec<CheckpointValue> = channels[..5]
        .iter()
        .map(|channel| value(channel, "1", Some(b"x")))
        .collect();
    small.push(value("f", "1", Some(&part[..2 * 1024 * 1024])));
    let large = client.refused(put(small)).await;
    large.names_field("checkpoint_id");
    let replacing = vec![write("a", 0, b"x"), write("f", 0, &part[..2 * 1024 * 1024])];
    let mut replacing = writes(&app, "s", "01", replacing);
    let large = client.refused(replacing.clone()).await;
    large.names_field("checkpoint_id");
    // Empty writes count, too: 3,900 of them fill the mebibyte that is left.
    for call in 0..4 {
        let empty = (0..1_024).map(|number| write(&format!("{call}-{number}"), 0, b""));
        let request = writes(&app, "s", "01", empty.collect());
        let answer = client.checkpoints().put_checkpoint_writes(request).await;
        if call < 3 {
            answer.unwrap();
        } else {
            answer.refused().names_field("checkpoint_id");
        }
    }
    replacing.replace = true;
    client.call(replacing).await;
    let found = get(&client, &app, "s", "").await.unwrap();
    assert_eq!(found.writes.len(), 6 + 3 * 1_024);
}

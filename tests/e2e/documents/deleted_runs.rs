//! What a run stores after its thread was deleted does not bring the thread back.

use memory_contract::proto::{
    DeleteCheckpointsRequest, DeleteThreadRequest, ListThreadsRequest, PutCheckpointRequest,
    PutCheckpointWritesRequest,
};
use recollect_tests::{Client, app, apply, by_session, target_user, trial};
use tonic::Code;

use super::checkpoints::{checkpoint, get, of, write};
use crate::plain;

/// The second checkpoint of a run, which has the value of the first.
fn second(app: &str) -> PutCheckpointRequest {
    PutCheckpointRequest {
        parent_checkpoint_id: "01".to_owned(),
        ..checkpoint(app, "s", "02", &[("a", "2", b"two")])
    }
}

fn late(app: &str) -> PutCheckpointWritesRequest {
    PutCheckpointWritesRequest {
        thread: by_session(of(app, "s")),
        checkpoint_id: "01".to_owned(),
        writes: vec![write("t", 0, b"late")],
        ..Default::default()
    }
}

async fn threads(client: &Client, app: &str) -> usize {
    let request = ListThreadsRequest {
        target: target_user(app, "ada"),
        ..Default::default()
    };
    client.call(request).await.threads.len()
}

#[apply(trial)]
async fn b18_a_run_does_not_bring_its_deleted_thread_back() {
    let client = plain().await;
    let app = app();
    client
        .call(checkpoint(&app, "s", "01", &[("a", "1", b"secret")]))
        .await;
    client.call(late(&app)).await;
    let thread = by_session(of(&app, "s"));
    client.call(DeleteThreadRequest { thread }).await;

    let refused = client.refused(late(&app)).await;
    refused.is(Code::NotFound, "THREAD_NOT_FOUND");
    let refused = client.refused(second(&app)).await;
    refused.is(Code::FailedPrecondition, "CHECKPOINT_PARENT_NOT_FOUND");
    assert_eq!(threads(&client, &app).await, 0);

    // A new run of the session begins without a parent.
    client
        .call(checkpoint(&app, "s", "03", &[("a", "3", b"new")]))
        .await;
    let refused = client.refused(second(&app)).await;
    refused.is(Code::FailedPrecondition, "CHECKPOINT_PARENT_NOT_FOUND");
    assert_eq!(get(&client, &app, "s", "02").await, None);
}

#[apply(trial)]
async fn b18_a_run_does_not_go_on_from_deleted_checkpoints() {
    let client = plain().await;
    let app = app();
    client
        .call(checkpoint(&app, "s", "01", &[("a", "1", b"secret")]))
        .await;
    let delete = DeleteCheckpointsRequest {
        threads: vec![by_session(of(&app, "s")).unwrap()],
        ..Default::default()
    };
    assert_eq!(client.call(delete).await.deleted_count, 1);
    let refused = client.refused(second(&app)).await;
    refused.is(Code::FailedPrecondition, "CHECKPOINT_PARENT_NOT_FOUND");
    // A parent of another namespace is not one either.
    client
        .call(checkpoint(&app, "s", "01", &[("a", "1", b"secret")]))
        .await;
    let other = PutCheckpointRequest {
        namespace: "sub".to_owned(),
        ..second(&app)
    };
    client.refused(other.clone()).await;
    // An import may begin in the middle of a run.
    let imported = PutCheckpointRequest {
        allow_missing_parent: true,
        ..other
    };
    client.call(imported).await;
    client.call(second(&app)).await;
}

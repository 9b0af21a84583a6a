//! Content that requests contain themselves, where they are refused.

use memory_contract::proto::{
    AppendMessagesRequest, FileRef, FileType, Message, Part, PutWorkingMemoryRequest, Role,
    file_ref, part::Content,
};
use recollect_tests::{SOON, app, apply, by_id, eventually, has_etag, trial, turn, with_parts};
use tonic::Code;
use uuid::Uuid;

use super::database;
use crate::plain;

/// A part with content that nothing else has.
fn unique_part() -> Part {
    let url = format!("data:text/plain,{}", Uuid::new_v4());
    Part {
        content: Some(Content::File(FileRef {
            r#type: FileType::Document.into(),
            location: Some(file_ref::Location::Url(url)),
            ..Default::default()
        })),
        ..Default::default()
    }
}

/// Whether anything keeps content with this text, or a reference to it.
async fn is_kept(database: &tokio_postgres::Client, part: &Part) -> bool {
    let Some(Content::File(file)) = &part.content else {
        panic!("{part:?}");
    };
    let Some(file_ref::Location::Url(url)) = &file.location else {
        panic!("{file:?}");
    };
    let text = url.split_once(',').unwrap().1;
    let kept = "SELECT EXISTS (SELECT FROM recollect.contents WHERE digest = sha256(convert_to($1, 'UTF8')))
                    OR EXISTS (SELECT FROM recollect.content_holders WHERE digest = sha256(convert_to($1, 'UTF8')))";
    database.query_one(kept, &[&text]).await.unwrap().get(0)
}

#[apply(trial)]
async fn content_of_a_refused_append_is_erased_at_once() {
    let (client, database) = (plain().await, database().await);
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, turn("Q", "A")).await;
    let part = unique_part();
    let request = AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: vec![with_parts(Role::User, vec![part.clone()])],
        // The thread is not empty.
        expected_head: Some(String::new()),
        ..Default::default()
    };
    let refused = client.refused(request.clone()).await;
    refused.is(Code::Aborted, "HEAD_MOVED");
    assert!(!is_kept(&database, &part).await);

    // The same content comes back with an append that is stored, and stays when it is refused.
    let stored = AppendMessagesRequest {
        expected_head: None,
        ..request.clone()
    };
    client.call(stored).await;
    assert!(is_kept(&database, &part).await);
    client.refused(request).await;
    assert!(is_kept(&database, &part).await);
}

#[apply(trial)]
async fn content_of_a_waiting_append_stays_when_another_attempt_is_refused() {
    let (client, database, mut holder) = (plain().await, database().await, database().await);
    let app = app();
    let (waiting, other) = (client.thread(&app).await, client.thread(&app).await);
    client.append(&other, turn("Q", "A")).await;
    let part = unique_part();
    let mut message = with_parts(Role::User, vec![part.clone()]);
    message.message_id = Uuid::new_v4().to_string();
    let first = AppendMessagesRequest {
        thread: by_id(&waiting),
        messages: vec![message],
        ..Default::default()
    };
    let lock = holder.transaction().await.unwrap();
    let select = "SELECT FROM recollect.threads WHERE thread_id = $1::text::uuid FOR UPDATE";
    lock.execute(select, &[&waiting]).await.unwrap();
    let writing = tokio::spawn({
        let (client, first) = (client.clone(), first.clone());
        async move { client.call(first).await }
    });
    eventually("its content is stored", SOON, async || {
        is_kept(&database, &part).await
    })
    .await;
    // The same message, for a thread that is not empty.
    let second = AppendMessagesRequest {
        thread: by_id(&other),
        expected_head: Some(String::new()),
        ..first
    };
    client.refused(second).await.is(Code::Aborted, "HEAD_MOVED");
    assert!(!writing.is_finished(), "the thread is locked");
    lock.rollback().await.unwrap();
    assert_eq!(writing.await.unwrap().messages.len(), 1);
    assert!(is_kept(&database, &part).await);
}

#[apply(trial)]
async fn content_of_a_repeated_append_goes_with_the_first_one() {
    let (client, database) = (plain().await, database().await);
    let thread_id = client.thread(&app()).await;
    let part = unique_part();
    let request = AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: vec![with_parts(Role::User, vec![part.clone()])],
        request_id: Uuid::new_v4().to_string(),
        ..Default::default()
    };
    client.call(request.clone()).await;
    client.clear_thread(&thread_id).await;
    assert!(client.call(request).await.replayed);
    assert!(!is_kept(&database, &part).await);
}

#[apply(trial)]
async fn content_of_a_refused_working_memory_is_erased_at_once() {
    let (client, database) = (plain().await, database().await);
    let thread_id = client.thread(&app()).await;
    let part = unique_part();
    let request = PutWorkingMemoryRequest {
        thread: by_id(&thread_id),
        messages: vec![Message {
            role: Role::User.into(),
            parts: vec![part.clone()],
            ..Default::default()
        }],
        precondition: has_etag(Uuid::new_v4().to_string()),
        ..Default::default()
    };
    client.refused(request).await;
    assert!(!is_kept(&database, &part).await);
}

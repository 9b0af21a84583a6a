//! Clearing and deleting erase everywhere.

use memory_contract::proto::{
    AppendMessagesRequest, ClearThreadResponse, DeleteMessageRequest, DeleteMessageResponse, Role,
};
use recollect_tests::{
    Client, Dynamic, app, apply, by_id, history_request, session, texts, trial, turn,
};
use serde_json::json;

use crate::plain;

async fn clear(client: &Client, thread_id: &str) -> ClearThreadResponse {
    client.clear_thread(thread_id).await
}

#[apply(trial)]
async fn t14_clearing_a_session_starts_it_afresh() {
    let client = plain().await;
    let app = app();
    let before = client.resolve(session(&app, "ada", "thread:1")).await;
    let thread_id = before.thread_id.clone();
    let said = [
        turn("The code is 4711.", "Noted."),
        turn("And 0815.", "Noted too."),
    ];
    let stored = client.append(&thread_id, said.concat()).await;
    // A branch must go too.
    let first = &stored.messages[0].message_id;
    client
        .append(
            &thread_id,
            vec![recollect_tests::reply(first, Role::Assistant, "Again.")],
        )
        .await;

    let cleared = clear(&client, &thread_id).await;
    assert_eq!(cleared.deleted_message_count, 5);
    assert!(!cleared.revision.is_empty());
    assert!(client.all_messages(&thread_id).await.is_empty());
    assert!(
        client
            .call(history_request(&thread_id))
            .await
            .messages
            .is_empty()
    );
    let recalled = client
        .recall(recollect_tests::recall_request(
            &thread_id,
            "What is the code?",
            &cleared.revision,
        ))
        .await;
    assert_eq!(recalled.messages, []);

    let thread = client.resolve(session(&app, "ada", "thread:1")).await;
    assert_eq!(thread.thread_id, thread_id, "the thread itself stays");
    assert_eq!((thread.message_count, thread.last_seq), (0, 5));
    assert_eq!(thread.head_message_id, "");

    let request = AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: turn("A new start?", "A new start."),
        expected_head: Some(String::new()),
        ..Default::default()
    };
    let fresh = client.call(request).await;
    assert_eq!(fresh.messages[0].seq, 6, "a seq is never given out twice");
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(texts(&history.messages), ["A new start?", "A new start."]);
    assert_eq!(history.messages[0].depth, 1);
    assert!(!history.truncated);
}

#[apply(trial)]
async fn clearing_twice_erases_nothing_more() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "Q", "A").await;
    assert_eq!(clear(&client, &thread_id).await.deleted_message_count, 2);
    assert_eq!(clear(&client, &thread_id).await.deleted_message_count, 0);
}

#[apply(trial)]
async fn a_deleted_thread_is_not_found_by_any_method() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let stored = client.append_turn(&thread_id, "Secret?", "Secret.").await;
    let message_id = stored.messages[0].message_id.as_str();
    let deleted = client.delete_thread(&thread_id).await;
    assert_eq!(deleted.deleted_message_count, 2);

    crate::isolation::reads::is_missing(&client, &thread_id, message_id).await;
    let listed = Dynamic::call(
        &client,
        "ThreadService/ListThreads",
        json!({"target": {"app": {"app_id": app}}}),
    )
    .await;
    assert_eq!(listed.unwrap().into_inner(), [json!({})]);
}

#[apply(trial)]
async fn a_deleted_thread_frees_its_session_key() {
    let client = plain().await;
    let app = app();
    let first = client.resolve(session(&app, "ada", "thread:1")).await;
    client.append_turn(&first.thread_id, "Q", "A").await;
    client.delete_thread(&first.thread_id).await;
    let second = client.resolve(session(&app, "ada", "thread:1")).await;
    assert_ne!(second.thread_id, first.thread_id);
    assert_eq!((second.message_count, second.last_seq), (0, 0));
}

#[apply(trial)]
async fn a_message_is_deleted_once() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append_turn(&thread_id, "Q", "A").await;
    let request = |message_id: &str| DeleteMessageRequest {
        thread: by_id(&thread_id),
        message_id: message_id.to_owned(),
    };
    let id = &stored.messages[0].message_id;
    let deleted = client.call(request(id)).await;
    assert!(deleted.deleted && !deleted.revision.is_empty());
    let never = uuid::Uuid::new_v4().to_string();
    for gone in [id.as_str(), &never] {
        let nothing = DeleteMessageResponse::default();
        assert_eq!(client.call(request(gone)).await, nothing);
    }
    assert_eq!(texts(&client.all_messages(&thread_id).await), ["A"]);
}

#[apply(trial)]
async fn deleting_the_only_message_leaves_an_empty_thread() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append_text(&thread_id, "Alone").await;
    client
        .delete_message(&thread_id, &stored.messages[0].message_id)
        .await;
    let thread = client.get_thread(&thread_id).await;
    assert_eq!((thread.message_count, thread.last_seq), (0, 1));
    assert_eq!(thread.head_message_id, "");
    let next = client.append_text(&thread_id, "Next").await;
    assert_eq!(next.messages[0].seq, 2);
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(texts(&history.messages), ["Next"]);
}

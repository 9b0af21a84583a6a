//! The metadata of a stored message is replaced; the message stays as it was.

use futures::future::join;
use memory_contract::proto::{
    DeleteMessageRequest, GetMessageRequest, GetWorkingMemoryRequest, ListMessagesRequest,
    ListTransactionsRequest, MessageFilter, MessageInput, Role, SearchRequest, TransactionAction,
    UpdateMessageRequest, UpdateMessageResponse, VerifyThreadRequest,
};
use recollect_tests::{
    Call as _, Client, app, apply, by_id, history_request, say, search_request, target_thread,
    texts, trial,
};
use tonic::Code;

use crate::plain;

fn update(thread_id: &str, message_id: &str, metadata: &str) -> UpdateMessageRequest {
    UpdateMessageRequest {
        thread: by_id(thread_id),
        message_id: message_id.to_owned(),
        metadata: Some(metadata.to_owned()),
    }
}

/// The texts of the messages with this metadata: listed, searched at once, and searched in the
/// index.
async fn matching(client: &Client, thread_id: &str, metadata: &str, revision: &str) -> Vec<String> {
    let filter = Some(MessageFilter {
        metadata: metadata.to_owned(),
        ..Default::default()
    });
    let list = ListMessagesRequest {
        target: target_thread(thread_id),
        filter: filter.clone(),
        ..Default::default()
    };
    let listed = texts(&client.list(list).await);
    for freshness in ["", revision] {
        let search = SearchRequest {
            filter: filter.clone(),
            ..search_request(thread_id, "harbor", freshness)
        };
        assert_eq!(texts(&client.search(search).await.matches), listed);
    }
    listed
}

#[apply(trial)]
async fn the_metadata_of_a_message_is_replaced_and_filters_follow() {
    let (client, app) = (plain().await, app());
    let thread_id = client.thread(&app).await;
    let said = MessageInput {
        metadata: r#"{"state": "draft", "b": 1}"#.to_owned(),
        external_id: "msg 1".to_owned(),
        ..say(Role::User, "The harbor is closed.")
    };
    let answer = say(Role::Assistant, "Then the harbor bus it is.");
    let stored = client.append(&thread_id, vec![said.clone(), answer]).await;
    let working = GetWorkingMemoryRequest {
        thread: by_id(&thread_id),
        ..Default::default()
    };
    let etag = async || {
        let answer = client.call(working.clone()).await;
        answer.working_memory.unwrap().etag
    };
    let first_etag = etag().await;
    // Reading keeps a window in memory, which must not show the old metadata.
    let before = client.call(history_request(&thread_id)).await;

    let wanted = r#"{"id": 1234567890123456788, "state": "sent"}"#;
    let UpdateMessageResponse { message, revision } =
        client.call(update(&thread_id, "msg 1", wanted)).await;
    let message = message.unwrap();
    assert_eq!(message.metadata, wanted);
    assert_ne!(etag().await, first_etag, "its messages changed");
    let mut expected = before.messages.clone();
    expected[0].metadata = wanted.to_owned();
    assert_eq!(message, expected[0], "everything else stays");
    let after = client.call(history_request(&thread_id)).await;
    assert_eq!(after.messages, expected);
    let read = GetMessageRequest {
        thread: by_id(&thread_id),
        message_id: stored.messages[0].message_id.clone(),
    };
    assert_eq!(client.call(read).await.message.unwrap(), expected[0]);

    let of = async |metadata: &str| matching(&client, &thread_id, metadata, &revision).await;
    assert_eq!(of(r#"{"state": "sent"}"#).await, ["The harbor is closed."]);
    let id = r#"{"id": 1234567890123456788}"#;
    assert_eq!(of(id).await, ["The harbor is closed."]);
    assert!(of(r#"{"id": 1234567890123456787}"#).await.is_empty());
    assert!(of(r#"{"state": "draft"}"#).await.is_empty());
    assert!(of(r#"{"b": 1}"#).await.is_empty(), "it is replaced whole");

    // Appending it again, as it was said first, stores nothing.
    let replayed = client.append(&thread_id, vec![said]).await;
    assert!(replayed.replayed);

    // An empty text clears it; the ledger and the audit log agree.
    let cleared = client.call(update(&thread_id, "msg 1", "")).await;
    assert_eq!(cleared.message.unwrap().metadata, "");
    let verify = VerifyThreadRequest {
        thread: by_id(&thread_id),
    };
    assert!(client.call(verify).await.ok);
    let listed = client
        .call(ListTransactionsRequest {
            thread: by_id(&thread_id),
            ..Default::default()
        })
        .await;
    let updates = listed.transactions.iter().filter(|one| {
        one.action() == TransactionAction::UpdateMessage
            && one.subject == stored.messages[0].message_id
    });
    assert_eq!(updates.count(), 2);
}

#[apply(trial)]
async fn an_update_beside_a_deletion_is_answered_as_it_was_stored() {
    let (client, app) = (plain().await, app());
    let thread_id = client.thread(&app).await;
    let mut answered = Vec::new();
    for number in 0..100 {
        let stored = client.append_turn(&thread_id, "Q", "A").await;
        let id = &stored.messages[0].message_id;
        let metadata = format!(r#"{{"number": {number}}}"#);
        let delete = DeleteMessageRequest {
            thread: by_id(&thread_id),
            message_id: id.clone(),
        };
        let updating = update(&thread_id, id, &metadata).send(&client);
        let (updated, deleted) = join(updating, delete.send(&client)).await;
        assert!(deleted.unwrap().into_inner().deleted);
        match updated {
            Ok(updated) => {
                let message = updated.into_inner().message.unwrap();
                assert_eq!((&message.message_id, message.metadata), (id, metadata));
                answered.push(id.clone());
            }
            Err(refused) => assert_eq!(refused.code(), Code::NotFound, "{refused:?}"),
        }
    }
    let listed = client
        .call(ListTransactionsRequest {
            thread: by_id(&thread_id),
            actions: vec![TransactionAction::UpdateMessage.into()],
            page_size: 200,
            ..Default::default()
        })
        .await;
    let mut stored: Vec<String> = listed
        .transactions
        .into_iter()
        .map(|one| one.subject)
        .collect();
    stored.sort();
    answered.sort();
    assert_eq!(stored, answered);
}

#[apply(trial)]
async fn an_update_that_cannot_be_made_changes_nothing() {
    let (client, app) = (plain().await, app());
    let thread_id = client.thread(&app).await;
    let stored = client.append_turn(&thread_id, "Q", "A").await;
    let message_id = stored.messages[0].message_id.as_str();
    let nothing = UpdateMessageRequest {
        metadata: None,
        ..update(&thread_id, message_id, "")
    };
    client.refused(nothing).await.names_field("metadata");
    let large = format!(r#"{{"a": "{}"}}"#, "x".repeat(16 * 1024));
    for wrong in ["[]", "{", r#"{"a": NaN}"#, large.as_str()] {
        let refused = client.refused(update(&thread_id, message_id, wrong)).await;
        refused.is(Code::InvalidArgument, "INVALID_FIELD");
    }
    client.delete_message(&thread_id, message_id).await;
    for gone in [message_id, &uuid::Uuid::new_v4().to_string()] {
        let refused = client.refused(update(&thread_id, gone, "{}")).await;
        refused.is(Code::NotFound, "MESSAGE_NOT_FOUND");
    }
    let messages = client.all_messages(&thread_id).await;
    assert_eq!(texts(&messages), ["A"]);
    assert_eq!(messages[0].metadata, "");
}

//! Working memories whose messages have the caller's own ids.

use memory_contract::proto::{GetMessageRequest, Message, Role};
use recollect_tests::{app, apply, by_id, has_etag, trial};
use uuid::Uuid;

use super::{a_session, archive, put_in, put_memory, put_of, said};
use crate::plain;

#[apply(trial)]
async fn r07_the_callers_ids_are_kept() {
    let client = plain().await;
    let app = app();
    let named = |id: &str, text: &str| Message {
        message_id: id.to_owned(),
        ..said(Role::User, text)
    };
    let uuid = Uuid::new_v4().to_string();
    let (ulid, short) = ("01JDB7Q5W3ZK8C1X9VQ2N4T6A0", "msg_01");
    let messages = vec![
        named(ulid, "one"),
        named(&uuid, "two"),
        named(short, "three"),
    ];
    let first = put_memory(&client, put_in(a_session(&app), messages)).await;
    let ids = |messages: &[Message]| -> Vec<String> {
        let ids = messages
            .iter()
            .map(|message| match message.external_id.is_empty() {
                true => message.message_id.clone(),
                false => message.external_id.clone(),
            });
        ids.collect()
    };
    assert_eq!(ids(&first.messages), [ulid, &uuid, short]);
    for message in &first.messages {
        assert_eq!(message.role(), Role::User);
        let request = GetMessageRequest {
            thread: by_id(&first.thread_id),
            message_id: message.message_id.clone(),
        };
        let stored = client.call(request).await.message.unwrap();
        assert_eq!(stored.external_id, message.external_id);
        assert_eq!(stored.create_time, message.create_time);
    }
    // The same ids again are the same messages.
    let mut again = put_of(
        &first.thread_id,
        vec![
            named(ulid, "one"),
            named(&uuid, "two"),
            named(short, "three"),
        ],
    );
    again.messages.push(named("msg_02", "four"));
    again.precondition = has_etag(&first.etag);
    let second = put_memory(&client, again).await;
    assert_eq!(ids(&second.messages), [ulid, &uuid, short, "msg_02"]);
    assert_eq!(second.messages[..3], first.messages[..]);
    assert_eq!(archive(&client, &first.thread_id).await.len(), 4);
}

//! Appending: order, retries, races, and batches that are refused as a whole.

use std::collections::{HashMap, HashSet};

use futures::future::join_all;
use memory_contract::proto::{AppendMessagesRequest, AppendMessagesResponse, MessageInput, Role};
use prost_types::Timestamp;
use recollect_tests::{
    Key, PLAIN, Refused as _, app, apply, by_id, history_request, say, text_of, texts, trial, turn,
};
use tonic::Code;
use uuid::Uuid;

use crate::plain;

fn request(thread_id: &str, messages: Vec<MessageInput>) -> AppendMessagesRequest {
    AppendMessagesRequest {
        thread: by_id(thread_id),
        messages,
        ..Default::default()
    }
}

#[apply(trial)]
async fn an_append_returns_the_place_of_each_message() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let first = client.append_turn(&thread_id, "Hello?", "Hello!").await;
    let second = client.append_text(&thread_id, "How are you?").await;
    let places: Vec<(i64, i32)> = first
        .messages
        .iter()
        .chain(&second.messages)
        .map(|message| (message.seq, message.branch))
        .collect();
    assert_eq!(places, [(1, 1), (2, 1), (3, 1)]);
    assert!(!first.replayed && !first.revision.is_empty());
    assert_ne!(first.revision, second.revision);

    let stored = client.all_messages(&thread_id).await;
    for (reported, kept) in first.messages.iter().chain(&second.messages).zip(&stored) {
        assert_eq!(reported.message_id, kept.message_id);
        assert_eq!(reported.token_count, kept.token_count);
    }
    // "Hello?" is two tokens of o200k_base, and each message has a frame of 3.
    assert_eq!(stored[0].token_count, 5);
    let depths: Vec<i32> = stored.iter().map(|message| message.depth).collect();
    assert_eq!(depths, [1, 2, 3]);
    assert_eq!(stored[0].parent_message_id, "");
    assert_eq!(stored[1].parent_message_id, stored[0].message_id);

    let thread = client.get_thread(&thread_id).await;
    assert_eq!((thread.last_seq, thread.message_count), (3, 3));
    assert_eq!(thread.head_message_id, stored[2].message_id);
}

#[apply(trial)]
async fn a_repeated_request_stores_nothing_twice() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let request = AppendMessagesRequest {
        request_id: Uuid::new_v4().to_string(),
        ..request(&thread_id, turn("Once?", "Once."))
    };
    let first = client.call(request.clone()).await;
    client.append_turn(&thread_id, "Later?", "Later.").await;
    let again = client.call(request).await;
    assert!(!first.replayed && again.replayed);
    assert_eq!(
        AppendMessagesResponse {
            replayed: true,
            ..first
        },
        again
    );
    assert_eq!(client.all_messages(&thread_id).await.len(), 4);
}

#[apply(trial)]
async fn a_request_id_with_other_content_is_refused() {
    let client = plain().await;
    let app = app();
    let (thread_id, other) = (client.thread(&app).await, client.thread(&app).await);
    let first = AppendMessagesRequest {
        request_id: Uuid::new_v4().to_string(),
        ..request(&thread_id, turn("Once?", "Once."))
    };
    client.call(first.clone()).await;

    let mut reworded = first.clone();
    reworded.messages = turn("Once?", "Twice.");
    let mut elsewhere = first.clone();
    elsewhere.thread = by_id(&other);
    let mut named = first.clone();
    named.messages[0].name = "Ada".to_owned();
    let mut shorter = first;
    shorter.messages.pop();
    for changed in [reworded, elsewhere, named, shorter] {
        let refused = client.refused(changed).await;
        refused.is(Code::AlreadyExists, "REQUEST_ID_REUSED");
    }
    assert_eq!(client.all_messages(&thread_id).await.len(), 2);
    assert!(client.all_messages(&other).await.is_empty());
}

#[apply(trial)]
async fn a_request_repeated_concurrently_stores_nothing_twice() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let request = AppendMessagesRequest {
        request_id: Uuid::new_v4().to_string(),
        ..request(&thread_id, turn("Once?", "Once."))
    };
    let answers = join_all((0..12).map(|_| client.call(request.clone()))).await;
    assert_eq!(
        answers.iter().filter(|answer| !answer.replayed).count(),
        1,
        "{answers:?}"
    );
    assert!(
        answers
            .iter()
            .all(|answer| answer.messages == answers[0].messages)
    );
    assert_eq!(client.all_messages(&thread_id).await.len(), 2);
}

#[apply(trial)]
async fn expected_head_refuses_an_append_to_an_older_head() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let expecting = async |head: &str| {
        let request = AppendMessagesRequest {
            expected_head: Some(head.to_owned()),
            ..request(&thread_id, vec![say(Role::User, "And now?")])
        };
        client.messages().append_messages(request).await
    };
    let first = expecting("").await.unwrap().into_inner();
    let head = first.messages[0].message_id.clone();

    let moved = expecting("").await.refused();
    let moved = moved.is(Code::Aborted, "HEAD_MOVED");
    assert_eq!(moved.metadata.get("head"), Some(&head));

    expecting(&head).await.unwrap();
    expecting(&head)
        .await
        .refused()
        .is(Code::Aborted, "HEAD_MOVED");
    assert_eq!(client.all_messages(&thread_id).await.len(), 2);
}

#[apply(trial)]
async fn expected_head_lets_one_of_many_win() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let first = client.append_text(&thread_id, "Who answers?").await;
    let head = &first.messages[0].message_id;
    let calls = (0..10).map(|number| {
        let request = AppendMessagesRequest {
            expected_head: Some(head.clone()),
            ..request(
                &thread_id,
                vec![say(Role::Assistant, &format!("Answer {number}"))],
            )
        };
        let mut messages = client.messages();
        async move { messages.append_messages(request).await }
    });
    let (won, lost): (Vec<_>, Vec<_>) = join_all(calls).await.into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 9));
    for loser in lost {
        loser.refused().is(Code::Aborted, "HEAD_MOVED");
    }
    assert_eq!(client.all_messages(&thread_id).await.len(), 2);
}

#[apply(trial)]
async fn concurrent_appends_leave_no_gap_and_lose_nothing() {
    const WRITERS: usize = 8;
    const APPENDS: usize = 12;

    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let writers = (0..WRITERS).map(|writer| {
        let (client, thread_id) = (client.clone(), thread_id.clone());
        async move {
            let mut reported = Vec::new();
            for number in 0..APPENDS {
                let question = format!("{writer}-{number} question");
                let answer = format!("{writer}-{number} answer");
                let stored = client.append_turn(&thread_id, &question, &answer).await;
                reported.push((stored.messages[0].seq, question));
                reported.push((stored.messages[1].seq, answer));
            }
            reported
        }
    });
    let reported: Vec<Vec<(i64, String)>> = join_all(writers).await;
    for own in &reported {
        assert!(own.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
    let reported: HashMap<i64, String> = reported.into_iter().flatten().collect();
    let stored = client.all_messages(&thread_id).await;
    assert_eq!(stored.len(), WRITERS * APPENDS * 2);
    for (message, seq) in stored.iter().zip(1..) {
        assert_eq!(message.seq, seq);
        assert_eq!(reported[&seq], text_of(message));
    }
    let different: HashSet<String> = texts(&stored).into_iter().collect();
    assert_eq!(different.len(), stored.len());
    for pair in stored.chunks(2) {
        let (question, answer) = (text_of(&pair[0]), text_of(&pair[1]));
        assert_eq!(
            question.split(' ').next(),
            answer.split(' ').next(),
            "one append stays together"
        );
    }
    // Each append followed the head of its moment, so all are one conversation.
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(history.messages.len(), stored.len());
}

#[apply(trial)]
async fn the_order_is_that_of_seq_and_never_of_time() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let at = |seconds: i64, role, text: &str| MessageInput {
        create_time: Some(Timestamp { seconds, nanos: 0 }),
        ..say(role, text)
    };
    client
        .append(
            &thread_id,
            vec![
                at(2_000_000_000, Role::User, "first"),
                at(-62_135_596_800, Role::Assistant, "second"),
                at(1_000_000_000, Role::User, "third"),
                at(1_000_000_000, Role::Assistant, "fourth"),
            ],
        )
        .await;
    let expected = ["first", "second", "third", "fourth"];
    assert_eq!(texts(&client.all_messages(&thread_id).await), expected);
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(texts(&history.messages), expected);
    let times: Vec<i64> = history
        .messages
        .iter()
        .map(|message| message.create_time.unwrap().seconds)
        .collect();
    assert_eq!(
        times,
        [2_000_000_000, -62_135_596_800, 1_000_000_000, 1_000_000_000]
    );
}

#[apply(trial)]
async fn one_bad_message_refuses_the_whole_batch() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "Fine?", "Fine.").await;
    let before = client.get_thread(&thread_id).await;

    let mut messages: Vec<MessageInput> = (0..255)
        .map(|number| say(Role::User, &format!("good {number}")))
        .collect();
    messages.push(say(Role::User, "bad \0"));
    let answer = client.refused(request(&thread_id, messages.clone())).await;
    answer.names_field("messages[255].parts[0].text");

    // A parent that does not exist is only found out in the database.
    messages[255] = recollect_tests::reply(&Uuid::new_v4().to_string(), Role::User, "orphan");
    let refused = client.refused(request(&thread_id, messages.clone())).await;
    refused.names_field("messages[255].parent_message_id");

    assert_eq!(client.get_thread(&thread_id).await, before);
    assert_eq!(client.all_messages(&thread_id).await.len(), 2);

    messages.pop();
    let stored = client.append(&thread_id, messages).await;
    assert_eq!(stored.messages.first().unwrap().seq, 3);
    assert_eq!(stored.messages.last().unwrap().seq, 257);
}

#[apply(trial)]
async fn a_message_id_is_used_once_in_a_tenant() {
    let client = plain().await;
    let app = app();
    let (thread_id, other) = (client.thread(&app).await, client.thread(&app).await);
    let message = MessageInput {
        message_id: Uuid::new_v4().to_string(),
        ..say(Role::User, "I have a name.")
    };
    let stored = client.append(&thread_id, vec![message.clone()]).await;
    assert_eq!(stored.messages[0].message_id, message.message_id);
    for thread_id in [&thread_id, &other] {
        let batch = vec![say(Role::User, "Before it."), message.clone()];
        let refused = client.refused(request(thread_id, batch)).await;
        refused.is(Code::AlreadyExists, "MESSAGE_ALREADY_EXISTS");
    }
    assert_eq!(client.all_messages(&thread_id).await.len(), 1);
    assert!(client.all_messages(&other).await.is_empty());
}

#[apply(trial)]
async fn a_message_id_of_another_tenant_is_free() {
    let (acme, globex) = (plain().await, PLAIN.client(Key::Globex).await);
    let app = app();
    let message = MessageInput {
        message_id: Uuid::new_v4().to_string(),
        ..say(Role::User, "Both of us have this id.")
    };
    for client in [acme, globex] {
        let thread_id = client.thread(&app).await;
        client.append(&thread_id, vec![message.clone()]).await;
        assert_eq!(client.all_messages(&thread_id).await.len(), 1);
    }
}

//! The audit log: who did what.

use memory_contract::proto::{
    AppendMessagesRequest, CreateThreadRequest, DeleteMessageRequest, ImportMessagesRequest,
    ListTransactionsRequest, ResolveThreadRequest, Role, Thread, TransactionAction,
    UpdateThreadRequest,
};
use recollect_tests::{
    Client, DataDir, Key, Options, PLAIN, SOON, Server, app, apply, by_id, by_session,
    eventually_some, mask, say, session, trial, trial_with_own_server, turn,
};
use tokio_stream::StreamExt as _;
use tonic::Code;
use uuid::Uuid;

use super::{done_to, transactions};
use crate::plain;

fn done(actor: &str, action: &str, subject: &str, count: i64) -> (String, String, String, i64) {
    (
        actor.to_owned(),
        action.to_owned(),
        subject.to_owned(),
        count,
    )
}

#[apply(trial)]
async fn l06_each_change_is_listed_with_its_actor() {
    let (one, other) = (plain().await, PLAIN.client(Key::AcmeToo).await);
    let thread_id = one.thread(&app()).await;
    let stored = one
        .append(&thread_id, [turn("Q1", "A1"), turn("Q2", "A2")].concat())
        .await;
    let message_id = stored.messages[3].message_id.clone();
    other.append_text(&thread_id, "Q3").await;
    let update = UpdateThreadRequest {
        thread: Some(Thread {
            thread_id: thread_id.to_owned(),
            title: "Never in a transaction".to_owned(),
            ..Default::default()
        }),
        update_mask: Some(mask(&["title"])),
        precondition: None,
    };
    other.call(update).await;
    other.delete_message(&thread_id, &message_id).await;
    one.clear_thread(&thread_id).await;
    other.delete_thread(&thread_id).await;

    // The thread is deleted, and what was done to it is still known.
    let (acme, reports) = (Key::Acme.name(), Key::AcmeToo.name());
    assert_eq!(
        done_to(&one, &thread_id).await,
        [
            done(reports, "delete_thread", "", 0),
            done(acme, "clear_thread", "", 4),
            done(reports, "delete_message", &message_id, 1),
            done(reports, "update_thread", "", 1),
            done(reports, "append_messages", "5", 1),
            done(acme, "append_messages", "1", 4),
            done(acme, "create_thread", "", 1),
        ]
    );
}

#[apply(trial)]
async fn l06_refused_changes_are_not_listed_as_changes_of_the_thread() {
    let client = plain().await;
    let app = app();
    let session = session(&app, "ada", "thread:1");
    let thread_id = client.resolve(session.clone()).await.thread_id;
    let request = AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: turn("Q", "A"),
        request_id: Uuid::new_v4().to_string(),
        ..Default::default()
    };
    let first = client.call(request.clone()).await;
    let before = done_to(&client, &thread_id).await;
    assert_eq!(before.len(), 2, "{before:?}");

    // Found, not created.
    client.resolve(session.clone()).await;
    let create = CreateThreadRequest {
        session: Some(session),
        ..Default::default()
    };
    let refused = client.refused(create).await;
    refused.is(Code::AlreadyExists, "THREAD_ALREADY_EXISTS");
    // Replayed, and refused in each way that comes before and after storing.
    assert!(client.call(request.clone()).await.replayed);
    let append = async |request: AppendMessagesRequest| client.refused(request).await.reason;
    let stale = AppendMessagesRequest {
        request_id: String::new(),
        expected_head: Some(first.messages[0].message_id.clone()),
        ..request.clone()
    };
    assert_eq!(append(stale).await, "HEAD_MOVED");
    let mut known = say(Role::User, "again");
    known.message_id = first.messages[0].message_id.clone();
    let known = AppendMessagesRequest {
        request_id: Uuid::new_v4().to_string(),
        messages: vec![known],
        ..request.clone()
    };
    assert_eq!(append(known).await, "MESSAGE_ALREADY_EXISTS");
    let reused = AppendMessagesRequest {
        messages: turn("Q", "another"),
        ..request
    };
    assert_eq!(append(reused).await, "REQUEST_ID_REUSED");
    let missing = DeleteMessageRequest {
        thread: by_id(&thread_id),
        message_id: Uuid::new_v4().to_string(),
    };
    assert!(!client.call(missing).await.deleted);
    assert_eq!(done_to(&client, &thread_id).await, before);
}

#[apply(trial)]
async fn l06_an_import_is_listed_with_its_actor() {
    let client = PLAIN.client(Key::AcmeToo).await;
    let app = app();
    let requests: Vec<_> = ["thread:1", "thread:2"]
        .map(|key| ImportMessagesRequest {
            thread: by_session(session(&app, "ada", key)),
            messages: turn("Q", "A"),
            request_id: Uuid::new_v4().to_string(),
            ..Default::default()
        })
        .into();
    let stream = client
        .messages()
        .import_messages(tokio_stream::iter(requests))
        .await;
    let answers: Vec<_> = stream.unwrap().into_inner().collect().await;
    assert_eq!(answers.len(), 2);
    let admin = plain().await;
    for key in ["thread:1", "thread:2"] {
        let thread_id = admin.resolve(session(&app, "ada", key)).await.thread_id;
        let actor = Key::AcmeToo.name();
        assert_eq!(
            done_to(&admin, &thread_id).await,
            [
                done(actor, "append_messages", "1", 2),
                done(actor, "create_thread", "", 1)
            ]
        );
    }
}

#[apply(trial)]
async fn l06_an_expired_thread_was_erased_by_the_server_itself() {
    let client = plain().await;
    let request = ResolveThreadRequest {
        session: Some(session(&app(), "ada", "thread:1")),
        ..Default::default()
    };
    let resolve = async || client.call(request.clone()).await;
    let old = resolve().await.thread.unwrap().thread_id;
    client.append_turn(&old, "Q", "A").await;
    client.expire(&old).await;
    let new = eventually_some("it expires", SOON, async || {
        let answer = resolve().await;
        answer
            .created
            .then(|| answer.thread.unwrap().thread_id)
            .filter(|id| *id != old)
    })
    .await;
    assert_eq!(
        done_to(&client, &old).await[0],
        done("worker", "delete_thread", "", 2)
    );
    // The new thread has its own record.
    let actor = Key::Acme.name();
    assert_eq!(
        done_to(&client, &new).await.last(),
        Some(&done(actor, "create_thread", "", 1))
    );
}

#[apply(trial_with_own_server)]
async fn l06_without_keys_it_was_anonymous() {
    let dir = DataDir::new();
    let options = Options {
        keys: Vec::new(),
        ..Options::with(&["embedding.kind = \"none\""])
    };
    let server = Server::start(&dir, &options);
    let client = Client::with_authorization(&server.ready().addr, None).await;
    let thread_id = client.thread("app").await;
    client.append_turn(&thread_id, "Q", "A").await;
    assert_eq!(
        done_to(&client, &thread_id).await,
        [
            done("anonymous", "append_messages", "1", 2),
            done("anonymous", "create_thread", "", 1)
        ]
    );
}

#[apply(trial_with_own_server)]
async fn l06_transactions_survive_a_kill_together_with_their_changes() {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (dir, server, client) = Server::start_own(&options).await;
    let thread_id = client.thread("app").await;
    let mut acknowledged = 0;
    for _ in 0..25 {
        client.append_turn(&thread_id, "Q", "A").await;
        acknowledged += 1;
    }
    // One more is under way.
    let last = {
        let (client, thread_id) = (client.clone(), thread_id.clone());
        tokio::spawn(async move {
            let request = AppendMessagesRequest {
                thread: by_id(thread_id),
                messages: turn("Q", "A"),
                ..Default::default()
            };
            client.messages().append_messages(request).await.is_ok()
        })
    };
    server.kill();
    acknowledged += usize::from(last.await.unwrap());

    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let stored = client.all_messages(&thread_id).await.len();
    let noted = done_to(&client, &thread_id).await;
    let appended: i64 = noted
        .iter()
        .filter(|(_, action, ..)| action == "append_messages")
        .map(|(.., count)| count)
        .sum();
    assert!(stored >= 2 * acknowledged, "{stored} of {acknowledged}");
    assert_eq!(appended, i64::try_from(stored).unwrap());
}

#[apply(trial)]
async fn transactions_are_filtered_and_paged() {
    let (one, other) = (plain().await, PLAIN.client(Key::AcmeToo).await);
    let thread_id = one.thread(&app()).await;
    for _ in 0..3 {
        one.append_turn(&thread_id, "Q", "A").await;
        other.append_turn(&thread_id, "Q", "A").await;
    }
    let select = |actor: &str, page_size: i32| ListTransactionsRequest {
        thread: by_id(&thread_id),
        actor: actor.to_owned(),
        page_size,
        ..Default::default()
    };
    let all = transactions(&one, select("", 0)).await;
    assert_eq!(all.len(), 7);
    let times: Vec<_> = all
        .iter()
        .map(|done| done.create_time.map(|time| (time.seconds, time.nanos)))
        .collect();
    assert!(
        times.is_sorted_by(|newer, older| newer >= older),
        "{times:?}"
    );
    for page_size in [1, 2, 3, 500] {
        assert_eq!(transactions(&one, select("", page_size)).await, all);
    }
    let theirs = transactions(&one, select(Key::AcmeToo.name(), 1)).await;
    let expected: Vec<_> = all
        .iter()
        .filter(|done| done.actor == Key::AcmeToo.name())
        .cloned()
        .collect();
    assert_eq!((theirs.len(), theirs), (3, expected));
    assert!(transactions(&one, select("nobody", 0)).await.is_empty());

    // By actor alone, and by nothing: the newest are among them.
    let by_actor = ListTransactionsRequest {
        actor: Key::AcmeToo.name().to_owned(),
        page_size: 500,
        ..Default::default()
    };
    let page = one.call(by_actor.clone()).await;
    assert!(
        page.transactions
            .iter()
            .all(|done| done.actor == by_actor.actor)
    );
    assert!(page.transactions.contains(&all[0]));
    let everything = ListTransactionsRequest {
        page_size: 500,
        ..Default::default()
    };
    let page = one.call(everything).await;
    assert!(page.transactions.contains(&all[0]));

    // A page token is valid for its own query only.
    let token = one.call(select("", 1)).await.next_page_token;
    let other_query = ListTransactionsRequest {
        page_token: token,
        ..select(Key::Acme.name(), 1)
    };
    one.refused(other_query).await.names_field("page_token");
    let wrong = ListTransactionsRequest {
        thread: by_id("x"),
        ..Default::default()
    };
    one.refused(wrong).await.names_field("thread.thread_id");
}

#[apply(trial)]
async fn transactions_of_another_tenant_are_not_listed() {
    let (acme, globex) = (plain().await, PLAIN.client(Key::Globex).await);
    let thread_id = acme.thread(&app()).await;
    assert_eq!(done_to(&acme, &thread_id).await.len(), 1);
    assert!(done_to(&globex, &thread_id).await.is_empty());
}

#[apply(trial)]
async fn transactions_are_selected_by_kind_and_time() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    for question in ["First", "Second"] {
        client.append_turn(&thread_id, question, "A").await;
    }
    let select = |actions: &[TransactionAction]| ListTransactionsRequest {
        thread: by_id(&thread_id),
        actions: actions.iter().map(|action| (*action).into()).collect(),
        ..Default::default()
    };
    let appended = transactions(&client, select(&[TransactionAction::AppendMessages])).await;
    assert_eq!(appended.len(), 2);
    let created = transactions(&client, select(&[TransactionAction::CreateThread])).await;
    assert_eq!(created.len(), 1);
    let both = [
        TransactionAction::AppendMessages,
        TransactionAction::CreateThread,
    ];
    assert_eq!(transactions(&client, select(&both)).await.len(), 3);
    assert!(
        transactions(&client, select(&[TransactionAction::PutPlan]))
            .await
            .is_empty()
    );

    // The newest first: the end of a range is not within.
    let [second, first] = [&appended[0], &appended[1]].map(|one| one.create_time);
    let between = async |start_time, end_time| {
        let request = ListTransactionsRequest {
            start_time,
            end_time,
            ..select(&[TransactionAction::AppendMessages])
        };
        transactions(&client, request).await.len()
    };
    assert_eq!(between(first, None).await, 2);
    assert_eq!(between(second, None).await, 1);
    assert_eq!(between(None, second).await, 1);
    assert_eq!(between(first, second).await, 1);

    let refused = client
        .refused(ListTransactionsRequest {
            actions: vec![0],
            start_time: second,
            end_time: first,
            ..select(&[])
        })
        .await;
    let refused = refused.is(Code::InvalidArgument, "INVALID_FIELD");
    assert_eq!(refused.field_names(), ["actions[0]", "end_time"]);
}

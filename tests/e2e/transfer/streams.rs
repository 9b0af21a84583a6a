//! Import and export over streams.

use memory_contract::proto::{
    ErrorReason, ExportRecordsRequest, ImportMessagesRequest, ImportMessagesResponse,
    ImportedMessages, MessageInput, Role, import_messages_response::Outcome, record::Kind,
};
use recollect_tests::{
    Client, Refused as _, app, apply, by_session, file, reply, say, session, target_thread, texts,
    trial, turn, with_parts,
};
use tokio_stream::StreamExt as _;
use uuid::Uuid;

use super::{export_of, records, split};
use crate::recall::diary;
use crate::{bulk, plain};

fn request(app: &str, key: &str, messages: Vec<MessageInput>) -> ImportMessagesRequest {
    ImportMessagesRequest {
        thread: by_session(session(app, "ada", key)),
        messages,
        request_id: Uuid::new_v4().to_string(),
        ..Default::default()
    }
}

async fn import(
    client: &Client,
    requests: Vec<ImportMessagesRequest>,
) -> Vec<ImportMessagesResponse> {
    let stream = client
        .messages()
        .import_messages(tokio_stream::iter(requests))
        .await;
    let answers = stream.unwrap().into_inner();
    answers.map(Result::unwrap).collect().await
}

fn imported(answer: &ImportMessagesResponse) -> &ImportedMessages {
    match &answer.outcome {
        Some(Outcome::Imported(imported)) => imported,
        other => panic!("{other:?}"),
    }
}

/// The records of an app's export, without its summary.
async fn export(client: &Client, app: &str) -> Vec<Kind> {
    split(records(client, export_of(app)).await).0
}

#[apply(trial)]
async fn an_import_answers_each_request_in_order() {
    let client = plain().await;
    let app = app();
    let requests = (0..30)
        .map(|number| {
            let said = (0..=number % 4).map(|n| say(Role::User, &format!("{number}.{n}")));
            request(&app, &format!("thread:{}", number % 7), said.collect())
        })
        .collect();
    let answers = import(&client, requests).await;
    assert_eq!(answers.len(), 30);
    for (answer, number) in answers.iter().zip(0..) {
        assert_eq!(answer.position, number);
        let imported = imported(answer);
        assert_eq!(i64::from(imported.message_count), number % 4 + 1);
        assert!(!imported.replayed && !imported.revision.is_empty());
        let stored = client.all_messages(&imported.thread_id).await;
        let first = stored
            .iter()
            .find(|message| message.seq == imported.first_seq);
        assert_eq!(texts(first), [format!("{number}.0")]);
    }
}

#[apply(trial)]
async fn a_refused_request_does_not_stop_an_import() {
    let client = plain().await;
    let app = app();
    let mut no_session = request(&app, "x", turn("Q", "A"));
    no_session.thread = None;
    let mut bad_id = request(&app, "x", turn("Q", "A"));
    bad_id.request_id = "no-uuid".to_owned();
    let orphan = vec![
        say(Role::User, "fine"),
        reply(&Uuid::new_v4().to_string(), Role::User, "?"),
    ];
    let first = request(&app, "thread:1", turn("First?", "First."));
    let reused = ImportMessagesRequest {
        messages: turn("Other?", "Content."),
        ..first.clone()
    };
    let answers = import(
        &client,
        vec![
            first,
            request(
                &app,
                "thread:1",
                vec![say(Role::User, "fine"), say(Role::User, "\0")],
            ),
            request(&app, "thread:1", vec![]),
            no_session,
            bad_id,
            request(&app, "thread:1", orphan),
            reused,
            request(&app, "", turn("Q", "A")),
            request(&app, "thread:1", turn("Last?", "Last.")),
        ],
    )
    .await;
    let reported: Vec<(i64, Option<(ErrorReason, &str)>)> = answers
        .iter()
        .map(|answer| {
            let error = match &answer.outcome {
                Some(Outcome::Error(error)) => {
                    assert!(!error.message.is_empty());
                    Some((error.reason(), error.field.as_str()))
                }
                _ => None,
            };
            (answer.position, error)
        })
        .collect();
    let field = |field| Some((ErrorReason::InvalidField, field));
    assert_eq!(
        reported,
        [
            (0, None),
            (1, field("messages[1].parts[0].text")),
            (2, field("messages")),
            (3, field("thread")),
            (4, field("request_id")),
            (5, field("messages[1].parent_message_id")),
            (6, Some((ErrorReason::RequestIdReused, ""))),
            (7, field("thread.session.session_key")),
            (8, None),
        ]
    );
    let thread_id = &imported(&answers[0]).thread_id;
    let stored = client.all_messages(thread_id).await;
    assert_eq!(texts(&stored), ["First?", "First.", "Last?", "Last."]);
    let seqs: Vec<i64> = stored.iter().map(|message| message.seq).collect();
    assert_eq!(seqs, [1, 2, 3, 4], "what is refused takes no seq");
}

#[apply(trial)]
async fn a_repeated_import_stores_nothing_twice() {
    let client = plain().await;
    let app = app();
    let requests: Vec<ImportMessagesRequest> = (0..5)
        .map(|number| request(&app, "thread:1", turn(&format!("q{number}"), "a")))
        .collect();
    // The same request twice in a stream, too.
    let twice = [requests.clone(), requests[..1].to_vec()].concat();
    let first = import(&client, twice).await;
    let again = import(&client, requests).await;
    assert!(imported(&first[5]).replayed);
    for (old, new) in first.iter().zip(&again) {
        let (old, new) = (imported(old), imported(new));
        assert!(!old.replayed && new.replayed);
        assert_eq!(
            (&old.thread_id, old.first_seq),
            (&new.thread_id, new.first_seq)
        );
        assert_eq!(old.revision, new.revision);
    }
    let thread_id = &imported(&first[0]).thread_id;
    assert_eq!(client.all_messages(thread_id).await.len(), 10);
}

#[apply(trial)]
async fn an_import_creates_threads_and_continues_in_them() {
    let client = plain().await;
    let app = app();
    let before = client.resolve(session(&app, "ada", "thread:old")).await;
    client
        .append_turn(&before.thread_id, "Before?", "Before.")
        .await;
    let answers = import(
        &client,
        vec![
            request(&app, "thread:old", turn("After?", "After.")),
            request(&app, "thread:new", turn("New?", "New.")),
        ],
    )
    .await;
    assert_eq!(imported(&answers[0]).thread_id, before.thread_id);
    assert_eq!(imported(&answers[0]).first_seq, 3);
    let new = client.resolve(session(&app, "ada", "thread:new")).await;
    assert_eq!(imported(&answers[1]).thread_id, new.thread_id);
    let history = client
        .call(recollect_tests::history_request(&before.thread_id))
        .await;
    assert_eq!(
        texts(&history.messages),
        ["Before?", "Before.", "After?", "After."]
    );
}

#[apply(trial)]
async fn an_export_holds_all_branches_in_order_of_seq() {
    let client = plain().await;
    let app = app();
    let mut threads = Vec::new();
    for number in 0..3 {
        let thread_id = client.thread(&app).await;
        let stored = client
            .append_turn(&thread_id, &format!("q{number}"), "first")
            .await;
        let question = &stored.messages[0].message_id;
        client
            .append(&thread_id, vec![reply(question, Role::Assistant, "second")])
            .await;
        threads.push(thread_id);
    }
    let mut exported: Vec<(String, Vec<i64>)> = Vec::new();
    for record in export(&client, &app).await {
        match record {
            Kind::Thread(thread) => {
                assert_eq!(thread, client.get_thread(&thread.thread_id).await);
                exported.push((thread.thread_id, Vec::new()));
            }
            Kind::Message(message) => {
                let (thread_id, seqs) = exported.last_mut().unwrap();
                assert_eq!(thread_id, &message.thread_id);
                seqs.push(message.seq);
            }
            other => panic!("{other:?}"),
        }
    }
    let expected: Vec<_> = threads
        .iter()
        .map(|id| (id.clone(), vec![1, 2, 3]))
        .collect();
    assert_eq!(exported, expected);

    let request = ExportRecordsRequest {
        target: target_thread(&threads[1]),
        ..Default::default()
    };
    let one = client.transfers().export_records(request).await.unwrap();
    let one: Vec<_> = one.into_inner().collect().await;
    assert_eq!(one.len(), 5);
    assert!(export(&client, "no-such-app-anywhere").await.is_empty());

    let request = ExportRecordsRequest {
        target: target_thread("no-uuid"),
        ..Default::default()
    };
    let refused = client.transfers().export_records(request).await;
    refused
        .map(|response| response.map(|_| ()))
        .refused()
        .names_field("target.thread.thread_id");
}

#[apply(trial)]
async fn l12_an_export_can_be_imported_elsewhere() {
    let client = plain().await;
    let (from, to) = (app(), app());
    let thread_id = client.thread(&from).await;
    diary::store(&client, &thread_id).await;
    let picture = file("https://example.org/a.png", "A cat");
    let mut message = with_parts(Role::User, vec![picture]);
    message.name = "Ada".to_owned();
    message.external_id = "msg_cat".to_owned();
    message.metadata = recollect_tests::metadata(serde_json::json!({"n": 1.5}));
    client.append(&thread_id, vec![message]).await;

    let mut requests: Vec<ImportMessagesRequest> = Vec::new();
    for record in export(&client, &from).await {
        match record {
            Kind::Thread(thread) => requests.push(request(&to, &thread.session_key, vec![])),
            Kind::Message(message) => {
                requests.last_mut().unwrap().messages.push(MessageInput {
                    message_id: String::new(),
                    ..MessageInput::from(message)
                });
            }
            other => panic!("{other:?}"),
        }
    }
    let answers = import(&client, requests).await;
    let copy = client.all_messages(&imported(&answers[0]).thread_id).await;
    let original = client.all_messages(&thread_id).await;
    assert_eq!(copy.len(), original.len());
    for (copy, original) in copy.iter().zip(&original) {
        assert_eq!(copy.parts, original.parts);
        assert_eq!(copy.metadata, original.metadata);
        assert_eq!(copy.external_id, original.external_id);
        assert_eq!(
            (
                copy.seq,
                copy.role,
                &copy.name,
                copy.create_time,
                copy.token_count
            ),
            (
                original.seq,
                original.role,
                &original.name,
                original.create_time,
                original.token_count
            )
        );
    }
}

#[apply(trial)]
async fn a_large_import_and_export_lose_nothing() {
    let client = bulk().await;
    let app = app();
    let requests = (0..12)
        .map(|number| {
            let said = (0..100).map(|n| say(Role::User, &format!("Line {n} of block {number}.")));
            request(&app, "thread:long", said.collect())
        })
        .collect();
    let answers = import(&client, requests).await;
    assert_eq!(answers.len(), 12);
    assert_eq!(imported(answers.last().unwrap()).first_seq, 1_101);
    let records = export(&client, &app).await;
    let seqs: Vec<i64> = records
        .iter()
        .filter_map(|record| match record {
            Kind::Message(message) => Some(message.seq),
            _ => None,
        })
        .collect();
    assert_eq!(seqs, (1..=1_200).collect::<Vec<i64>>());
    let thread_id = &imported(&answers[0]).thread_id;
    assert_eq!(client.all_messages(thread_id).await.len(), 1_200);
}

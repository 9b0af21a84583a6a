//! The records of an export are imported over gRPC.

use std::time::Duration;

use memory_contract::proto::{
    AgentEvent, AppPolicy, AppendEventsRequest, Document, DocumentInput, DocumentRef, ErrorReason,
    ExportCompleteness, ExportRecordsRequest, ExportSummary, ExportedDocument,
    GetCheckpointRequest, GetDocumentsRequest, GetThreadRequest, ImportOptions, ImportProgress,
    ImportRecordsRequest, ImportSummary, MemoryInput, MemoryPolicy, PutDocumentsRequest, Record,
    RecordCounts, RefusedRecord, Role, SearchDocumentsRequest, UserRef,
    import_records_response::Answer, record::Kind,
};
use recollect_tests::{
    Client, Key, Options, PLAIN, Refused as _, Server, app, apply, by_id, by_session, memory, node,
    node_turn, plan, put, reply, say, session, texts, trial, trial_with_own_server,
};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

use super::whole::populate;
use super::{export_of, memories_of, records, split, summary};
use crate::plain;

const PROGRESS_TIMEOUT: Duration = Duration::from_secs(30);

/// The answers of an import.
struct Imported {
    progress: Vec<ImportProgress>,
    refused: Vec<RefusedRecord>,
    summary: ImportSummary,
}

impl Imported {
    fn stored(&self) -> RecordCounts {
        self.summary.stored.unwrap()
    }

    fn known(&self) -> RecordCounts {
        self.summary.known.unwrap()
    }

    /// The positions of refused records, with the reasons and fields.
    fn refusals(&self) -> Vec<(i64, ErrorReason, &str)> {
        let refused = self.refused.iter();
        refused
            .map(|refused| {
                let error = refused.error.as_ref().unwrap();
                assert!(!error.message.is_empty());
                (refused.position, error.reason(), error.field.as_str())
            })
            .collect()
    }
}

fn request(kind: Kind) -> ImportRecordsRequest {
    ImportRecordsRequest {
        options: None,
        record: Some(Record { kind: Some(kind) }),
    }
}

async fn send(client: &Client, requests: Vec<ImportRecordsRequest>) -> Imported {
    let requests = tokio_stream::iter(requests);
    let answers = client.transfers().import_records(requests).await;
    let mut answers = answers.unwrap().into_inner();
    let (mut progress, mut refused) = (Vec::new(), Vec::new());
    while let Some(answer) = answers.next().await {
        match answer.unwrap().answer.unwrap() {
            Answer::Progress(done) => progress.push(done),
            Answer::Refused(record) => refused.push(record),
            Answer::Summary(summary) => {
                assert!(answers.next().await.is_none(), "the summary comes last");
                return Imported {
                    progress,
                    refused,
                    summary,
                };
            }
        }
    }
    panic!("no summary")
}

async fn import(client: &Client, records: &[Kind]) -> Imported {
    send(client, records.iter().cloned().map(request).collect()).await
}

async fn import_with(client: &Client, options: ImportOptions, records: &[Kind]) -> Imported {
    let mut requests: Vec<_> = records.iter().cloned().map(request).collect();
    requests[0].options = Some(options);
    send(client, requests).await
}

fn counts(summary: &ExportSummary) -> RecordCounts {
    RecordCounts {
        app_policy_count: summary.app_policy_count,
        file_count: summary.file_count,
        thread_count: summary.thread_count,
        message_count: summary.message_count,
        node_message_count: summary.node_message_count,
        plan_count: summary.plan_count,
        attempt_count: summary.attempt_count,
        event_count: summary.event_count,
        checkpoint_count: summary.checkpoint_count,
        memory_count: summary.memory_count,
        document_count: summary.document_count,
    }
}

async fn document(client: &Client, app: &str, key: &str) -> Option<Document> {
    let request = GetDocumentsRequest {
        user: user(app),
        documents: vec![DocumentRef {
            namespace: vec!["a".to_owned(), "ü".to_owned()],
            key: key.to_owned(),
        }],
        ..Default::default()
    };
    client.call(request).await.documents.into_iter().next()
}

fn user(app: &str) -> Option<UserRef> {
    Some(UserRef {
        app_id: app.to_owned(),
        user_id: "ada".to_owned(),
    })
}

/// A thread of an app with two turns and a branch, whose head is not its last message.
async fn conversation(client: &Client, app: &str) -> String {
    let thread = client.resolve(session(app, "ada", "thread:1")).await;
    let thread_id = thread.thread_id;
    let said = client.append_turn(&thread_id, "Who?", "Ada.").await;
    let question = said.messages[0].message_id.clone();
    client.append_turn(&thread_id, "Where?", "Here.").await;
    client
        .append(
            &thread_id,
            vec![
                reply(&question, Role::Assistant, "Bob."),
                say(Role::User, "Really?"),
            ],
        )
        .await;
    thread_id
}

/// The records of an app's export, its summary included.
async fn exported(client: &Client, app: &str) -> Vec<Kind> {
    records(client, export_of(app)).await
}

#[apply(trial_with_own_server)]
async fn l12_the_records_of_an_export_are_imported_with_the_same_checksum() {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (_dir, server, client) = Server::start_own(&options).await;
    populate(&client).await;
    let all = ExportRecordsRequest::default();
    let sent = records(&client, all.clone()).await;
    let reported = split(sent.clone()).1;
    for (what, count) in [
        ("events", reported.event_count),
        ("checkpoints", reported.checkpoint_count),
        ("documents", reported.document_count),
    ] {
        assert!(count > 0, "{what}");
    }

    let globex = server.client(Key::Globex).await;
    let imported = import(&globex, &sent).await;
    assert_eq!(imported.refusals(), []);
    assert_eq!(imported.stored(), counts(&reported));
    assert_eq!(imported.known(), RecordCounts::default());
    let said = &imported.summary;
    assert_eq!(said.completeness(), ExportCompleteness::Complete);
    assert_eq!(said.checksum, reported.checksum);
    assert_eq!(said.missing_source_count, 0);
    let last = imported.progress.last().unwrap();
    assert!(last.settled_count > 200 && last.stored_count > 200);
    assert_eq!(summary(&globex, all.clone()).await, reported);

    // And not only by its checksum.
    for key in ["notes", "for a while"] {
        let (was, is) = (
            document(&client, "shop", key).await.unwrap(),
            document(&globex, "shop", key).await.unwrap(),
        );
        assert_eq!((was.json, was.ttl), (is.json, is.ttl));
    }
    let search = SearchDocumentsRequest {
        user: user("shop"),
        query: "zebra".to_owned(),
        ..Default::default()
    };
    let found = globex.call(search).await.documents;
    assert!(found[0].score.is_some_and(|score| score > 0.0));
    let checkpoint = async |client: &Client, id: &str| {
        let request = GetCheckpointRequest {
            thread: by_session(session("shop", "ada", "thread:rich")),
            checkpoint_id: id.to_owned(),
            ..Default::default()
        };
        // Its values are larger than a message.
        let mut checkpoints = client.checkpoints().max_decoding_message_size(64 << 20);
        let found = checkpoints.get_checkpoint(request).await.unwrap();
        let mut found = found.into_inner().checkpoint.unwrap();
        (found.thread_id, found.create_time) = Default::default();
        found
    };
    for id in ["1", "2", "3"] {
        let (was, is) = (checkpoint(&client, id).await, checkpoint(&globex, id).await);
        assert!(was == is, "the checkpoint {id} differs");
    }

    // Once more: nothing is stored twice, and it is still the same.
    let again = import(&globex, &sent).await;
    assert_eq!(again.refusals(), []);
    assert_eq!(again.stored(), RecordCounts::default());
    assert_eq!(again.known(), counts(&reported));
    assert_eq!(summary(&globex, all.clone()).await, reported);
    assert_eq!(summary(&client, all).await, reported);
}

#[apply(trial)]
async fn l12_a_refused_record_is_named_and_the_others_are_stored() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    let thread_id = conversation(&client, &app).await;
    client
        .add_node_turn(&node(&thread_id, "planner"), "Q", "A")
        .await;
    client
        .put_plan(put(&thread_id, "", plan("A goal", &["First"])))
        .await;
    let mut sent = exported(&client, &app).await;
    let at = |sent: &[Kind], wanted: &str| {
        let place = sent.iter().position(|kind| match kind {
            Kind::Message(message) => texts([message]) == [wanted],
            _ => false,
        });
        place.unwrap()
    };
    // The second answer is broken, and what follows it follows the question before it.
    let broken = at(&sent, "Bob.");
    let Kind::Message(message) = &mut sent[broken] else {
        panic!()
    };
    message.role = 0;
    let Some(Kind::Plan(plan)) = sent.iter_mut().find(|kind| matches!(kind, Kind::Plan(_))) else {
        panic!()
    };
    plan.steps[0].title = "x".repeat(100_000);
    let plan_at = sent.iter().position(|kind| matches!(kind, Kind::Plan(_)));
    let plan_at = plan_at.unwrap();
    // A record of a thread's before any thread, and documents.
    let orphan = sent[broken - 1].clone();
    sent.insert(0, orphan);
    let summary_at = sent.len() - 1;
    let document = |key: &str, json: &str| {
        Kind::Document(ExportedDocument {
            app_id: app.clone(),
            user_id: "ada".to_owned(),
            namespace: vec!["a".to_owned(), "ü".to_owned()],
            key: key.to_owned(),
            json: json.to_owned(),
            ..Default::default()
        })
    };
    sent.insert(summary_at, document("good", "{}"));
    sent.insert(summary_at, document("bad", "[]"));
    let imported = import(&globex, &sent).await;
    let invalid = ErrorReason::InvalidField;
    assert_eq!(
        imported.refusals(),
        [
            (0, invalid, "record.message"),
            (broken as i64 + 1, invalid, "record.message.role"),
            (plan_at as i64 + 1, invalid, "record.plan.steps[0].title"),
            (summary_at as i64, invalid, "record.document.json"),
            (summary_at as i64 + 2, invalid, "record.summary"),
        ]
    );
    assert_eq!(
        imported.summary.completeness(),
        ExportCompleteness::Different
    );
    assert_eq!(imported.summary.refused_count, 5);
    let copy = globex.resolve(session(&app, "ada", "thread:1")).await;
    let stored = globex.all_messages(&copy.thread_id).await;
    assert_eq!(
        texts(&stored),
        ["Who?", "Ada.", "Where?", "Here.", "Really?"]
    );
    assert_eq!(stored[4].parent_message_id, stored[0].message_id);
    assert_eq!(copy.head_message_id, stored[4].message_id);
    assert!(
        super::records::document(&globex, &app, "good")
            .await
            .is_some()
    );
    let dialogue = globex
        .node_dialogue(&node(&copy.thread_id, "planner"), "")
        .await;
    assert_eq!(dialogue.len(), 2);

    // A request without a record, and options that come late.
    let late = ImportRecordsRequest {
        options: Some(ImportOptions::default()),
        record: None,
    };
    let requests = vec![late.clone(), ImportRecordsRequest::default(), late];
    let imported = send(&globex, requests).await;
    assert_eq!(
        imported.refusals(),
        [(1, invalid, "record"), (2, invalid, "options")]
    );
}

#[apply(trial)]
async fn l12_a_message_that_the_store_refuses_keeps_no_other_out() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    conversation(&client, &app).await;
    let sent = exported(&client, &app).await;
    // Another message of the thread there has an external id of the export.
    let there = globex.resolve(session(&app, "ada", "thread:1")).await;
    let mut other = say(Role::User, "Taken.");
    other.external_id = "msg_1".to_owned();
    globex.append(&there.thread_id, vec![other]).await;
    let mut sent: Vec<Kind> = sent;
    let Kind::Message(message) = &mut sent[3] else {
        panic!()
    };
    message.external_id = "msg_1".to_owned();
    let imported = import(&globex, &sent[..sent.len() - 1]).await;
    assert_eq!(
        imported.refusals(),
        [(3, ErrorReason::MessageAlreadyExists, "")]
    );
    assert_eq!(imported.stored().message_count, 5);
    let stored = globex.all_messages(&there.thread_id).await;
    assert_eq!(
        texts(&stored),
        ["Taken.", "Who?", "Ada.", "Here.", "Bob.", "Really?"]
    );
    assert_eq!(stored[3].parent_message_id, stored[2].message_id);
}

#[apply(trial)]
async fn l12_an_import_of_an_export_that_was_broken_off_says_so() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    conversation(&client, &app).await;
    let sent = exported(&client, &app).await;
    let cut = import(&globex, &sent[..4]).await;
    assert_eq!(cut.refusals(), []);
    assert_eq!(cut.summary.completeness(), ExportCompleteness::Incomplete);
    assert_eq!(cut.stored().message_count, 3);
    // The whole export completes it.
    let whole = import(&globex, &sent).await;
    assert_eq!(whole.refusals(), []);
    assert_eq!(whole.summary.completeness(), ExportCompleteness::Complete);
    assert_eq!(
        (whole.known().message_count, whole.stored().message_count),
        (3, 3)
    );
    let reported = summary(&client, export_of(&app)).await;
    assert_eq!(summary(&globex, export_of(&app)).await, reported);
    let nothing = send(&globex, Vec::new()).await;
    assert_eq!(
        nothing.summary.completeness(),
        ExportCompleteness::Incomplete
    );
}

#[apply(trial)]
async fn l12_an_import_that_was_cut_within_a_batch_of_events_stores_none_twice() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    let thread_id = conversation(&client, &app).await;
    let event = |number: usize| AgentEvent {
        r#type: "tried".to_owned(),
        json: format!("{{\"number\":{number}}}"),
        ..Default::default()
    };
    let append = AppendEventsRequest {
        thread: by_id(&thread_id),
        events: (0..150).map(event).collect(),
        request_id: String::new(),
    };
    client.call(append).await;
    let sent = exported(&client, &app).await;
    let is_event = |record: &Kind| matches!(record, Kind::Event(_));
    let first = sent.iter().position(is_event).unwrap();
    let cut = import(&globex, &sent[..first + 120]).await;
    assert_eq!(cut.stored().event_count, 120);
    let whole = import(&globex, &sent).await;
    assert_eq!(
        (whole.known().event_count, whole.stored().event_count),
        (120, 30)
    );
    let reported = summary(&client, export_of(&app)).await;
    assert_eq!(reported.event_count, 150);
    assert_eq!(summary(&globex, export_of(&app)).await, reported);
}

#[apply(trial)]
async fn the_ids_of_another_tenant_give_an_import_no_access() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    let thread_id = conversation(&client, &app).await;
    client
        .add_node_turn(&node(&thread_id, "planner"), "Q", "A")
        .await;
    client.remember_one(&app, "ada", "Is Ada.").await;
    let sent = exported(&client, &app).await;
    let reported = summary(&client, export_of(&app)).await;
    let imported = import(&globex, &sent).await;
    assert_eq!(imported.stored(), counts(&reported));
    let copy = globex.resolve(session(&app, "ada", "thread:1")).await;
    assert_ne!(copy.thread_id, thread_id);
    let request = GetThreadRequest {
        thread: by_id(&thread_id),
    };
    let refused = globex.threads().get_thread(request).await;
    refused.refused().is(Code::NotFound, "THREAD_NOT_FOUND");
    // What the copy gets besides does not reach the original.
    globex
        .append_turn(&copy.thread_id, "Only here?", "Yes.")
        .await;
    globex
        .call(node_turn(&node(&copy.thread_id, "planner"), "Q2", "A2"))
        .await;
    assert_eq!(summary(&client, export_of(&app)).await, reported);
    // Nor do records that name the thread of the other tenant without its session.
    let named = sent.iter().filter(|kind| !matches!(kind, Kind::Thread(_)));
    let named: Vec<Kind> = named.cloned().collect();
    let refused = import(&globex, &named).await;
    assert_eq!(refused.stored(), RecordCounts::default());
    assert_eq!(summary(&client, export_of(&app)).await, reported);
}

#[apply(trial)]
async fn an_import_keeps_what_differs_unless_it_replaces_it() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    let thread_id = conversation(&client, &app).await;
    let fill = async |client: &Client, thread_id: &str, goal: &str, top_k: i32| {
        client
            .put_plan(put(thread_id, "", plan(goal, &["First"])))
            .await;
        let policy = MemoryPolicy {
            top_k: Some(top_k),
            ..Default::default()
        };
        client.set_policy(&app, policy).await;
        let request = PutDocumentsRequest {
            user: user(&app),
            documents: vec![DocumentInput {
                namespace: vec!["a".to_owned(), "ü".to_owned()],
                key: "k".to_owned(),
                json: format!("{{\"goal\": \"{goal}\"}}"),
                ..Default::default()
            }],
        };
        client.call(request).await;
    };
    fill(&client, &thread_id, "Theirs", 7).await;
    let there = globex.resolve(session(&app, "ada", "thread:1")).await;
    fill(&globex, &there.thread_id, "Ours", 8).await;
    let sent = exported(&client, &app).await;
    let kept = import(&globex, &sent).await;
    let reasons: Vec<ErrorReason> = kept
        .refusals()
        .iter()
        .map(|(_, reason, _)| *reason)
        .collect();
    assert_eq!(reasons, [ErrorReason::RecordDiffers; 3]);
    let held = document(&globex, &app, "k").await.unwrap().json;
    assert!(held.contains("Ours"), "{held}");
    let replace = ImportOptions {
        replace: true,
        new_ids: false,
    };
    let replaced = import_with(&globex, replace, &sent).await;
    assert_eq!(replaced.refusals(), []);
    let reported = summary(&client, export_of(&app)).await;
    assert_eq!(summary(&globex, export_of(&app)).await, reported);

    // With new ids, messages are stored beside those that are there.
    let new_ids = ImportOptions {
        replace: false,
        new_ids: true,
    };
    let again = import_with(&globex, new_ids, &sent).await;
    assert_eq!(again.refusals(), []);
    assert_eq!(again.stored().message_count, 6);
    let stored = globex.all_messages(&there.thread_id).await;
    assert_eq!(stored.len(), 12);
    assert_eq!(stored[7].parent_message_id, stored[6].message_id);
}

#[apply(trial)]
async fn l12_an_import_merges_memories_whose_text_the_user_has() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    for text in ["Lives in Oslo.", "Plays the violin."] {
        client.remember_one(&app, "ada", text).await;
    }
    let own = globex.remember_one(&app, "ada", "lives in Oslo").await;
    let sent = exported(&client, &app).await;
    let first = import(&globex, &sent).await;
    assert_eq!(first.refusals(), []);
    assert_eq!(first.stored().memory_count, 1);
    assert_eq!(first.summary.merged_count, 1);
    let held = memories_of(&globex, &app, "ada").await;
    assert_eq!(held.len(), 2);
    assert!(held.contains(&own), "{held:#?}");

    let second = import(&globex, &sent).await;
    assert_eq!(second.refusals(), []);
    assert_eq!(second.stored(), RecordCounts::default());
    assert_eq!(second.known().memory_count, 1);
    assert_eq!(second.summary.merged_count, 1);
    assert_eq!(memories_of(&globex, &app, "ada").await, held);
}

#[apply(trial)]
async fn l12_the_memories_of_an_export_are_imported_for_another_user_once() {
    let client = plain().await;
    let app = app();
    client.remember_one(&app, "ada", "Lives in Oslo.").await;
    let mut sent = exported(&client, &app).await;
    sent.retain(|kind| matches!(kind, Kind::Memory(_)));
    for kind in &mut sent {
        if let Kind::Memory(memory) = kind {
            memory.user_id = "bob".to_owned();
        }
    }
    let first = import(&client, &sent).await;
    assert_eq!(first.refusals(), []);
    assert_eq!(first.stored().memory_count, 1);
    let second = import(&client, &sent).await;
    assert_eq!(second.refusals(), []);
    assert_eq!(second.known().memory_count, 1);
    assert_eq!(second.summary.merged_count, 0);
    assert_eq!(client.all_memories(&app, "bob").await.len(), 1);
    assert_eq!(client.all_memories(&app, "ada").await.len(), 1);
}

#[apply(trial)]
async fn an_import_refuses_a_memory_whose_external_id_names_another_text() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    let home = |text: &str| MemoryInput {
        external_id: "home".to_owned(),
        ..memory(text)
    };
    client
        .remember(&app, "ada", vec![home("Lives in Oslo.")])
        .await;
    let added = globex
        .remember(&app, "ada", vec![home("Lives in Bergen.")])
        .await;
    let own = added.memories[0].memory.clone().unwrap();
    let imported = import(&globex, &exported(&client, &app).await).await;
    let reasons = imported.refusals();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert_eq!(reasons[0].1, ErrorReason::RecordDiffers);
    let message = &imported.refused[0].error.as_ref().unwrap().message;
    assert!(message.contains(&own.memory_id), "{message}");
    assert_eq!(memories_of(&globex, &app, "ada").await, [own]);
}

#[apply(trial)]
async fn an_import_that_is_sent_slowly_is_answered_with_progress() {
    let globex = PLAIN.client(Key::Globex).await;
    let (requests, stream) = mpsc::channel(1);
    let stream = ReceiverStream::new(stream);
    let mut answers = globex.transfers().import_records(stream).await.unwrap();
    let answers = answers.get_mut();
    let policy = AppPolicy {
        app_id: app(),
        policy: Some(MemoryPolicy::default()),
        ..Default::default()
    };
    let mut answered = Box::pin(timeout(PROGRESS_TIMEOUT, answers.message()));
    let first = loop {
        requests
            .send(request(Kind::AppPolicy(policy.clone())))
            .await
            .unwrap();
        if let Ok(answer) = timeout(Duration::from_millis(50), &mut answered).await {
            break answer.unwrap().unwrap().unwrap();
        }
    };
    let Some(Answer::Progress(done)) = first.answer else {
        panic!("{first:?}")
    };
    assert!(done.settled_count > 0);
    assert_eq!(done.stored_count, 1);
}

#[apply(trial_with_own_server)]
async fn l12_an_import_that_a_killed_server_ended_is_finished_by_importing_again() {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (dir, server, client) = Server::start_own(&options).await;
    populate(&client).await;
    let all = ExportRecordsRequest::default();
    let sent = records(&client, all.clone()).await;
    let reported = split(sent.clone()).1;

    let globex = server.client(Key::Globex).await;
    let (requests, stream) = mpsc::channel(1);
    let stream = ReceiverStream::new(stream);
    let answers = globex.transfers().import_records(stream).await.unwrap();
    let mut answers = answers.into_inner();
    // It never ends: the last records do not come.
    let feed = sent[..sent.len() - 100].to_vec();
    let feed = async move {
        for kind in feed {
            if requests.send(request(kind)).await.is_err() {
                return;
            }
        }
        std::future::pending::<()>().await;
    };
    let feed = tokio::spawn(feed);
    let settled = async {
        loop {
            if let Some(Answer::Progress(done)) = answers.message().await.unwrap().unwrap().answer {
                return done.settled_count;
            }
        }
    };
    let settled = timeout(PROGRESS_TIMEOUT, settled).await.unwrap();
    server.kill();
    feed.abort();

    let server = Server::start(&dir, &options);
    let globex = server.client(Key::Globex).await;
    let there = summary(&globex, all.clone()).await;
    assert_ne!(there.checksum, reported.checksum);
    let imported = import(&globex, &sent).await;
    assert_eq!(imported.refusals(), []);
    let known = imported.progress.iter().map(|done| done.known_count).max();
    assert!(known.unwrap() > 0, "{settled} records were settled");
    assert_eq!(
        imported.summary.completeness(),
        ExportCompleteness::Complete
    );
    assert_eq!(summary(&globex, all.clone()).await, reported);
    let again = import(&globex, &sent).await;
    assert_eq!(again.stored(), RecordCounts::default());
    assert_eq!(summary(&globex, all).await, reported);
}

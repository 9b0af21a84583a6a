//! Exports of a part of a tenant.

use memory_contract::proto::{
    ExportRecordsRequest, FileRef, FileType, MemoryPolicy, Part, Role, file, file_ref,
    part::Content, record::Kind,
};
use recollect_tests::{
    Client, PLAIN, app, apply, node, node_turn, session, target_thread, target_user, trial,
    with_parts,
};
use uuid::Uuid;

use super::{export_of, records, register, split};
use crate::plain;

fn reference(id: &str) -> FileRef {
    FileRef {
        r#type: FileType::Image.into(),
        location: Some(file_ref::Location::UploadFileId(id.to_owned())),
        ..Default::default()
    }
}

async fn refer(client: &Client, thread_id: &str, id: &str) {
    let part = Part {
        content: Some(Content::File(reference(id))),
        ..Default::default()
    };
    let message = with_parts(Role::User, vec![part]);
    client.append(thread_id, vec![message]).await;
}

fn of_thread(thread_id: &str) -> ExportRecordsRequest {
    ExportRecordsRequest {
        target: target_thread(thread_id),
        ..Default::default()
    }
}

/// The kinds of the records of an export, one word each.
fn words(records: &[Kind]) -> Vec<String> {
    records
        .iter()
        .map(|record| match record {
            Kind::Thread(_) => "thread".to_owned(),
            Kind::Message(_) => "message".to_owned(),
            Kind::AppPolicy(policy) => format!("policy of {}", policy.app_id),
            Kind::File(file) => match &file.location {
                Some(file::Location::UploadFileId(id)) => id.clone(),
                other => format!("{other:?}"),
            },
            Kind::Node(node) => format!("node {} {}", node.node_id, node.unreadable),
            Kind::NodeMessage(message) => message.content.clone(),
            Kind::Plan(plan) => plan.goal.clone(),
            Kind::Attempt(attempt) => attempt.action.clone(),
            Kind::Event(event) => event.r#type.clone(),
            Kind::Checkpoint(checkpoint) => checkpoint.checkpoint_id.clone(),
            Kind::CheckpointValue(value) => value.channel.clone(),
            Kind::CheckpointWrite(write) => write.task_id.clone(),
            Kind::Memory(memory) => memory.text.clone(),
            Kind::Document(document) => document.key.clone(),
            Kind::Summary(_) => "summary".to_owned(),
        })
        .collect()
}

#[apply(trial)]
async fn a_filter_brings_only_the_files_that_are_referred_to() {
    let client = plain().await;
    let app = app();
    let id = |name: &str| format!("{name}-{app}");
    for name in ["one", "two", "node", "nobody's"] {
        register(&client, file::Location::UploadFileId(id(name))).await;
    }
    let first = client.thread(&app).await;
    refer(&client, &first, &id("one")).await;
    refer(&client, &first, &id("one")).await;
    refer(&client, &first, &id("unknown")).await;
    let second = client.thread(&app).await;
    client.append_turn(&second, "Q", "A").await;
    refer(&client, &second, &id("two")).await;
    refer(&client, &second, &id("one")).await;
    let mut asked = node_turn(&node(&second, "n"), "look", "seen");
    asked.user.as_mut().unwrap().files = vec![reference(&id("node"))];
    client.call(asked).await;

    let (exported, reported) = split(records(&client, export_of(&app)).await);
    let (one, two, of_node) = (id("one"), id("two"), id("node"));
    let expected = [
        "thread",
        &one,
        "message",
        "message",
        "message",
        "thread",
        &two,
        &one,
        "message",
        "message",
        "message",
        "message",
        &of_node,
        "node n false",
        "look",
        "seen",
    ];
    assert_eq!(words(&exported), expected);
    assert_eq!(reported.file_count, 3, "one of them came twice");
    for record in &exported {
        let node_files = match record {
            Kind::NodeMessage(message) => message.files.clone(),
            _ => continue,
        };
        assert!(node_files.iter().all(|file| file.file.is_none()));
    }

    let (exported, _) = split(records(&client, of_thread(&first)).await);
    assert_eq!(
        words(&exported),
        ["thread", &one, "message", "message", "message"]
    );
}

#[apply(trial)]
async fn a_filter_brings_the_policy_of_its_app() {
    let client = plain().await;
    let (app, other) = (app(), app());
    for app_id in [&app, &other] {
        client.set_policy(app_id, MemoryPolicy::default()).await;
    }
    let user = format!("user of {app}");
    let thread = client.resolve(session(&app, &user, "thread:1")).await;
    let policy = format!("policy of {app}");
    let of_its_user = ExportRecordsRequest {
        target: target_user(&app, &user),
        ..Default::default()
    };
    // An empty user is the data that belongs to no user.
    let of_no_user = ExportRecordsRequest {
        target: target_user(&app, ""),
        ..Default::default()
    };
    let after = ExportRecordsRequest {
        after_thread_id: thread.thread_id.clone(),
        ..export_of(&app)
    };
    for (request, expected) in [
        (export_of(&app), &[policy.as_str(), "thread", "summary"][..]),
        (
            of_thread(&thread.thread_id),
            &[&policy, "thread", "summary"],
        ),
        (of_its_user, &[&policy, "thread", "summary"]),
        (of_no_user, &[&policy, "summary"]),
        (after, &["summary"]),
    ] {
        assert_eq!(words(&records(&client, request).await), expected);
    }
}

#[apply(trial)]
async fn an_unreadable_memory_is_reported_and_does_not_stop_an_export() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let (good, bad) = (node(&thread_id, "good"), node(&thread_id, "bad"));
    for node in [&bad, &good] {
        client.add_node_turn(node, "Q", "A").await;
    }
    client.flush_node(&bad).await;
    let key = client.object_key(&bad).await;
    let object = PLAIN.data().join("objects").join(key);
    std::fs::write(object, "{\"version\": 1, \"messages\": oops").unwrap();

    let (exported, reported) = split(records(&client, export_of(&app)).await);
    let expected = ["thread", "node bad true", "node good false", "Q", "A"];
    assert_eq!(words(&exported), expected);
    let counts = (
        reported.unreadable_node_count,
        reported.node_count,
        reported.node_message_count,
    );
    assert_eq!(counts, (1, 1, 2));
    // It does not count, so the import of the rest has the same checksum.
    client.delete_node(&bad).await;
    let (_, without) = split(records(&client, export_of(&app)).await);
    assert_eq!(without.checksum, reported.checksum);
    assert_eq!(without.unreadable_node_count, 0);
    client
        .add_node_turn(&bad, &Uuid::new_v4().to_string(), "A")
        .await;
    let (_, more) = split(records(&client, export_of(&app)).await);
    assert_ne!(more.checksum, reported.checksum);
}

#[apply(trial)]
async fn messages_appended_during_an_export_are_not_half_exported() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    // Larger than what waits for a slow caller, so that the export waits.
    let large = "x".repeat(200 * 1024);
    for _ in 0..8 {
        let said = (0..8).map(|_| recollect_tests::say(Role::User, &large));
        client.append(&thread_id, said.collect()).await;
    }
    let request = of_thread(&thread_id);
    let stream = client.transfers().export_records(request).await.unwrap();
    let mut stream = stream.into_inner();
    let first = stream.message().await.unwrap().unwrap();
    let first = first.record.unwrap().kind;
    let Some(Kind::Thread(thread)) = first else {
        panic!("{first:?}")
    };
    client.append_turn(&thread_id, "Later?", "Later.").await;
    let mut last = String::new();
    while let Some(response) = stream.message().await.unwrap() {
        if let Some(Kind::Message(message)) = response.record.unwrap().kind {
            last = message.message_id;
        }
    }
    assert_eq!(last, thread.head_message_id);
}

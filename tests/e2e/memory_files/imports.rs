//! Exports and imports of files.

use memory_contract::proto::{
    DeleteMemoryFileRequest, ExportRecordsRequest, ExportedDocument, ImportRecordsRequest,
    ListMemoryFileVersionsRequest, Record, RestoreMemoryFileRequest,
    import_records_response::Answer, record::Kind,
};
use recollect_tests::{Client, Key, PLAIN, app, apply, target_app, trial};
use serde_json::{Value, json};
use tokio_stream::StreamExt as _;

use super::{GARDEN, directory, getting, put, replacing, text, user};
use crate::plain;

const ID: &str = "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c12";

/// The documents of an app, also those of files.
pub(super) async fn documents(client: &Client, app: &str) -> Vec<ExportedDocument> {
    let request = ExportRecordsRequest {
        target: target_app(app),
        ..Default::default()
    };
    let records = client.transfers().export_records(request).await.unwrap();
    let documents = records.into_inner().filter_map(|record| {
        let kind = record.unwrap().record.unwrap().kind.unwrap();
        match kind {
            Kind::Document(document) => Some(document),
            _ => None,
        }
    });
    documents.collect().await
}

/// Imports documents. Returns how many were stored, and the fields and messages of the refusals.
async fn import(client: &Client, documents: Vec<ExportedDocument>) -> (i64, Vec<(String, String)>) {
    let requests: Vec<_> = documents
        .into_iter()
        .map(|document| ImportRecordsRequest {
            options: None,
            record: Some(Record {
                kind: Some(Kind::Document(document)),
            }),
        })
        .collect();
    let answers = client
        .transfers()
        .import_records(tokio_stream::iter(requests))
        .await;
    let mut answers = answers.unwrap().into_inner();
    let mut refused = Vec::new();
    while let Some(answer) = answers.next().await {
        match answer.unwrap().answer.unwrap() {
            Answer::Progress(_) => {}
            Answer::Refused(record) => {
                let error = record.error.unwrap();
                refused.push((error.field, error.message));
            }
            Answer::Summary(summary) => {
                return (summary.stored.unwrap().document_count, refused);
            }
        }
    }
    panic!("the import has no summary")
}

fn document(app: &str, namespace: &[&str], key: &str, json: Value) -> ExportedDocument {
    ExportedDocument {
        app_id: app.to_owned(),
        user_id: "ada".to_owned(),
        namespace: namespace.iter().map(|label| (*label).to_owned()).collect(),
        key: key.to_owned(),
        json: json.to_string(),
        ..Default::default()
    }
}

fn file(app: &str, namespace: &[&str], key: &str) -> ExportedDocument {
    let json = json!({"id": ID, "version": 1, "text": "x"});
    document(app, namespace, key, json)
}

#[apply(trial)]
async fn f22_exported_files_are_imported_with_their_versions() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    put(&client, &app, "/projects/garden.md", GARDEN).await;
    client
        .call(replacing(&app, "/projects/garden.md", "tulips", "roses"))
        .await;
    put(&client, &app, "/old.md", "old").await;
    let delete = DeleteMemoryFileRequest {
        user: user(&app, "ada"),
        path: "/old.md".to_owned(),
        ..Default::default()
    };
    client.call(delete).await;
    let exported = documents(&client, &app).await;
    // Two files, of which one is deleted, and three versions.
    assert_eq!(exported.len(), 5, "{exported:?}");
    assert_eq!(import(&globex, exported.clone()).await, (5, Vec::new()));
    // The second time they are known.
    assert_eq!(import(&globex, exported).await, (0, Vec::new()));

    let roses = text(&globex, &app, "/projects/garden.md").await;
    assert_eq!(roses, GARDEN.replace("tulips", "roses"));
    let versions = ListMemoryFileVersionsRequest {
        user: user(&app, "ada"),
        path: "/projects/garden.md".to_owned(),
    };
    assert_eq!(globex.call(versions).await.versions.len(), 2);
    let restore = RestoreMemoryFileRequest {
        user: user(&app, "ada"),
        path: "/old.md".to_owned(),
        ..Default::default()
    };
    globex.call(restore).await;
    assert_eq!(text(&globex, &app, "/old.md").await, "old");
}

#[apply(trial)]
async fn f21_an_import_stores_no_file_that_no_call_can_make() {
    let client = plain().await;
    let app = app();
    let files = "recollect.files";
    let versions = "recollect.file_versions";
    let largest = json!({"id": ID, "version": i64::MAX, "text": "x"});
    let other = json!({"id": "x", "version": 1, "text": "x"});
    let version = json!({"change": "put", "text": "x"});
    let gone = json!({"id": ID, "version": 1});
    let (count, refused) = import(
        &client,
        vec![
            file(&app, &[files, ".."], "passwd"),
            file(&app, &[files], "etc/x\n0B\t/memories/forged"),
            file(&app, &[files, "a/b"], "c"),
            file(&app, &["recollect.other"], "a"),
            document(&app, &[files], "largest.md", largest),
            document(&app, &[files], "other.md", other),
            document(&app, &[versions, "x"], "0000000001", version.clone()),
            document(&app, &[versions, ID], "1", version),
            document(&app, &["recollect.deleted_files"], "a", gone),
            file(&app, &[files], "good.md"),
            // Below a file.
            file(&app, &[files, "good.md"], "below.md"),
        ],
    )
    .await;
    assert_eq!(count, 1, "{refused:?}");
    let fields: Vec<&str> = refused.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "record.document.namespace",
            "record.document.namespace",
            "record.document.namespace",
            "record.document.namespace[0]",
            "record.document.json",
            "record.document.json",
            "record.document.namespace",
            "record.document.key",
            "record.document.ttl",
            "",
        ]
    );
    assert!(refused.iter().all(|(_, message)| !message.is_empty()));
    let root = directory(&client, getting(&app, "/")).await;
    assert_eq!(root.file_count, 1);
}

#[apply(trial)]
async fn f23_an_import_keeps_the_limits_of_a_users_files() {
    let client = plain().await;
    let app = app();
    let many = (0..1_001).map(|number| file(&app, &["recollect.files"], &format!("{number}.md")));
    let (count, refused) = import(&client, many.collect()).await;
    assert_eq!((count, refused.len()), (1_000, 1));
    assert!(refused[0].1.contains("1000 files"), "{refused:?}");
}

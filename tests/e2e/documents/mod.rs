//! JSON documents by namespace, and checkpoints of agents' runs.

mod checkpoint_limits;
mod checkpoints;
mod deduplication;
mod deleted_runs;
mod lifetimes;
mod searching;
mod storing;

use memory_contract::proto::{
    Document, DocumentInput, DocumentRef, FoundDocument, GetDocumentsRequest, PutDocumentsRequest,
    SearchDocumentsRequest, UserRef,
};
use recollect_tests::Client;
use serde_json::Value;
use tokio_postgres::NoTls;

fn user(app: &str, user: &str) -> Option<UserRef> {
    Some(UserRef {
        app_id: app.to_owned(),
        user_id: user.to_owned(),
    })
}

fn labels(namespace: &str) -> Vec<String> {
    namespace.split('/').map(str::to_owned).collect()
}

/// A document in a namespace such as `a/b`.
fn document(namespace: &str, key: &str, value: &Value) -> DocumentInput {
    DocumentInput {
        namespace: labels(namespace),
        key: key.to_owned(),
        json: value.to_string(),
        ..Default::default()
    }
}

/// Stores documents of `ada` and returns how many are new.
async fn put(client: &Client, app: &str, documents: Vec<DocumentInput>) -> i64 {
    let request = PutDocumentsRequest {
        user: user(app, "ada"),
        documents,
    };
    client.call(request).await.created_count
}

fn names(names: &[(&str, &str)]) -> Vec<DocumentRef> {
    let name = |(namespace, key): &(&str, &str)| DocumentRef {
        namespace: labels(namespace),
        key: (*key).to_owned(),
    };
    names.iter().map(name).collect()
}

/// Reads documents of `ada`.
async fn get(client: &Client, app: &str, wanted: &[(&str, &str)]) -> Vec<Document> {
    let request = GetDocumentsRequest {
        user: user(app, "ada"),
        documents: names(wanted),
        refresh_ttl: false,
    };
    let response = client.call(request).await;
    assert_eq!(response.read_count as usize, wanted.len());
    response.documents
}

/// A search among the documents of `ada`.
fn search(app: &str, prefix: &[&str]) -> SearchDocumentsRequest {
    SearchDocumentsRequest {
        user: user(app, "ada"),
        namespace_prefix: prefix.iter().map(|&label| label.to_owned()).collect(),
        ..Default::default()
    }
}

/// The keys of the documents that were found.
fn keys(found: &[FoundDocument]) -> Vec<&str> {
    let keys = found.iter().filter_map(|one| one.document.as_ref());
    keys.map(|document| document.key.as_str()).collect()
}

/// The superuser's connection to a server's database.
async fn database(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

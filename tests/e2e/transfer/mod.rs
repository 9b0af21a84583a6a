//! Import and export: over streams, of a whole tenant, and of parts of it.

mod broken_off;
mod cli;
mod exports;
mod extracted;
mod foreign;
mod parts;
mod records;
mod streams;
mod whole;

use memory_contract::proto::{
    ExportRecordsRequest, ExportSummary, File, FileType, Memory, RegisterFileRequest, file,
    record::Kind,
};
use recollect_tests::Client;
use tokio_stream::StreamExt as _;

/// All records of an export, its summary included.
async fn records(client: &Client, request: ExportRecordsRequest) -> Vec<Kind> {
    let stream = client.transfers().export_records(request).await.unwrap();
    let records = stream.into_inner();
    records
        .map(|record| record.unwrap().record.unwrap().kind.unwrap())
        .collect()
        .await
}

pub(crate) fn export_of(app: &str) -> ExportRecordsRequest {
    ExportRecordsRequest {
        target: recollect_tests::target_app(app),
        ..Default::default()
    }
}

/// The memories of a user, without the times at which the index got them.
async fn memories_of(client: &Client, app: &str, user: &str) -> Vec<Memory> {
    let memories = client.all_memories(app, user).await.into_iter();
    let stored = memories.map(|memory| Memory {
        persist_time: None,
        ..memory
    });
    stored.collect()
}

/// The records of an export, and its summary, which comes last.
fn split(mut records: Vec<Kind>) -> (Vec<Kind>, ExportSummary) {
    let Some(Kind::Summary(summary)) = records.pop() else {
        panic!("no summary")
    };
    (records, summary)
}

pub(crate) async fn summary(client: &Client, request: ExportRecordsRequest) -> ExportSummary {
    split(records(client, request).await).1
}

async fn register(client: &Client, location: file::Location) {
    let file = File {
        location: Some(location),
        r#type: FileType::Image.into(),
        storage_key: "uploads/cat.png".to_owned(),
        name: "Kätzchen.png".to_owned(),
        mime_type: "image/png".to_owned(),
        size_bytes: 52_100,
        ..Default::default()
    };
    let request = RegisterFileRequest { file: Some(file) };
    client.call(request).await;
}

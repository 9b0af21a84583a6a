//! Import and export: over streams, of a whole tenant, and of parts of it.

mod broken_off;
mod cli;
mod extracted;
mod foreign;
mod parts;
mod streams;
mod whole;

use memory_contract::proto::{
    ExportMessagesRequest, ExportSummary, File, FileType, RegisterFileRequest,
    export_messages_response::Record, file,
};
use recollect_tests::Client;
use tokio_stream::StreamExt as _;

/// All records of an export, its summary included.
async fn records(client: &Client, request: ExportMessagesRequest) -> Vec<Record> {
    let stream = client.messages().export_messages(request).await.unwrap();
    let records = stream.into_inner();
    records
        .map(|record| record.unwrap().record.unwrap())
        .collect()
        .await
}

pub(crate) fn export_of(app: &str) -> ExportMessagesRequest {
    ExportMessagesRequest {
        target: recollect_tests::target_app(app),
        ..Default::default()
    }
}

/// The records of an export, and its summary, which comes last.
fn split(mut records: Vec<Record>) -> (Vec<Record>, ExportSummary) {
    let Some(Record::Summary(summary)) = records.pop() else {
        panic!("no summary")
    };
    (records, summary)
}

pub(crate) async fn summary(client: &Client, request: ExportMessagesRequest) -> ExportSummary {
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

//! Compares what is stored with the file.

use memory_contract::proto::ExportMessagesRequest;
use memory_contract::{ExportChecksum, ExportedThread};
use tonic::{Code, Status};

use crate::cli::client::Client;
use crate::cli::output::{Progress, count};

/// A thread as the file has it.
pub(super) struct Expected {
    /// Its id on the server.
    pub(super) thread_id: String,
    /// Its session key.
    pub(super) name: String,
    pub(super) exported: ExportedThread,
    /// Where it ends in the file.
    pub(super) place: String,
}

/// Exports the threads from the server, one after the other, and returns what is
/// not as the file has it, with its place.
pub(super) async fn compare(
    client: &Client,
    threads: &[Expected],
    file: &str,
    progress: &Progress,
) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    for (number, expected) in threads.iter().enumerate() {
        progress.detail(&format!(
            "Checking {file}: {number} of {}",
            count(threads.len(), "thread")
        ));
        let problem = match stored(client, &expected.thread_id).await {
            Ok(Some(stored)) if stored.digest == expected.exported.digest => continue,
            Ok(stored) => differs(&expected.exported, stored.as_ref()),
            Err(status) if status.code() == Code::NotFound => "it is not there any more".to_owned(),
            Err(status) => format!("it could not be checked: {}", status.message()),
        };
        let place = format!("{}, the thread {}", expected.place, expected.name);
        problems.push((place, problem));
    }
    problems
}

/// A thread as the server has it.
async fn stored(client: &Client, thread_id: &str) -> Result<Option<ExportedThread>, Status> {
    let request = ExportMessagesRequest {
        target: Some(thread_id.into()),
        ..Default::default()
    };
    let mut records = client
        .messages()
        .export_messages(request)
        .await?
        .into_inner();
    let mut checksum = ExportChecksum::default();
    let mut thread = None;
    while let Some(response) = records.message().await? {
        if let Some(record) = &response.record {
            thread = checksum.see(record).or(thread);
        }
    }
    Ok(thread)
}

fn differs(expected: &ExportedThread, stored: Option<&ExportedThread>) -> String {
    let stored = stored.map_or(0, |thread| thread.message_count);
    let there = count(stored, "message");
    match stored - expected.message_count {
        0 => "what is stored is not what the file holds: its messages, their tree, its head, \
              title, metadata or policy, the memories of its nodes, its plan or its log"
            .to_owned(),
        1.. => format!(
            "it has {there}, the file {}: it went on there",
            expected.message_count
        ),
        ..0 => format!(
            "it has {there}, the file {}: not all was stored",
            expected.message_count
        ),
    }
}

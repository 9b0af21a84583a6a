//! Compares the stored threads with the file.

use memory_checksum::{ExportChecksum, ExportedThread};
use memory_contract::proto::{
    ExportRecordsRequest, SessionRef, Target, ThreadRef, target, thread_ref,
};
use tonic::{Code, Status};

use crate::cli::client::Client;
use crate::cli::output::{Progress, count};

/// A thread as the file has it.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) session: SessionRef,
    /// The index of its record in the stream.
    pub(super) position: i64,
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
        let problem = match stored(client, expected.session.clone()).await {
            Ok(Some(stored)) if stored.digest == expected.exported.digest => continue,
            Ok(stored) => differs(&expected.exported, stored.as_ref()),
            Err(status) if status.code() == Code::NotFound => "it is not there any more".to_owned(),
            Err(status) => format!("it could not be checked: {}", status.message()),
        };
        let place = format!(
            "{}, the thread {}",
            expected.place, expected.session.session_key
        );
        problems.push((place, problem));
    }
    problems
}

/// A thread as the server has it.
async fn stored(client: &Client, session: SessionRef) -> Result<Option<ExportedThread>, Status> {
    let thread = ThreadRef {
        thread: Some(thread_ref::Thread::Session(session)),
    };
    let request = ExportRecordsRequest {
        target: Some(Target {
            target: Some(target::Target::Thread(thread)),
        }),
        ..Default::default()
    };
    let response = client.transfers().export_records(request).await?;
    let mut records = response.into_inner();
    let mut checksum = ExportChecksum::default();
    let mut thread = None;
    while let Some(response) = records.message().await? {
        if let Some(kind) = response.record.and_then(|record| record.kind) {
            thread = checksum.see(&kind).or(thread);
        }
    }
    Ok(thread)
}

fn differs(expected: &ExportedThread, stored: Option<&ExportedThread>) -> String {
    let stored = stored.map_or(0, |thread| thread.message_count);
    let there = count(stored, "message");
    match stored - expected.message_count {
        0 => "what is stored is not what the file holds: its messages, their tree, its head, \
              title, metadata or policy, the memories of its nodes, its plan, its log or its \
              checkpoints"
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

//! `recollect export`.

mod part;

use std::io::{self, BufWriter, Write};

use memory_checksum::{ExportChecksum, check_summary};
use memory_contract::proto::{
    ExportRecordsRequest, ExportRecordsResponse, ExportSummary, Record, record::Kind,
};
use tonic::{Code, Streaming};

use crate::cli::args::ExportArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{JsonLines, Progress, count};
use part::{Part, ResumePoint};

/// The name of a record in the contract.
const RECORD: &str = "Record";

/// Writes all that the server exports, one record a line, and a summary.
///
/// # Errors
/// When the server cannot be reached or refuses, or the output cannot be
/// written; then what was written is not complete, and a file keeps the name
/// that says so. When a node's memory is missing because it cannot be read.
pub async fn run(args: ExportArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.server).await?;
    let request = ExportRecordsRequest {
        target: args.target(),
        after_thread_id: String::new(),
    };
    let part = args
        .output
        .as_ref()
        .map(|path| Part::new(path, &request, &args.server.addr));
    let points = match &part {
        Some(part) if args.resume => part.points()?,
        _ => Vec::new(),
    };
    let (records, point) = call(&client, request, points).await?;
    let (writer, before): (Box<dyn Write>, _) = match &part {
        Some(part) => {
            let (file, before) = part.open(point.as_ref())?;
            (Box::new(file), before)
        }
        None => (Box::new(io::stdout()), None),
    };
    if let (Some(part), Some(before)) = (&part, &before) {
        let there = counted(&before.counts());
        eprintln!("{} has {there}; continuing.", part.path().display());
    }
    let written = write(&client, records, writer, before).await;
    let written = written.map_err(|failure| match &part {
        Some(part) => part.hint(failure),
        None => failure,
    })?;
    if let (Some(part), Some(path)) = (part, args.output) {
        part.complete(&path)?;
    }
    let checksum = &written.summary.checksum;
    eprintln!(
        "Exported {}. Checksum {checksum}.",
        counted(&written.summary)
    );
    missing(&written)
}

/// Requests what is not in the file yet: continues after the last thread that the server
/// still has.
async fn call(
    client: &Client,
    request: ExportRecordsRequest,
    mut points: Vec<ResumePoint>,
) -> Result<(Streaming<ExportRecordsResponse>, Option<ResumePoint>), Failure> {
    loop {
        let point = points.pop();
        let after = point.as_ref().map(|point| point.thread_id.clone());
        let request = ExportRecordsRequest {
            after_thread_id: after.unwrap_or_default(),
            ..request.clone()
        };
        match client.transfers().export_records(request).await {
            Ok(response) => return Ok((response.into_inner(), point)),
            Err(status) if status.code() == Code::NotFound && point.is_some() => {}
            Err(status) => return Err(client.failure(&status)),
        }
    }
}

/// The result of an export, earlier parts included.
struct FinishedExport {
    summary: ExportSummary,
    /// Threads and nodes whose memories are missing.
    unreadable: Vec<(String, String)>,
}

async fn write(
    client: &Client,
    mut records: Streaming<ExportRecordsResponse>,
    writer: Box<dyn Write>,
    before: Option<ExportChecksum>,
) -> Result<FinishedExport, Failure> {
    let mut lines = JsonLines::new(BufWriter::new(writer));
    let progress = Progress::spinner(false);
    // The records sent by this call have their own summary.
    let (mut now, mut whole) = (ExportChecksum::default(), before);
    let (mut thread, mut unreadable) = (String::new(), Vec::new());
    let mut said = None;
    let mut number = 0_u64;
    while let Some(response) = records
        .message()
        .await
        .map_err(|status| client.failure(&status))?
    {
        let Some(record) = response.record else {
            continue;
        };
        let Some(kind) = &record.kind else {
            continue;
        };
        if let Kind::Summary(summary) = kind {
            said = Some(summary.clone());
            continue;
        }
        match kind {
            Kind::Thread(next) => thread.clone_from(&next.thread_id),
            Kind::Node(node) if node.unreadable => {
                unreadable.push((thread.clone(), node.node_id.clone()));
            }
            _ => {}
        }
        now.see(kind);
        if let Some(whole) = &mut whole {
            whole.see(kind);
        }
        lines.write(RECORD, &record)?;
        number += 1;
        if number.is_multiple_of(500) {
            let counts = whole.as_ref().unwrap_or(&now).counts();
            progress.detail(&format!("Exported {}", counted(&counts)));
        }
    }
    let seen = now.summary();
    let said = said.ok_or_else(|| {
        refused("the server ended the export without a summary: it is not complete")
    })?;
    check_summary(&said, &seen)
        .map_err(|problem| refused(&format!("what arrived is not what was sent: {problem}")))?;
    let summary = whole.map_or(seen, ExportChecksum::summary);
    let last = Record {
        kind: Some(Kind::Summary(summary.clone())),
    };
    lines.write(RECORD, &last)?;
    lines.finish()?;
    progress.finish();
    Ok(FinishedExport {
        summary,
        unreadable,
    })
}

fn refused(message: &str) -> Failure {
    Failure::Refused {
        message: message.to_owned(),
        next_step: String::new(),
    }
}

/// What to say where memories are missing that the file cannot have.
fn missing(written: &FinishedExport) -> Result<(), Failure> {
    let number = written.summary.unreadable_node_count;
    if number == 0 {
        return Ok(());
    }
    let named: Vec<String> = written
        .unreadable
        .iter()
        .take(20)
        .map(|(thread, node)| format!("\n  thread {thread}, node {node}"))
        .collect();
    let memories = match number {
        1 => "the memory of 1 node".to_owned(),
        _ => format!("the memories of {number} nodes"),
    };
    Err(Failure::Refused {
        message: format!(
            "{memories} cannot be read and is missing; all else was exported{}",
            named.concat()
        ),
        next_step: "The server's log says what is wrong with the objects.".to_owned(),
    })
}

/// The counts of an export, in words.
fn counted(summary: &ExportSummary) -> String {
    let ExportSummary {
        app_policy_count,
        file_count,
        thread_count,
        message_count,
        node_count,
        node_message_count,
        unreadable_node_count: _,
        checksum: _,
        plan_count,
        attempt_count,
        memory_count,
        event_count,
        checkpoint_count,
        document_count,
    } = summary;
    let mut text = format!(
        "{} of {}",
        count(*message_count, "message"),
        count(*thread_count, "thread")
    );
    if *file_count > 0 {
        text += &format!(", {}", count(*file_count, "file"));
    }
    match app_policy_count {
        0 => {}
        1 => text += ", 1 app's policy",
        more => text += &format!(", {more} apps' policies"),
    }
    if *node_count > 0 {
        let (messages, nodes) = (
            count(*node_message_count, "message"),
            count(*node_count, "node"),
        );
        text += &format!(", {messages} of {nodes}");
    }
    for (number, one, many) in [
        (plan_count, "plan", "plans"),
        (attempt_count, "attempt", "attempts"),
        (event_count, "event", "events"),
        (checkpoint_count, "checkpoint", "checkpoints"),
        (memory_count, "memory", "memories"),
        (document_count, "document", "documents"),
    ] {
        match number {
            0 => {}
            1 => text += &format!(", 1 {one}"),
            more => text += &format!(", {more} {many}"),
        }
    }
    text
}

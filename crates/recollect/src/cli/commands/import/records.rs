//! Sends the records of an export to the server, and notes its answers.

use std::collections::{HashSet, VecDeque};

use memory_checksum::{ExportChecksum, ExportedThread};
use memory_contract::proto::{
    ErrorReason, ExportCompleteness, ImportError, ImportOptions, ImportRecordsRequest,
    ImportSummary, Record, RecordCounts, SessionRef, Thread, import_records_response::Answer,
    record::Kind,
};
use memory_import::thread_key;
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::check::Expected;
use super::summary::{Besides, Summary};
use crate::cli::client::Client;
use crate::cli::output::{Progress, count};

/// The problem of an export that has no summary.
pub(super) const BROKEN_OFF: &str =
    "the export broke off here, it has no summary; what there is was imported";

/// The session of an exported thread.
pub(super) fn session_of(thread: &Thread) -> SessionRef {
    SessionRef {
        app_id: thread.app_id.clone(),
        user_id: thread.user_id.clone(),
        session_key: thread.session_key.clone(),
        agent_session_key: String::new(),
    }
}

/// Sends records, and remembers what the threads in the file are.
pub(super) struct Sender {
    records: mpsc::Sender<ImportRecordsRequest>,
    places: mpsc::UnboundedSender<String>,
    position: i64,
    checksum: ExportChecksum,
    thread: Option<(i64, SessionRef)>,
    pub(super) sent: SentRecords,
}

/// The threads and messages that were sent.
#[derive(Debug, Default)]
pub(super) struct SentRecords {
    pub(super) threads: Vec<Expected>,
    /// The keys of threads that have messages, and the positions of their records.
    with_messages: Vec<(i64, String)>,
    /// The place of the last record.
    place: String,
}

impl Sender {
    /// A sender, and what [`import`] takes from it.
    pub(super) fn new() -> (Self, Receiver) {
        let (records, incoming) = mpsc::channel(1);
        let (places, known) = mpsc::unbounded_channel();
        let sender = Self {
            records,
            places,
            position: 0,
            checksum: ExportChecksum::default(),
            thread: None,
            sent: SentRecords::default(),
        };
        let receiver = Receiver {
            records: incoming,
            places: Places {
                incoming: known,
                first: 0,
                places: VecDeque::new(),
            },
        };
        (sender, receiver)
    }

    /// Whether anybody still listens.
    pub(super) async fn send(&mut self, place: String, kind: Kind) -> bool {
        let ended = self.checksum.see(&kind);
        self.note_ended(ended);
        match &kind {
            Kind::Thread(thread) => self.thread = Some((self.position, session_of(thread))),
            Kind::Message(_) => {
                let named = self
                    .thread
                    .as_ref()
                    .map(|(at, session)| (*at, thread_key(session)));
                if named.as_ref() != self.sent.with_messages.last() {
                    self.sent.with_messages.extend(named);
                }
            }
            Kind::Summary(_) => self.checksum = ExportChecksum::default(),
            _ => {}
        }
        self.position += 1;
        self.sent.place.clone_from(&place);
        let _ = self.places.send(place);
        let request = ImportRecordsRequest {
            options: None,
            record: Some(Record { kind: Some(kind) }),
        };
        self.records.send(request).await.is_ok()
    }

    /// Ends the sending.
    pub(super) fn end(mut self) -> SentRecords {
        let ended = self.checksum.end_thread();
        self.note_ended(ended);
        self.sent
    }

    fn note_ended(&mut self, ended: Option<ExportedThread>) {
        let Some(exported) = ended else { return };
        if let Some((position, session)) = self.thread.take() {
            self.sent.threads.push(Expected {
                session,
                position,
                exported,
                place: self.sent.place.clone(),
            });
        }
    }
}

pub(super) struct Receiver {
    records: mpsc::Receiver<ImportRecordsRequest>,
    places: Places,
}

/// The places of records that no answer has settled yet.
struct Places {
    incoming: mpsc::UnboundedReceiver<String>,
    first: i64,
    places: VecDeque<String>,
}

impl Places {
    fn at(&mut self, position: i64) -> String {
        while let Ok(place) = self.incoming.try_recv() {
            self.places.push_back(place);
        }
        let index = usize::try_from(position - self.first).unwrap_or(usize::MAX);
        self.places.get(index).cloned().unwrap_or_default()
    }

    fn settle(&mut self, count: i64) {
        self.at(count);
        while self.first < count && self.places.pop_front().is_some() {
            self.first += 1;
        }
    }
}

/// The answers of the server.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// The place of each refused record, and the reason.
    problems: Vec<(String, String)>,
    refused: HashSet<i64>,
    summary: Option<ImportSummary>,
}

/// Imports the records that are sent; without any, the server is not asked.
///
/// # Errors
/// When the stream as a whole breaks.
pub(super) async fn import(
    client: &Client,
    options: ImportOptions,
    receiver: Receiver,
    file: &str,
    progress: &Progress,
) -> Result<Answers, Status> {
    let Receiver {
        mut records,
        mut places,
    } = receiver;
    let mut answers = Answers::default();
    let Some(mut first) = records.recv().await else {
        return Ok(answers);
    };
    first.options = Some(options);
    let stream = tokio_stream::once(first).chain(ReceiverStream::new(records));
    let response = client.transfers().import_records(stream).await?;
    let mut stream = response.into_inner();
    while let Some(response) = stream.message().await? {
        match response.answer {
            Some(Answer::Progress(done)) => {
                places.settle(done.settled_count);
                let records = count(done.settled_count, "record");
                progress.detail(&format!("Importing {file}: {records}"));
            }
            Some(Answer::Refused(refused)) => {
                answers.refused.insert(refused.position);
                let problem = problem_of(refused.error.unwrap_or_default());
                answers
                    .problems
                    .push((places.at(refused.position), problem));
            }
            Some(Answer::Summary(summary)) => answers.summary = Some(summary),
            None => {}
        }
    }
    Ok(answers)
}

fn problem_of(error: ImportError) -> String {
    match error.reason() {
        ErrorReason::RecordDiffers => error.message.replace("ImportOptions.replace", "--replace"),
        _ => error.message,
    }
}

impl Answers {
    /// Adds what became of the records to the summary of the file. Returns the threads that are
    /// to be compared.
    pub(super) fn add_to(self, summary: &mut Summary, sent: SentRecords) -> Vec<Expected> {
        let Self {
            problems,
            refused,
            summary: imported,
        } = self;
        for (place, problem) in problems {
            summary.problem(place, problem);
        }
        let Some(imported) = imported else {
            return Vec::new();
        };
        match imported.completeness() {
            ExportCompleteness::Complete => summary.checksum = Some(imported.checksum),
            // The summary record was refused.
            ExportCompleteness::Different => {}
            _ => summary.problem(sent.place, BROKEN_OFF.to_owned()),
        }
        let stored = imported.stored.unwrap_or_default();
        let known = imported.known.unwrap_or_default();
        summary.stored += stored.message_count.unsigned_abs();
        summary.known += known.message_count.unsigned_abs();
        let there = |kind: fn(&RecordCounts) -> i64| (kind(&stored) + kind(&known)).unsigned_abs();
        let Besides {
            app_policies,
            files,
            node_turns,
            plans,
            attempts,
            events,
            checkpoints,
            memories,
            documents,
            merged,
            redacted,
            missing_sources,
            ..
        } = &mut summary.besides;
        *app_policies += there(|counts| counts.app_policy_count);
        *files += there(|counts| counts.file_count);
        *node_turns += there(|counts| counts.node_message_count / 2);
        *plans += there(|counts| counts.plan_count);
        *attempts += there(|counts| counts.attempt_count);
        *events += there(|counts| counts.event_count);
        *checkpoints += there(|counts| counts.checkpoint_count);
        *memories += there(|counts| counts.memory_count);
        *documents += there(|counts| counts.document_count);
        *merged += imported.merged_count.unsigned_abs();
        *redacted += imported.redaction_count.unsigned_abs();
        *missing_sources += imported.missing_source_count.unsigned_abs();
        let with_messages = sent.with_messages.into_iter();
        let stored = with_messages.filter(|(position, _)| !refused.contains(position));
        summary.threads.extend(stored.map(|(_, key)| key));
        let threads = sent.threads.into_iter();
        threads
            .filter(|thread| !refused.contains(&thread.position))
            .collect()
    }
}

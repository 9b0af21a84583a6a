//! `ImportRecords`: stores the records of an export, one after the other.

mod checkpoints;
mod errors;
mod memories;
mod nodes;
mod open;
mod state;
mod tally;
mod thread;
mod units;
mod waiting;

use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, stream};
use memory_checksum::check_summary;
use memory_contract::Invalid;
use memory_contract::proto::import_records_response::Answer;
use memory_contract::proto::record::Kind;
use memory_contract::proto::{
    ExportCompleteness, ExportSummary, ImportRecordsRequest, ImportRecordsResponse, ImportSummary,
    Record,
};
use memory_grpc::{ApiError, unreadable, until};
use tokio::time::Instant;
use tonic::{Status, Streaming};

use tally::Tally;
use waiting::Waiting;

pub(super) use state::Import;

/// The answers of an import.
pub(crate) type Imported =
    Pin<Box<dyn Stream<Item = Result<ImportRecordsResponse, Status>> + Send + 'static>>;

/// Records after which progress is reported.
const PROGRESS_RECORDS: i64 = 200;
/// The time after which a record is answered with progress, so that a stream that is sent
/// slowly is not taken for an idle one.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

impl Import {
    /// Stores the records in order. They are read only as fast as the caller reads answers.
    /// After `time` the stream ends with DEADLINE_EXCEEDED.
    pub(super) fn run(self, requests: Streaming<ImportRecordsRequest>, time: Duration) -> Imported {
        let answers = stream::unfold((self, requests), |(mut import, mut requests)| async {
            loop {
                if let Some(answer) = import.answers.pop_front() {
                    let answer = Some(answer);
                    return Some((Ok(ImportRecordsResponse { answer }), (import, requests)));
                }
                if import.done {
                    return None;
                }
                if let Err(status) = import.next(&mut requests).await {
                    return Some((Err(status), (import, requests)));
                }
            }
        });
        Box::pin(until(Instant::now() + time, answers))
    }

    /// Reads and handles one request, or the end of the stream.
    async fn next(&mut self, requests: &mut Streaming<ImportRecordsRequest>) -> Result<(), Status> {
        let request = requests.message().await;
        let request = request.map_err(|status| match unreadable(&status) {
            Some(error) => Status::from(error),
            None => status,
        })?;
        match request {
            Some(request) => self.take(request).await?,
            None => self.end().await?,
        }
        Ok(())
    }

    /// # Errors
    /// Those that a later import may not have: of the database and the object storage.
    async fn take(&mut self, request: ImportRecordsRequest) -> Result<(), ApiError> {
        let position = self.position;
        self.position += 1;
        let ImportRecordsRequest { options, record } = request;
        let is_first = position == 0 && options.is_some();
        if let Some(options) = options {
            if position > 0 {
                let problem = "must not be set after the first request";
                return self.refuse(position, Invalid::new("options", problem));
            }
            self.options = options;
        }
        match record.and_then(|record| record.kind) {
            Some(kind) => self.store(position, kind).await?,
            None if is_first => {}
            None => self.refuse(position, Invalid::missing("record"))?,
        }
        let settled = self.settled();
        if settled - self.reported >= PROGRESS_RECORDS
            || self.answered.elapsed() >= PROGRESS_INTERVAL
        {
            self.report(settled);
        }
        Ok(())
    }

    async fn store(&mut self, position: i64, kind: Kind) -> Result<(), ApiError> {
        if !self.waiting.takes(&kind) {
            self.flush().await?;
        }
        if !matches!(kind, Kind::CheckpointValue(_) | Kind::CheckpointWrite(_)) {
            self.close_checkpoint().await?;
        }
        if !matches!(kind, Kind::NodeMessage(_)) {
            self.close_node().await?;
        }
        if matches!(
            kind,
            Kind::Thread(_) | Kind::Memory(_) | Kind::Document(_) | Kind::Summary(_)
        ) {
            self.close_thread().await?;
        }
        self.checksum.see(&kind);
        if !matches!(kind, Kind::Summary(_)) {
            self.ended = None;
        }
        let kind = match self.redacted(kind).await {
            Ok(kind) => kind,
            Err(error) => {
                let error = match error {
                    ApiError::TextRefused(fields) => ApiError::TextRefused(fields.within("record")),
                    error => error,
                };
                return self.refuse(position, error);
            }
        };
        match kind {
            Kind::AppPolicy(policy) => {
                let stored = self.app_policy(policy).await;
                self.settle(position, stored, |counts| &mut counts.app_policy_count)
            }
            Kind::File(file) => match self.file(file).await {
                Ok(None) => Ok(()),
                Ok(Some(outcome)) => {
                    self.settle(position, Ok(outcome), |counts| &mut counts.file_count)
                }
                Err(error) => self.refuse(position, error),
            },
            Kind::Thread(thread) => {
                let stored = self.open_thread(thread).await;
                self.settle(position, stored, |counts| &mut counts.thread_count)
            }
            Kind::Message(message) => {
                let taken = self.message(position, message);
                self.or_refuse(position, taken)
            }
            Kind::Node(node) => {
                let taken = self.open_node(node);
                self.or_refuse(position, taken)
            }
            Kind::NodeMessage(message) => self.node_message(position, message).await,
            Kind::Plan(plan) => {
                let stored = self.plan(plan).await;
                self.settle(position, stored, |counts| &mut counts.plan_count)
            }
            Kind::Attempt(attempt) => {
                let stored = self.attempt(attempt).await;
                self.settle(position, stored, |counts| &mut counts.attempt_count)
            }
            Kind::Event(event) => {
                let taken = self.event(position, event);
                self.or_refuse(position, taken)
            }
            Kind::Checkpoint(checkpoint) => {
                let taken = self.open_checkpoint(position, checkpoint);
                self.or_refuse(position, taken)
            }
            Kind::CheckpointValue(value) => self.checkpoint_value(position, value).await,
            Kind::CheckpointWrite(write) => self.checkpoint_write(position, write).await,
            Kind::Memory(memory) => {
                self.memory(position, memory);
                Ok(())
            }
            Kind::Document(document) => {
                let stored = self.document(document).await;
                self.settle(position, stored, |counts| &mut counts.document_count)
            }
            Kind::Summary(said) => self.summary(position, &said),
        }
    }

    /// The record without what the policy of its app replaces, unless only its maker can read it.
    async fn redacted(&mut self, kind: Kind) -> Result<Kind, ApiError> {
        // Messages are redacted when their batch is stored.
        if matches!(
            kind,
            Kind::Message(_)
                | Kind::CheckpointValue(_)
                | Kind::CheckpointWrite(_)
                | Kind::Summary(_)
        ) {
            return Ok(kind);
        }
        let app = match kind {
            Kind::AppPolicy(_) | Kind::Thread(_) | Kind::Memory(_) | Kind::Document(_) => None,
            _ => self.thread.as_ref().and_then(|thread| thread.app.clone()),
        };
        let record = Record { kind: Some(kind) };
        let redacted = self
            .redactor
            .redact_message(&self.caller, app.as_ref(), "Record", record);
        let (Record { kind }, redacted) = redacted.await?;
        self.tally.redacted += i64::try_from(redacted.count()).unwrap_or(i64::MAX);
        kind.ok_or_else(|| Invalid::missing("record").into())
    }

    /// Compares the records so far with what the export says of itself.
    fn summary(&mut self, position: i64, said: &ExportSummary) -> Result<(), ApiError> {
        let seen = std::mem::take(&mut self.checksum).summary();
        let compared = check_summary(said, &seen);
        self.ended = Some(seen);
        match compared {
            Ok(()) => {
                if self.completeness != ExportCompleteness::Different {
                    self.completeness = ExportCompleteness::Complete;
                }
                Ok(())
            }
            Err(problem) => {
                self.completeness = ExportCompleteness::Different;
                let problem = format!("is not of these records: {problem}");
                self.refuse(position, Invalid::new("record.summary", problem))
            }
        }
    }

    /// Stores what waits, and answers with the summary.
    async fn end(&mut self) -> Result<(), ApiError> {
        self.flush().await?;
        self.close_checkpoint().await?;
        self.close_node().await?;
        self.close_thread().await?;
        self.done = true;
        let completeness = match (&self.ended, self.completeness) {
            (None, ExportCompleteness::Complete) => ExportCompleteness::Incomplete,
            (_, completeness) => completeness,
        };
        let seen = self.ended.take();
        let seen = seen.unwrap_or_else(|| std::mem::take(&mut self.checksum).summary());
        let Tally {
            stored,
            known,
            merged,
            refused,
            missing_sources,
            redacted,
        } = std::mem::take(&mut self.tally);
        self.answers.push_back(Answer::Summary(ImportSummary {
            stored: Some(stored),
            known: Some(known),
            refused_count: refused,
            completeness: completeness.into(),
            checksum: seen.checksum,
            missing_source_count: missing_sources,
            merged_count: merged,
            redaction_count: redacted,
        }));
        Ok(())
    }

    /// Stores the batch that waits.
    async fn flush(&mut self) -> Result<(), ApiError> {
        match std::mem::take(&mut self.waiting) {
            Waiting::Nothing => Ok(()),
            Waiting::Messages { messages, .. } => self.flush_messages(messages).await,
            Waiting::Events { events, .. } => self.flush_events(events).await,
            Waiting::Memories(memories) => self.flush_memories(memories).await,
        }
    }
}

//! `ImportRecords`: stores the records of an export, one after the other.

mod checkpoints;
mod errors;
mod memories;
mod nodes;
mod tally;
mod thread;
mod units;
mod waiting;

use std::collections::{HashMap, HashSet, VecDeque};
use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, stream};
use memory_checksum::{ExportChecksum, UnitDigest, check_summary};
use memory_contract::Invalid;
use memory_contract::proto::import_records_response::Answer;
use memory_contract::proto::record::Kind;
use memory_contract::proto::{
    ExportCompleteness, ExportSummary, ImportOptions, ImportProgress, ImportRecordsRequest,
    ImportRecordsResponse, ImportSummary, RefusedRecord,
};
use memory_store::Caller;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tonic::{Request, Status, Streaming};
use uuid::Uuid;

use super::Transfers;
use crate::error::ApiError;
use crate::layers::unreadable;
use crate::services::messages::{import_error, until};
use checkpoints::OpenCheckpoint;
use errors::{orphan, renamed};
use tally::{Outcome, Tally};
use thread::OpenThread;
use waiting::Waiting;

/// The answers of an import.
pub(crate) type Imported =
    Pin<Box<dyn Stream<Item = Result<ImportRecordsResponse, Status>> + Send + 'static>>;

/// Records after which progress is reported.
const PROGRESS_RECORDS: i64 = 200;
/// The time after which a record is answered with progress, so that a stream that is sent
/// slowly is not taken for an idle one.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// An import under way. It holds the records of one batch; of what was stored, it holds
/// ids: of the messages of one thread, and of threads, and the digests of the checksum.
pub(super) struct Import {
    services: Transfers,
    caller: Caller,
    options: ImportOptions,
    /// Requests read so far.
    position: i64,
    thread: Option<OpenThread>,
    checkpoint: Option<OpenCheckpoint>,
    waiting: Waiting,
    /// The ids that threads have now, by those that they had.
    threads: HashMap<String, String>,
    /// Memories that were kept in place of others, by the ids of those.
    kept_memories: HashMap<String, String>,
    /// An export of a part has files once for each thread.
    files: HashSet<UnitDigest>,
    tally: Tally,
    checksum: ExportChecksum,
    /// What the last summary and the records before it say.
    ended: Option<ExportSummary>,
    completeness: ExportCompleteness,
    answers: VecDeque<Answer>,
    /// Requests that progress was reported of, and when something was answered last.
    reported: i64,
    answered: Instant,
    done: bool,
}

impl Import {
    pub(super) fn new(services: Transfers, caller: Caller) -> Self {
        Self {
            services,
            caller,
            options: ImportOptions::default(),
            position: 0,
            thread: None,
            checkpoint: None,
            waiting: Waiting::default(),
            threads: HashMap::new(),
            kept_memories: HashMap::new(),
            files: HashSet::new(),
            tally: Tally::default(),
            checksum: ExportChecksum::default(),
            ended: None,
            completeness: ExportCompleteness::Incomplete,
            answers: VecDeque::new(),
            reported: 0,
            answered: Instant::now(),
            done: false,
        }
    }

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
            refused,
            missing_sources,
        } = std::mem::take(&mut self.tally);
        self.answers.push_back(Answer::Summary(ImportSummary {
            stored: Some(stored),
            known: Some(known),
            refused_count: refused,
            completeness: completeness.into(),
            checksum: seen.checksum,
            missing_source_count: missing_sources,
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

    /// Counts a record that was stored or known, or refuses it.
    fn settle(
        &mut self,
        position: i64,
        stored: Result<Outcome, ApiError>,
        kind: fn(&mut memory_contract::proto::RecordCounts) -> &mut i64,
    ) -> Result<(), ApiError> {
        let counted = stored.map(|outcome| self.tally.add(outcome, 1, kind));
        self.or_refuse(position, counted)
    }

    /// Refuses a record that could not be taken.
    fn or_refuse(&mut self, position: i64, taken: Result<(), ApiError>) -> Result<(), ApiError> {
        taken.or_else(|error| self.refuse(position, error))
    }

    /// Answers that a record is refused.
    ///
    /// # Errors
    /// The error itself, if a later import may not have it.
    fn refuse(&mut self, position: i64, error: impl Into<ApiError>) -> Result<(), ApiError> {
        let error = error.into();
        if error.retryable() {
            return Err(error);
        }
        self.tally.refused += 1;
        self.answered = Instant::now();
        self.answers.push_back(Answer::Refused(RefusedRecord {
            position,
            error: Some(import_error(error)),
        }));
        Ok(())
    }

    fn report(&mut self, settled: i64) {
        self.reported = settled;
        self.answered = Instant::now();
        self.answers.push_back(Answer::Progress(ImportProgress {
            settled_count: settled,
            stored_count: self.tally.stored_count(),
            known_count: self.tally.known_count(),
            refused_count: self.tally.refused,
        }));
    }

    /// The number of requests, from the first, of which nothing waits to be stored.
    fn settled(&self) -> i64 {
        let node = self.thread.as_ref().and_then(OpenThread::unanswered);
        let checkpoint = self.checkpoint.as_ref().map(|open| open.position);
        let waiting = [self.waiting.first(), node, checkpoint];
        let first = waiting.into_iter().flatten().min();
        first.unwrap_or(self.position)
    }

    /// A call of another service, for the same caller.
    fn call<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.extensions_mut().insert(self.caller.clone());
        request
    }

    /// The id that makes storing something safe to repeat: the same each time, unless
    /// everything gets new ids.
    fn request_id(&self, thread: &str, contents: &[impl prost::Message]) -> String {
        if self.options.new_ids {
            return Uuid::now_v7().to_string();
        }
        let mut hash = Sha256::new();
        hash.update(thread);
        for content in contents {
            hash.update((content.encoded_len() as u64).to_be_bytes());
            hash.update(content.encode_to_vec());
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.finalize()[..16]);
        uuid::Builder::from_custom_bytes(bytes)
            .into_uuid()
            .to_string()
    }
}

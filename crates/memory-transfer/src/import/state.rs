//! The state of an import.

use std::collections::{HashMap, HashSet, VecDeque};

use memory_api::Handlers;
use memory_checksum::{ExportChecksum, UnitDigest, digest_id};
use memory_contract::proto::import_records_response::Answer;
use memory_contract::proto::{
    ExportCompleteness, ExportSummary, ImportOptions, ImportProgress, RecordCounts, RefusedRecord,
};
use memory_grpc::status::import_error;
use memory_grpc::{ApiError, Redactor};
use memory_store::{Caller, Store};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tonic::Request;
use uuid::Uuid;

use super::open::{OpenCheckpoint, OpenThread};
use super::tally::{Outcome, Tally};
use super::waiting::Waiting;

/// An import under way. It holds the records of one batch; of what was stored, it holds
/// ids: of the messages of one thread, and of threads, and the digests of the checksum.
pub(crate) struct Import {
    pub(super) store: Store,
    pub(super) redactor: Redactor,
    pub(super) handlers: Handlers,
    pub(super) caller: Caller,
    pub(super) options: ImportOptions,
    /// Requests read so far.
    pub(super) position: i64,
    pub(super) thread: Option<OpenThread>,
    pub(super) checkpoint: Option<OpenCheckpoint>,
    pub(super) waiting: Waiting,
    /// The ids that threads have now, by those that they had.
    pub(super) threads: HashMap<String, String>,
    /// Memories that were kept in place of others, by the ids of those.
    pub(super) kept_memories: HashMap<String, String>,
    /// An export of a part has files once for each thread.
    pub(super) files: HashSet<UnitDigest>,
    pub(super) tally: Tally,
    pub(super) checksum: ExportChecksum,
    /// What the last summary and the records before it say.
    pub(super) ended: Option<ExportSummary>,
    pub(super) completeness: ExportCompleteness,
    pub(super) answers: VecDeque<Answer>,
    /// Requests that progress was reported of, and when something was answered last.
    pub(super) reported: i64,
    pub(super) answered: Instant,
    pub(super) done: bool,
}

impl Import {
    pub(crate) fn new(store: Store, handlers: Handlers, caller: Caller) -> Self {
        Self {
            redactor: Redactor::new(store.clone()),
            store,
            handlers,
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

    /// Counts a record that was stored or known, or refuses it.
    pub(super) fn settle(
        &mut self,
        position: i64,
        stored: Result<Outcome, ApiError>,
        kind: fn(&mut RecordCounts) -> &mut i64,
    ) -> Result<(), ApiError> {
        let counted = stored.map(|outcome| self.tally.add(outcome, 1, kind));
        self.or_refuse(position, counted)
    }

    /// Refuses a record that could not be taken.
    pub(super) fn or_refuse(
        &mut self,
        position: i64,
        taken: Result<(), ApiError>,
    ) -> Result<(), ApiError> {
        taken.or_else(|error| self.refuse(position, error))
    }

    /// Answers that a record is refused.
    ///
    /// # Errors
    /// The error itself, if a later import may not have it.
    pub(super) fn refuse(
        &mut self,
        position: i64,
        error: impl Into<ApiError>,
    ) -> Result<(), ApiError> {
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

    pub(super) fn report(&mut self, settled: i64) {
        self.reported = settled;
        self.answered = Instant::now();
        self.answers.push_back(Answer::Progress(ImportProgress {
            settled_count: settled,
            stored_count: self.tally.stored_count(),
            known_count: self.tally.known_count(),
            refused_count: self.tally.refused,
            merged_count: self.tally.merged,
        }));
    }

    /// The number of requests, from the first, of which nothing waits to be stored.
    pub(super) fn settled(&self) -> i64 {
        let node = self.thread.as_ref().and_then(OpenThread::unanswered);
        let checkpoint = self.checkpoint.as_ref().map(|open| open.position);
        let waiting = [self.waiting.first(), node, checkpoint];
        let first = waiting.into_iter().flatten().min();
        first.unwrap_or(self.position)
    }

    /// A call of another service, for the same caller.
    pub(super) fn call<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.extensions_mut().insert(self.caller.clone());
        request
    }

    /// The id that makes storing something safe to repeat: the same each time, unless
    /// everything gets new ids.
    pub(super) fn request_id(&self, thread: &str, contents: &[impl prost::Message]) -> String {
        if self.options.new_ids {
            return Uuid::now_v7().to_string();
        }
        let mut hash = Sha256::new();
        hash.update(thread);
        for content in contents {
            hash.update((content.encoded_len() as u64).to_be_bytes());
            hash.update(content.encode_to_vec());
        }
        digest_id(hash).to_string()
    }
}

//! What became of the requests that were sent.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use memory_contract::proto::{
    ErrorReason, ImportError, ImportMessagesResponse, SessionRef, import_messages_response::Outcome,
};
use memory_import::{Batch, named_session, thread_key};
use tonic::Status;

use super::summary::{Summary, messages_of};
use crate::cli::client::Client;

/// Messages whose ids other stored messages have.
const CHANGED: &str = "messages that changed since (the stored ones were kept)";

/// A request that was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) batch: Batch,
    /// The id of its thread; empty where it is not known.
    pub(super) thread_id: String,
}

/// The last message that was stored in each session now, not by an earlier import.
#[derive(Debug, Default)]
pub(super) struct LastStored(Mutex<HashMap<String, String>>);

impl LastStored {
    /// The id of the last message of a session.
    pub(super) fn of(&self, session: &SessionRef) -> Option<String> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.get(&thread_key(session)).cloned()
    }

    fn note(&self, batch: &Batch) {
        let session = named_session(batch.value.thread.as_ref());
        let message = batch.value.messages.last();
        if let (Some(session), Some(message)) = (session, message) {
            let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            last.insert(thread_key(session), message.message_id.clone());
        }
    }
}

/// Adds the answers to the summary of a file.
pub(super) struct Answers<'a> {
    pub(super) client: &'a Client,
    pub(super) last_stored: &'a LastStored,
    pub(super) summary: Summary,
}

impl Answers<'_> {
    /// Adds what became of a request. One with stored and new messages was refused as a
    /// whole; its messages are sent one by one.
    ///
    /// # Errors
    /// When the stream of single messages breaks.
    pub(super) async fn add(
        &mut self,
        sent: Sent,
        answer: ImportMessagesResponse,
    ) -> Result<(), Status> {
        let Sent { batch, thread_id } = sent;
        let exists = matches!(&answer.outcome, Some(Outcome::Error(error)) if is_stored(error));
        if !exists || batch.value.messages.len() < 2 {
            self.settle(&batch, &thread_id, answer);
            return Ok(());
        }
        let singles = batch.singles();
        let requests: Vec<_> = singles.iter().map(|single| single.value.clone()).collect();
        let mut messages = self.client.messages();
        let answers = messages.import_messages(tokio_stream::iter(requests)).await;
        let mut answers = answers?.into_inner();
        for single in &singles {
            let answer = answers.message().await?.unwrap_or_default();
            self.settle(single, &thread_id, answer);
        }
        Ok(())
    }

    fn settle(&mut self, batch: &Batch, thread_id: &str, answer: ImportMessagesResponse) {
        let summary = &mut self.summary;
        let (place, count) = (&batch.place, batch.value.messages.len() as u64);
        match answer.outcome {
            Some(Outcome::Imported(imported)) => {
                summary.threads.insert(imported.thread_id);
                summary.besides.redacted += u64::from(imported.redaction_count.unsigned_abs());
                match imported.replayed {
                    true => summary.known += count,
                    false => {
                        summary.stored += count;
                        self.last_stored.note(batch);
                    }
                }
            }
            Some(Outcome::Error(error)) if is_stored(&error) => {
                if !thread_id.is_empty() {
                    summary.threads.insert(thread_id.to_owned());
                }
                match batch.is_derived() {
                    true => summary.known += count,
                    false => *summary.left_out.entry(CHANGED).or_default() += count,
                }
            }
            Some(Outcome::Error(error)) => {
                let field = if error.message.contains(&error.field) {
                    ""
                } else {
                    &error.field
                };
                let gap = if field.is_empty() { "" } else { ": " };
                summary.problem(
                    format!("{place} ({})", messages_of(count)),
                    format!("{field}{gap}{}", error.message),
                );
            }
            None => summary.problem(place.clone(), "the server gave no answer".to_owned()),
        }
    }
}

/// Whether a message has the id of a stored one.
fn is_stored(error: &ImportError) -> bool {
    error.reason() == ErrorReason::MessageAlreadyExists
}

//! Many conversations over one stream.

use std::collections::HashMap;
use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use memory_contract::proto::import_messages_response::Outcome;
use memory_contract::proto::{
    ImportError, ImportMessagesRequest, ImportMessagesResponse, ImportedMessages,
};
use memory_contract::{
    InvalidFields, NewMessage, RequestId, Session, TenantId, new_messages_from, session_from,
};
use memory_recall::IndexerHandle;
use memory_store::{Append, NewThread, Store};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tonic::{Status, Streaming};

use super::fields::Fields;
use super::messages::request_id_from;
use super::tokens;
use crate::error::ApiError;
use crate::layers::unreadable;
use crate::status::Answer;

/// Requests that may be under way at a time, at most 4 MiB each.
const AHEAD: usize = 8;
/// Sessions of which the latest request is remembered before those that are
/// done are forgotten.
const SESSIONS: usize = 1_024;

/// The answers to an import.
pub(crate) type Imported =
    Pin<Box<dyn Stream<Item = Result<ImportMessagesResponse, Status>> + Send + 'static>>;

/// Stores the requests of one stream.
#[derive(Clone)]
pub(super) struct Import {
    pub(super) store: Store,
    pub(super) indexer: Option<IndexerHandle>,
    pub(super) tenant: TenantId,
}

impl Import {
    /// Answers each request in order. Requests of different sessions overlap;
    /// those of one session are stored one after the other. Requests are read
    /// only as fast as answers are taken. After `time` the stream ends with
    /// DEADLINE_EXCEEDED.
    pub(super) fn run(
        self,
        requests: Streaming<ImportMessagesRequest>,
        time: Duration,
    ) -> Imported {
        let mut order = Order::default();
        let mut position = -1;
        let answers = requests
            .map(move |request| {
                position += 1;
                let work = request.map(|request| {
                    let parsed = parse(request);
                    let turn = order.turn(parsed.as_ref().ok().map(|wanted| &wanted.session));
                    (parsed, turn)
                });
                let import = self.clone();
                async move { import.answer(position, work).await }
            })
            .buffered(AHEAD);
        Box::pin(until(Instant::now() + time, answers))
    }

    async fn answer(
        self,
        position: i64,
        work: Result<(Result<Wanted, InvalidFields>, Turn), Status>,
    ) -> Result<ImportMessagesResponse, Status> {
        let (wanted, mut turn) = work.map_err(|status| match unreadable(&status) {
            Some(error) => Status::from(error),
            None => status,
        })?;
        turn.begin().await;
        let stored = match wanted {
            Ok(wanted) => self.store(wanted).await,
            Err(invalid) => Err(invalid.into()),
        };
        let outcome = match stored {
            Ok(imported) => Outcome::Imported(imported),
            Err(error) => Outcome::Error(import_error(error)),
        };
        Ok(ImportMessagesResponse {
            position,
            outcome: Some(outcome),
        })
    }

    async fn store(&self, wanted: Wanted) -> Result<ImportedMessages, ApiError> {
        let Wanted {
            session,
            messages,
            request_id,
        } = wanted;
        let new = NewThread {
            session,
            title: String::new(),
            metadata: Default::default(),
            ttl: None,
        };
        let messages = tokens::counted(messages).await?;
        let thread = self
            .store
            .resolve_thread(&self.tenant, &new)
            .await?
            .thread
            .id;
        let append = Append {
            thread,
            messages,
            request_id,
            expected_head: None,
        };
        let appended = self.store.append(&self.tenant, &append).await?;
        if let Some(indexer) = &self.indexer {
            indexer.wake();
        }
        Ok(ImportedMessages {
            thread_id: thread.to_string(),
            message_count: i32::try_from(appended.messages.len()).unwrap_or(i32::MAX),
            first_seq: appended.messages.first().map_or(0, |message| message.seq),
            revision: appended.revision.to_string(),
            replayed: appended.replayed,
        })
    }
}

struct Wanted {
    session: Session,
    messages: Vec<NewMessage>,
    request_id: Option<RequestId>,
}

fn parse(request: ImportMessagesRequest) -> Result<Wanted, InvalidFields> {
    let ImportMessagesRequest {
        session,
        messages,
        request_id,
    } = request;
    let mut fields = Fields::default();
    let session = fields.get(session_from("session", session, false));
    let messages = fields.get_all(new_messages_from(messages));
    let request_id = fields.take(request_id_from(&request_id));
    let (session, messages) = fields.all(session.zip(messages))?;
    Ok(Wanted {
        session,
        messages,
        request_id,
    })
}

fn import_error(error: ApiError) -> ImportError {
    let Answer {
        reason,
        message,
        violations,
        ..
    } = Answer::from(error);
    ImportError {
        reason: reason.into(),
        message,
        field: violations
            .into_iter()
            .next()
            .map(|invalid| invalid.field)
            .unwrap_or_default(),
    }
}

/// Keeps requests of one session in order while others overtake them.
#[derive(Default)]
struct Order(HashMap<Session, oneshot::Receiver<()>>);

/// A request's place behind the one before it of the same session. Dropped, it
/// lets the next one begin.
struct Turn {
    before: Option<oneshot::Receiver<()>>,
    _done: Option<oneshot::Sender<()>>,
}

impl Order {
    fn turn(&mut self, session: Option<&Session>) -> Turn {
        let Some(session) = session else {
            return Turn {
                before: None,
                _done: None,
            };
        };
        if self.0.len() >= SESSIONS {
            self.0.retain(|_, done| {
                matches!(done.try_recv(), Err(oneshot::error::TryRecvError::Empty))
            });
        }
        let (sender, receiver) = oneshot::channel();
        Turn {
            before: self.0.insert(session.clone(), receiver),
            _done: Some(sender),
        }
    }
}

impl Turn {
    async fn begin(&mut self) {
        if let Some(before) = self.before.take() {
            // It is never sent to: the one before is done when it is dropped.
            let _ = before.await;
        }
    }
}

/// Ends a stream at a deadline, with the status that says so, and after the
/// first error.
fn until<T: Send + 'static>(
    deadline: Instant,
    stream: impl Stream<Item = Result<T, Status>> + Send + 'static,
) -> impl Stream<Item = Result<T, Status>> + Send + 'static {
    futures::stream::unfold(Some(Box::pin(stream)), move |stream| async move {
        let mut stream = stream?;
        match timeout_at(deadline, stream.next()).await {
            Ok(Some(Ok(item))) => Some((Ok(item), Some(stream))),
            Ok(Some(Err(status))) => Some((Err(status), None)),
            Ok(None) => None,
            Err(_elapsed) => Some((Err(ApiError::DeadlineExceeded.into()), None)),
        }
    })
}

//! An answer that passes unchanged while it is read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use reqwest::Body;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::answer::{Answer, Unstored, Whole};
use crate::api::Api;
use crate::counts::{Counts, count};
use crate::queue::Queue;
use crate::sessions::Sessions;
use crate::upstream::{Passing, PassingError};
use crate::waiting::Waiting;

/// A turn whose answer is under way.
#[derive(Debug)]
pub(crate) struct Open {
    /// Held as long as the messages of the request are.
    pub(crate) room: OwnedSemaphorePermit,
    /// What is stored once the answer is complete.
    pub(crate) waiting: Waiting,
    pub(crate) queue: Arc<Queue>,
    pub(crate) sessions: Sessions,
    pub(crate) counts: Arc<Counts>,
}

/// What is done with the bytes that pass.
#[derive(Debug)]
struct Tee {
    body: Body,
    idle: Duration,
    open: Option<(Answer, Open)>,
    /// The bytes that are still to come, if the provider says how many.
    left: Option<u64>,
    /// Held until the answer has passed.
    _call: OwnedSemaphorePermit,
}

/// Passes an answer on. With `open` it is read, and the turn stored once it is complete.
pub(crate) fn pass(
    body: Body,
    headers: &HeaderMap,
    idle: Duration,
    open: Option<(Api, Open)>,
    call: OwnedSemaphorePermit,
) -> Passing {
    let length = headers.get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let open = open.and_then(|(api, open)| {
        if is_encoded(headers) {
            open.counts.lose("the answer is compressed");
            return None;
        }
        Some((Answer::new(api, is_stream(headers)), open))
    });
    let tee = Tee {
        body,
        idle,
        open,
        left: length,
        _call: call,
    };
    StreamBody::new(stream::unfold(Some(tee), next)).boxed_unsync()
}

/// The next frame. A client that goes away drops the stream, and the call with it.
async fn next(tee: Option<Tee>) -> Option<(Result<Frame<Bytes>, PassingError>, Option<Tee>)> {
    let mut tee = tee?;
    match timeout(tee.idle, tee.body.frame()).await {
        Err(_) => Some((Err(PassingError::Idle), None)),
        Ok(None) => {
            tee.end();
            None
        }
        Ok(Some(Err(error))) => Some((Err(error.into()), None)),
        Ok(Some(Ok(frame))) => {
            if let Some(data) = frame.data_ref() {
                tee.read(data);
            }
            Some((Ok(frame), Some(tee)))
        }
    }
}

impl Tee {
    fn read(&mut self, data: &Bytes) {
        let Some((answer, _)) = &mut self.open else {
            return;
        };
        answer.take(data);
        let left = &mut self.left;
        *left = left.map(|left| left.saturating_sub(data.len() as u64));
        // A turn is stored as soon as its answer is whole, also if the connection stays open.
        if answer.has_ended() || *left == Some(0) {
            self.end();
        }
    }

    /// Stores the turn.
    fn end(&mut self) {
        let Some((answer, open)) = self.open.take() else {
            return;
        };
        let Open {
            room: _room,
            waiting,
            queue,
            sessions,
            counts,
        } = open;
        match answer.whole() {
            Ok(Whole { id, messages }) => {
                sessions.remember(&waiting.whose, &id);
                queue.add(waiting.with_answer(messages, Instant::now()));
            }
            Err(Unstored::Unfinished | Unstored::Alternatives) => count(&counts.unfinished),
            Err(Unstored::TooLarge) => counts.lose("the answer is too large"),
            Err(Unstored::Unreadable) => counts.lose("the answer cannot be read"),
        }
    }
}

/// A stream that ended early, or whose reader is gone.
impl Drop for Tee {
    fn drop(&mut self) {
        if let Some((_, open)) = &self.open {
            count(&open.counts.unfinished);
        }
    }
}

fn is_encoded(headers: &HeaderMap) -> bool {
    let encoding = headers.get(CONTENT_ENCODING);
    encoding.is_some_and(|encoding| encoding != "identity")
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.to_ascii_lowercase().starts_with("text/event-stream")
}

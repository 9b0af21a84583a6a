//! Answers requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use hyper::body::Incoming;
use moka::sync::Cache;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::api::Api;
use crate::asked::Asked;
use crate::config::{CALLS, IDLE_TIME, ProxyConfig, REQUEST_BYTES, REQUEST_TIME, REQUESTS_BYTES};
use crate::counts::{Counts, count};
use crate::host::is_permitted;
use crate::queue::Queue;
use crate::recall::{Recalled, recall};
use crate::recollect::Recollect;
use crate::sessions::Sessions;
use crate::tee::{Open, pass};
use crate::upstream::{Onward, Passing, Providers, ask_for_plain, remove_length};
use crate::waiting::Waiting;
use crate::whose::Whose;

const MEMORY: HeaderName = HeaderName::from_static("x-recollect-memory");
const RECALLED: HeaderName = HeaderName::from_static("x-recollect-recalled");
const REASON: HeaderName = HeaderName::from_static("x-recollect-reason");
const SESSION: HeaderName = HeaderName::from_static("x-recollect-session");
/// The path of the counters.
const STATUS: &str = "/recollect/status";

/// How long what was recalled for a question is kept for the steps that follow it, ...
const TURN_TIME: Duration = Duration::from_secs(900);
/// ... and for how many bytes.
const TURN_BYTES: u64 = 64 * 1024 * 1024;

/// A proxy in front of providers.
#[derive(Debug)]
pub struct Proxy {
    config: ProxyConfig,
    recollect: Recollect,
    providers: Providers,
    calls: Arc<Semaphore>,
    /// Bytes of requests with memory.
    room: Arc<Semaphore>,
    /// What was recalled for the questions of turns that may go on.
    turns: Cache<(Whose, [u8; 32]), Arc<Recalled>>,
    queue: Arc<Queue>,
    sessions: Sessions,
    counts: Arc<Counts>,
}

/// What memory does for a request, as the headers of the answer say it.
#[derive(Debug)]
struct Memory {
    word: &'static str,
    recalled: usize,
    reason: &'static str,
    session: Option<HeaderValue>,
}

/// The answer of a provider, or the reason why it gave none.
type Answered = Result<Response<reqwest::Body>, String>;

/// The answer to a request with memory, ...
enum Both {
    Used(Answered),
    /// ... or to the same one without it, because the provider refused the first.
    Refused(Answered),
}

/// The body of a request.
enum Arrived {
    Whole(Bytes),
    /// What has arrived, and the rest.
    TooLarge(Vec<Bytes>, Incoming),
    Late,
    Broken,
}

impl Proxy {
    /// Starts a proxy. It connects to Recollect and to providers with the first request.
    ///
    /// # Errors
    /// What the machine lacks.
    pub fn start(config: ProxyConfig, recollect: Recollect) -> Result<Arc<Self>, String> {
        let providers = Providers::new(&config.upstreams)
            .ok_or("this machine has no usable certificates of authorities")?;
        let counts = Arc::new(Counts::default());
        let size = |_: &_, recalled: &Arc<Recalled>| {
            u32::try_from(recalled.text.len() + 256).unwrap_or(u32::MAX)
        };
        Ok(Arc::new(Self {
            config,
            queue: Arc::new(Queue::start(&recollect, Arc::clone(&counts))),
            recollect,
            providers,
            calls: Arc::new(Semaphore::new(CALLS)),
            room: Arc::new(Semaphore::new(REQUESTS_BYTES)),
            turns: Cache::builder()
                .max_capacity(TURN_BYTES)
                .weigher(size)
                .time_to_live(TURN_TIME)
                .build(),
            sessions: Sessions::new(),
            counts,
        }))
    }

    /// Stores what waits, for at most ten seconds.
    pub(crate) async fn stop(&self) {
        self.queue.stop().await;
    }

    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Response<Passing> {
        let (head, body) = request.into_parts();
        if !is_permitted(&head.uri, &head.headers, &self.config.hosts) {
            let message = "the proxy answers requests to localhost or to an IP address, from no \
                           page of another site; allow another host name with --host";
            return problem(StatusCode::FORBIDDEN, "permission_error", message);
        }
        let path = head.uri.path();
        if path == STATUS && head.method == Method::GET {
            let status = serde_json::to_value(self.counts.status()).unwrap_or_default();
            return answer_of(StatusCode::OK, &status);
        }
        if !path.starts_with("/v1/") {
            let message = format!(
                "the proxy has no such path; it passes on /v1/…, and its counters are at {STATUS}"
            );
            return problem(StatusCode::NOT_FOUND, "not_found_error", &message);
        }
        let Ok(call) = Arc::clone(&self.calls).try_acquire_owned() else {
            let message = format!("{CALLS} requests are under way; try again");
            let mut busy = problem(
                StatusCode::SERVICE_UNAVAILABLE,
                "overloaded_error",
                &message,
            );
            let headers = busy.headers_mut();
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            return busy;
        };
        match Api::of(&head.method, path) {
            Some(api) if !is_encoded(&head.headers) => {
                count(&self.counts.requests);
                self.with_memory(api, head, body, call).await
            }
            Some(_) => {
                count(&self.counts.requests);
                let memory = Memory::off("compressed request");
                let body = reqwest::Body::wrap(body);
                self.send(head, body, Some(memory), call).await
            }
            None => {
                let body = reqwest::Body::wrap(body);
                self.send(head, body, None, call).await
            }
        }
    }

    /// Answers a request that memory can be added to.
    async fn with_memory(
        &self,
        api: Api,
        head: Parts,
        body: Incoming,
        call: OwnedSemaphorePermit,
    ) -> Response<Passing> {
        let Ok(mut room) = Arc::clone(&self.room).try_acquire_many_owned(size_of(&body)) else {
            self.counts.lose("too many requests");
            let memory = Memory::off("too many requests");
            let body = reqwest::Body::wrap(body);
            return self.send(head, body, Some(memory), call).await;
        };
        let body = match arrived(body).await {
            Arrived::Whole(body) => body,
            Arrived::TooLarge(begun, rest) => {
                let memory = Memory::off("request too large");
                return self
                    .send(head, joined(begun, rest), Some(memory), call)
                    .await;
            }
            Arrived::Late => {
                let message = "the request did not arrive in time";
                return problem(StatusCode::REQUEST_TIMEOUT, "timeout_error", message);
            }
            Arrived::Broken => {
                let message = "the request did not arrive whole";
                return problem(StatusCode::BAD_REQUEST, "invalid_request_error", message);
            }
        };
        // A body whose size was unknown may have got more.
        drop(room.split(room.num_permits().saturating_sub(body.len())));
        let Some(asked) = Asked::read(api, &body) else {
            let memory = Memory::off("unknown messages");
            return self.send(head, whole(body), Some(memory), call).await;
        };
        let derived = |app: &str, user: &str| {
            let previous = asked.previous.as_deref();
            let known = previous.and_then(|response| self.sessions.of(app, user, response));
            known.unwrap_or_else(|| asked.derived_session())
        };
        let whose = match Whose::read(&self.config, &head.headers, &asked.named, derived) {
            Ok(whose) => whose,
            Err(refused) => {
                let memory = Memory::off(refused.reason());
                return self.send(head, whole(body), Some(memory), call).await;
            }
        };
        let (recalled, mut memory) = self.remembered(&whose, &asked).await;
        memory.session = HeaderValue::from_bytes(whose.session.as_bytes()).ok();
        let changed = asked.with_memory(&body, &recalled.text);
        let changed = changed.filter(|_| recalled.count > 0);
        let turn = (whose.clone(), asked.turn());
        let open = Open {
            room,
            waiting: Waiting {
                whose,
                messages: asked.messages,
                said: asked.said,
                new_from: asked.new_from,
                is_kept: asked.is_kept,
                previous: asked.previous,
            },
            queue: Arc::clone(&self.queue),
            sessions: self.sessions.clone(),
            counts: Arc::clone(&self.counts),
        };
        let answer = match changed {
            Some(changed) => match self.with_both(head, changed, body).await {
                Both::Used(answer) => answer,
                Both::Refused(answer) => {
                    // Nor do the next steps of the turn get it.
                    self.turns.insert(turn, Arc::default());
                    memory = Memory {
                        session: memory.session,
                        ..Memory::off("refused with memory")
                    };
                    answer
                }
            },
            None => self.plain(head, body).await,
        };
        passed(answer, Some(memory), Some((api, open)), call)
    }

    /// Sends a request with memory on, and once more without it if the provider refuses it, such
    /// as one that is longer than the model reads.
    async fn with_both(&self, head: Parts, changed: Bytes, body: Bytes) -> Both {
        let mut longer = head.clone();
        remove_length(&mut longer.headers);
        let answer = self.plain(longer, changed).await;
        let is_refused = answer.as_ref().is_ok_and(|answer| {
            matches!(
                answer.status(),
                StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE
            )
        });
        if is_refused {
            drop(answer);
            return Both::Refused(self.plain(head, body).await);
        }
        count(&self.counts.used);
        Both::Used(answer)
    }

    /// Sends a request on whose answer is read, and so must not be compressed.
    async fn plain(&self, mut head: Parts, body: Bytes) -> Answered {
        ask_for_plain(&mut head.headers);
        self.providers.send(onward(head, whole(body))).await
    }

    /// What is remembered for a request. The steps of a turn get what its question got, so that
    /// the beginning of their requests is the same.
    async fn remembered(&self, whose: &Whose, asked: &Asked) -> (Arc<Recalled>, Memory) {
        if asked.question.is_empty() {
            return (Arc::default(), Memory::of(0));
        }
        let turn = (whose.clone(), asked.turn());
        if asked.goes_on
            && let Some(recalled) = self.turns.get(&turn)
        {
            let memory = Memory::of(recalled.count);
            return (recalled, memory);
        }
        let (tokens, time) = (self.config.memory_tokens, self.config.recall_timeout);
        match recall(&self.recollect, whose, asked, tokens, time).await {
            Ok(recalled) => {
                let recalled = Arc::new(recalled);
                self.turns.insert(turn, Arc::clone(&recalled));
                let memory = Memory::of(recalled.count);
                (recalled, memory)
            }
            Err(reason) => {
                let before = self.counts.unavailable.fetch_add(1, Relaxed);
                // One line for each power of two, so that an outage does not fill the log.
                if (before + 1).is_power_of_two() {
                    let requests = before + 1;
                    tracing::warn!(reason, requests, "requests go on without memory");
                }
                (Arc::default(), Memory::unavailable(reason))
            }
        }
    }

    /// Sends a request on as it is, and passes its answer back.
    async fn send(
        &self,
        head: Parts,
        body: reqwest::Body,
        memory: Option<Memory>,
        call: OwnedSemaphorePermit,
    ) -> Response<Passing> {
        let answer = self.providers.send(onward(head, body)).await;
        passed(answer, memory, None, call)
    }
}

impl Memory {
    /// So many quotations were added.
    fn of(recalled: usize) -> Self {
        Self {
            word: if recalled > 0 { "used" } else { "none" },
            recalled,
            reason: "",
            session: None,
        }
    }

    fn off(reason: &'static str) -> Self {
        Self {
            word: "off",
            recalled: 0,
            reason,
            session: None,
        }
    }

    fn unavailable(reason: &'static str) -> Self {
        Self {
            word: "unavailable",
            ..Self::off(reason)
        }
    }

    fn write(self, headers: &mut HeaderMap) {
        headers.insert(MEMORY, HeaderValue::from_static(self.word));
        headers.insert(RECALLED, HeaderValue::from(self.recalled));
        if !self.reason.is_empty() {
            headers.insert(REASON, HeaderValue::from_static(self.reason));
        }
        if let Some(session) = self.session {
            headers.insert(SESSION, session);
        }
    }
}

/// Passes an answer back.
fn passed(
    answer: Answered,
    memory: Option<Memory>,
    open: Option<(Api, Open)>,
    call: OwnedSemaphorePermit,
) -> Response<Passing> {
    let mut answer = match answer {
        Ok(answer) => {
            let (head, body) = answer.into_parts();
            // Errors are passed on and not stored.
            let open = open.filter(|_| head.status.is_success());
            let body = pass(body, &head.headers, IDLE_TIME, open, call);
            Response::from_parts(head, body)
        }
        Err(message) => problem(StatusCode::BAD_GATEWAY, "api_error", &message),
    };
    if let Some(memory) = memory {
        memory.write(answer.headers_mut());
    }
    answer
}

fn onward(head: Parts, body: reqwest::Body) -> Onward {
    Onward {
        method: head.method,
        uri: head.uri,
        headers: head.headers,
        body,
    }
}

fn is_encoded(headers: &HeaderMap) -> bool {
    let encoding = headers.get(CONTENT_ENCODING);
    encoding.is_some_and(|encoding| encoding != "identity")
}

/// The size of a body, or the largest one if the application does not name it.
fn size_of(body: &Incoming) -> u32 {
    let size = body.size_hint().exact().unwrap_or(REQUEST_BYTES as u64);
    u32::try_from(size.min(REQUEST_BYTES as u64)).unwrap_or(u32::MAX)
}

/// Receives a body up to the largest that memory is added to.
async fn arrived(mut body: Incoming) -> Arrived {
    let receive = async {
        let (mut chunks, mut bytes) = (Vec::new(), 0);
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                return Err(());
            };
            let Ok(data) = frame.into_data() else {
                continue;
            };
            bytes += data.len();
            chunks.push(data);
            if bytes > REQUEST_BYTES {
                return Ok((chunks, true));
            }
        }
        Ok((chunks, false))
    };
    match timeout(REQUEST_TIME, receive).await {
        Err(_) => Arrived::Late,
        Ok(Err(())) => Arrived::Broken,
        Ok(Ok((chunks, true))) => Arrived::TooLarge(chunks, body),
        Ok(Ok((mut chunks, false))) => Arrived::Whole(match chunks.len() {
            1 => chunks.remove(0),
            _ => chunks.concat().into(),
        }),
    }
}

/// A body that has arrived.
fn whole(body: Bytes) -> reqwest::Body {
    reqwest::Body::from(body)
}

/// A body that has arrived in part.
fn joined(begun: Vec<Bytes>, rest: Incoming) -> reqwest::Body {
    let begun = stream::iter(begun.into_iter().map(|data| Ok(Frame::data(data))));
    reqwest::Body::wrap(StreamBody::new(begun.chain(BodyStream::new(rest))))
}

/// An answer of the proxy itself, in the form of both providers' errors.
fn problem(status: StatusCode, kind: &str, message: &str) -> Response<Passing> {
    let error: HashMap<&str, &str> = [
        ("type", kind),
        ("message", message),
        ("code", "recollect_proxy"),
    ]
    .into();
    answer_of(status, &json!({"type": "error", "error": error}))
}

fn answer_of(status: StatusCode, body: &Value) -> Response<Passing> {
    let body = Full::new(Bytes::from(body.to_string()));
    let mut response = Response::new(body.map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

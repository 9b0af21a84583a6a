//! A receiver of webhooks: an HTTP server that answers as a test says, and remembers what it got.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::HeaderMap;
use ring::hmac;
use serde_json::Value;

use crate::stand_in::StandIn;

/// The largest body.
const BODY_BYTES: usize = 4 * 1024 * 1024;

/// What a receiver answers.
#[derive(Clone, Debug)]
pub struct ReceiverAnswer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    /// The pause before it.
    pub after: Duration,
}

/// A request that a receiver got.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The status that it is answered with.
    pub status: u16,
    pub at: Instant,
}

type Script = Arc<dyn Fn(usize) -> ReceiverAnswer + Send + Sync>;

#[derive(Clone)]
struct Shared {
    script: Script,
    deliveries: Arc<Mutex<Vec<Delivery>>>,
}

/// A running receiver, which ends when it is dropped.
pub struct Receiver {
    server: StandIn,
    deliveries: Arc<Mutex<Vec<Delivery>>>,
}

impl ReceiverAnswer {
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            after: Duration::ZERO,
        }
    }
}

impl Receiver {
    /// A receiver that takes everything.
    pub fn new() -> Self {
        Self::answering(|_| ReceiverAnswer::status(204))
    }

    /// A receiver with an answer for each request by its number, from 0.
    pub fn answering(script: impl Fn(usize) -> ReceiverAnswer + Send + Sync + 'static) -> Self {
        Self::at(SocketAddr::from(([127, 0, 0, 1], 0)), script)
    }

    /// The same at an address.
    pub fn at(
        addr: SocketAddr,
        script: impl Fn(usize) -> ReceiverAnswer + Send + Sync + 'static,
    ) -> Self {
        let deliveries: Arc<Mutex<Vec<Delivery>>> = Arc::default();
        let shared = Shared {
            script: Arc::new(script),
            deliveries: Arc::clone(&deliveries),
        };
        let routes = Router::new().fallback(receive).with_state(shared);
        Self {
            server: StandIn::start(addr, routes),
            deliveries,
        }
    }

    pub fn addr(&self) -> SocketAddr {
        self.server.addr
    }

    pub fn url(&self) -> String {
        format!("http://{}/hooks", self.server.addr)
    }

    /// The number of requests so far.
    pub fn count(&self) -> usize {
        self.deliveries.lock().unwrap().len()
    }

    /// All requests so far.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.deliveries.lock().unwrap().clone()
    }

    /// The events of all requests that were taken, each once, in the order of their first arrival.
    pub fn events(&self) -> Vec<Value> {
        let mut seen = HashSet::new();
        let deliveries = self.deliveries();
        let taken = deliveries.iter().filter(|one| one.status < 300);
        taken
            .flat_map(Delivery::events)
            .filter(|event| seen.insert(event["event_id"].as_str().unwrap().to_owned()))
            .collect()
    }
}

impl Default for Receiver {
    fn default() -> Self {
        Self::new()
    }
}

impl Delivery {
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn events(&self) -> Vec<Value> {
        self.json()["events"].as_array().unwrap().clone()
    }

    /// Whether one of its signatures is that of the secret.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap());
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key.unwrap());
        let (id, time) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let mut signed = format!("{id}.{time}.").into_bytes();
        signed.extend_from_slice(&self.body);
        let mut signatures = self.header("webhook-signature").split(' ');
        signatures.any(|signature| {
            let tag = STANDARD.decode(signature.strip_prefix("v1,").unwrap());
            hmac::verify(&key, &signed, &tag.unwrap()).is_ok()
        })
    }
}

async fn receive(State(shared): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, BODY_BYTES).await.unwrap();
    let answer = {
        let mut deliveries = shared.deliveries.lock().unwrap();
        let answer = (shared.script)(deliveries.len());
        deliveries.push(Delivery {
            path: parts.uri.path().to_owned(),
            headers: parts.headers,
            body,
            status: answer.status,
            at: Instant::now(),
        });
        answer
    };
    tokio::time::sleep(answer.after).await;
    let mut response = Response::builder().status(answer.status);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    response.body(Body::empty()).unwrap()
}

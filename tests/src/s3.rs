//! A small server that speaks as much of S3's protocol as the service needs: one
//! bucket, with conditional writes, and with faults on request.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::stand_in::StandIn;

const BUCKET: &str = "memories";

/// A server, with what it has stored.
pub struct S3 {
    addr: SocketAddr,
    bucket: Arc<Mutex<Bucket>>,
    running: Option<StandIn>,
}

/// How requests are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum S3Fault {
    /// They are answered.
    #[default]
    None,
    /// They are refused for good, with 403.
    Forbidden,
    /// They fail, with 503.
    Failing,
    /// They are answered after this time, as they would have been then.
    Slow(Duration),
    /// They wait, and are carried out in the end, also those that the client has
    /// given up.
    Hanging,
}

#[derive(Default)]
struct Bucket {
    objects: BTreeMap<String, (Vec<u8>, u64)>,
    /// Versions given out.
    version: u64,
    /// What another writer writes just before the next conditional write.
    meddling: Option<Vec<u8>>,
    /// Conditional writes that were refused.
    refused: usize,
    /// How requests are answered.
    fault: watch::Sender<S3Fault>,
    /// Requests received.
    requests: usize,
    /// The methods of requests that have to wait.
    held: watch::Sender<Vec<Method>>,
    /// Writes and deletions carried out, by method.
    done: HashMap<Method, usize>,
}

impl S3 {
    /// Starts it, empty.
    #[expect(clippy::new_without_default, reason = "it starts a server")]
    pub fn new() -> Self {
        let bucket = Arc::new(Mutex::new(Bucket::default()));
        let running = StandIn::on_free_port(routes(&bucket));
        Self {
            addr: running.addr,
            bucket,
            running: Some(running),
        }
    }

    /// Ends it: connections are refused. What is stored stays.
    pub fn stop(&mut self) {
        self.running = None;
    }

    /// Starts it again where it was.
    pub fn restart(&mut self) {
        self.stop();
        self.running = Some(StandIn::start(self.addr, routes(&self.bucket)));
    }

    /// The lines of a configuration that choose it.
    pub fn config(&self) -> Vec<String> {
        vec![
            format!("objects.url = \"s3://{BUCKET}/prefix\""),
            format!(
                "objects.options = {{ aws_endpoint = \"http://{}\", aws_allow_http = \"true\", \
                 aws_access_key_id = \"test\", aws_secret_access_key = \"test\", \
                 aws_region = \"us-east-1\" }}",
                self.addr
            ),
        ]
    }

    /// An object by its key, if there is one.
    pub fn object(&self, key: &str) -> Option<Vec<u8>> {
        let bucket = self.bucket.lock().unwrap();
        let object = bucket.objects.get(&format!("prefix/{key}"));
        object.map(|(bytes, _)| bytes.clone())
    }

    /// Stores an object as another program does, under the key that the service has for it.
    pub fn put(&self, key: &str, bytes: Vec<u8>) {
        let mut bucket = self.bucket.lock().unwrap();
        bucket.write(&format!("prefix/{key}"), bytes);
    }

    /// What anyone gets at a signed URL.
    pub async fn fetch(&self, url: &str) -> Vec<u8> {
        let path = url.strip_prefix(&format!("http://{}", self.addr)).unwrap();
        let mut stream = TcpStream::connect(self.addr).await.unwrap();
        let request = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.addr);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).await.unwrap();
        let head = response.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        response.split_off(head.unwrap() + 4)
    }

    /// Lets another writer write these bytes just before the next conditional
    /// write of an object.
    pub fn meddle(&self, bytes: Vec<u8>) {
        self.bucket.lock().unwrap().meddling = Some(bytes);
    }

    /// How many conditional writes were refused so far.
    pub fn refused(&self) -> usize {
        self.bucket.lock().unwrap().refused
    }

    /// Sets how requests are answered from now on.
    pub fn set_fault(&self, fault: S3Fault) {
        self.bucket.lock().unwrap().fault.send_replace(fault);
    }

    /// How many requests came in so far.
    pub fn requests(&self) -> usize {
        self.bucket.lock().unwrap().requests
    }

    /// Whether deletions wait from now on. They are done in the end, also those
    /// that the client has given up.
    pub fn hold_deletions(&self, held: bool) {
        self.hold(Method::DELETE, held);
    }

    /// The same of writes.
    pub fn hold_writes(&self, held: bool) {
        self.hold(Method::PUT, held);
    }

    fn hold(&self, method: Method, held: bool) {
        let bucket = self.bucket.lock().unwrap();
        bucket.held.send_modify(|methods| {
            methods.retain(|other| *other != method);
            methods.extend(held.then_some(method));
        });
    }

    /// How many writes were carried out so far.
    pub fn writes(&self) -> usize {
        self.done(&Method::PUT)
    }

    /// How many deletions were carried out so far.
    pub fn deletions(&self) -> usize {
        self.done(&Method::DELETE)
    }

    fn done(&self, method: &Method) -> usize {
        let bucket = self.bucket.lock().unwrap();
        bucket.done.get(method).copied().unwrap_or_default()
    }

    /// The number of objects.
    pub fn object_count(&self) -> usize {
        self.bucket.lock().unwrap().objects.len()
    }
}

fn routes(bucket: &Arc<Mutex<Bucket>>) -> Router {
    Router::new()
        .fallback(answer)
        .with_state(Arc::clone(bucket))
}

impl Bucket {
    fn write(&mut self, key: &str, bytes: Vec<u8>) -> u64 {
        self.version += 1;
        self.objects.insert(key.to_owned(), (bytes, self.version));
        self.version
    }

    /// Answers a write, which may be conditional.
    fn put(&mut self, key: &str, headers: &HeaderMap, body: &[u8]) -> Response {
        let condition = headers
            .get(header::IF_MATCH)
            .map(|wanted| Some(wanted.to_str().unwrap().to_owned()))
            .or_else(|| headers.get(header::IF_NONE_MATCH).map(|_| None));
        if let Some(wanted) = condition {
            if let Some(bytes) = self.meddling.take() {
                self.write(key, bytes);
            }
            let found = self.objects.get(key).map(|(_, version)| etag(*version));
            if found != wanted {
                self.refused += 1;
                return StatusCode::PRECONDITION_FAILED.into_response();
            }
        }
        let version = self.write(key, body.to_vec());
        [(header::ETAG, etag(version))].into_response()
    }
}

async fn answer(
    State(bucket): State<Arc<Mutex<Bucket>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut fault = {
        let mut bucket = bucket.lock().unwrap();
        bucket.requests += 1;
        bucket.fault.subscribe()
    };
    let now = *fault.borrow();
    match now {
        S3Fault::None => {}
        S3Fault::Forbidden => return StatusCode::FORBIDDEN.into_response(),
        S3Fault::Failing => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        S3Fault::Slow(time) => sleep(time).await,
        S3Fault::Hanging => {
            // In a separate task, which outlives the client's connection.
            let late = tokio::spawn(async move {
                fault
                    .wait_for(|fault| *fault != S3Fault::Hanging)
                    .await
                    .unwrap();
                carry_out(bucket, method, uri, headers, body).await
            });
            return late.await.unwrap();
        }
    }
    carry_out(bucket, method, uri, headers, body).await
}

async fn carry_out(
    bucket: Arc<Mutex<Bucket>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(key) = uri.path().strip_prefix(&format!("/{BUCKET}/")) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    // The client encodes the encoded key once more.
    let key = key.replace("%25", "%");
    if method != Method::PUT && method != Method::DELETE {
        return read(&bucket, &method, &key);
    }
    let mut held = bucket.lock().unwrap().held.subscribe();
    // In a separate task, which outlives the client's connection.
    let change = tokio::spawn(async move {
        held.wait_for(|methods| !methods.contains(&method))
            .await
            .unwrap();
        let mut bucket = bucket.lock().unwrap();
        *bucket.done.entry(method.clone()).or_default() += 1;
        if method == Method::DELETE {
            bucket.objects.remove(&key);
            return StatusCode::NO_CONTENT.into_response();
        }
        bucket.put(&key, &headers, &body)
    });
    change.await.unwrap()
}

fn read(bucket: &Mutex<Bucket>, method: &Method, key: &str) -> Response {
    if *method != Method::GET && *method != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    match bucket.lock().unwrap().objects.get(key) {
        None => StatusCode::NOT_FOUND.into_response(),
        Some((bytes, version)) => (
            [
                (header::ETAG, etag(*version)),
                (
                    header::LAST_MODIFIED,
                    "Fri, 20 Nov 2026 12:00:00 GMT".to_owned(),
                ),
            ],
            bytes.clone(),
        )
            .into_response(),
    }
}

fn etag(version: u64) -> String {
    format!("\"{version}\"")
}

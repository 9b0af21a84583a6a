//! Requests over HTTP, as a gRPC stack inside the layer sees them, and its answers.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test, with a stand-in for the server inside"
)]

use std::convert::Infallible;
use std::io::Write as _;
use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};
use memory_contract::proto::{GetThreadRequest, GetThreadResponse, Thread, thread_ref};
use memory_http::{Http, HttpConfig, HttpLayer, Unreadable, UntilSent};
use prost::Message as _;
use serde_json::{Value, json};
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer as _, Service, service_fn};

const GET_THREAD: &str = "/recollect.v1.ThreadService/GetThread";

fn config() -> HttpConfig {
    HttpConfig {
        cors_origins: Vec::new(),
        open: false,
        passed: &["/passed"],
        console: true,
        max_message_bytes: 1_024,
        uncompressed: &[],
        refuse: |Unreadable { field, problem }| {
            Status::invalid_argument(format!("{}: {problem}", field.unwrap_or_default()))
        },
    }
}

fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(message.len() as u32);
    frame.put_slice(message);
    frame.freeze()
}

/// Answers each thread that is asked for, as tonic would: with a body and trailers, or
/// with a status in the headers.
async fn stack(request: Request<Body>) -> Result<Response<Body>, Infallible> {
    assert_eq!(request.headers()["content-type"], "application/grpc");
    assert_eq!(request.headers()["te"], "trailers");
    assert!(!request.headers().contains_key("content-length"));
    assert_eq!(request.uri().query(), None);
    let body = match request.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(status) => return Ok(status.into_http()),
    };
    let request = GetThreadRequest::decode(&body[5..]).unwrap();
    let named = request.thread.and_then(|thread| thread.thread);
    let Some(thread_ref::Thread::ThreadId(thread_id)) = named else {
        return Ok(Status::new(Code::NotFound, "no such thread").into_http());
    };
    let answer = GetThreadResponse {
        thread: Some(Thread {
            thread_id,
            ..Default::default()
        }),
    };
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().unwrap());
    let frames = [
        Frame::data(framed(&answer.encode_to_vec())),
        Frame::trailers(trailers),
    ];
    let body = StreamBody::new(stream::iter(frames.map(Ok::<_, Status>)));
    let mut response = Response::new(Body::new(body));
    let headers = response.headers_mut();
    headers.insert("content-type", "application/grpc".parse().unwrap());
    Ok(response)
}

/// Sends a request through the layer; status, headers and body of the answer.
async fn send(config: HttpConfig, request: http::request::Builder, body: &[u8]) -> Answer {
    let body = Full::new(Bytes::copy_from_slice(body));
    let request = request.body(Body::new(body)).unwrap();
    let mut server: Http<_> = HttpLayer::new(config).layer(service_fn(stack));
    let (parts, body) = server.call(request).await.unwrap().into_parts();
    Answer {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: body.collect().await.unwrap().to_bytes(),
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

async fn post(body: &[u8], headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::post(GET_THREAD).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    send(config(), request, body).await
}

#[tokio::test]
async fn json_becomes_a_call_and_its_answer_json() {
    let answer = post(br#"{"thread": {"threadId": "t"}}"#, &[]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!(answer.headers["content-length"], "27");
    assert_eq!(answer.json(), json!({"thread": {"threadId": "t"}}));

    let query = format!(
        "{GET_THREAD}?encoding=json&message=%7B%22thread%22:%7B%22thread_id%22:%22t%22%7D%7D"
    );
    let answer = send(config(), Request::get(query), b"").await;
    assert_eq!(answer.json(), json!({"thread": {"threadId": "t"}}));
}

#[tokio::test]
async fn what_lasts_until_an_answer_is_sent_is_kept_with_its_json() {
    let permit = Arc::new("a permit");
    let kept = Arc::clone(&permit);
    let inner = service_fn(move |request: Request<Body>| {
        let until_sent = request.extensions().get::<UntilSent>().cloned();
        until_sent.unwrap().keep(Arc::clone(&kept));
        stack(request)
    });
    let mut server: Http<_> = HttpLayer::new(config()).layer(inner);
    let idle = Arc::strong_count(&permit);
    let request = Request::post(GET_THREAD).header("content-type", "application/json");
    let body = Body::new(Full::new(Bytes::from_static(
        br#"{"thread": {"threadId": "t"}}"#,
    )));
    let answer = server.call(request.body(body).unwrap()).await.unwrap();
    assert_eq!(Arc::strong_count(&permit), idle + 1);
    let json = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(!json.is_empty());
    assert_eq!(Arc::strong_count(&permit), idle);
}

#[tokio::test]
async fn an_error_becomes_a_status_and_json() {
    let answer = post(b"{}", &[]).await;
    assert_eq!(answer.status, 404, "{answer:?}");
    let expected = json!({"code": "not_found", "message": "no such thread"});
    assert_eq!(answer.json(), expected);
    for (body, word) in [
        (&b"{"[..], "line 1"),
        (br#"{"thread": {"threadId": 1}}"#, "thread.threadId: "),
        (&[b' '; 3_000], "more than"),
    ] {
        let answer = post(body, &[]).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains(word), "{message}");
    }
}

#[tokio::test]
async fn compressed_requests_are_read_to_the_limit() {
    let gzip = |text: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let headers = [("content-encoding", "gzip")];
    let answer = post(&gzip(br#"{"thread": {"thread_id": "t"}}"#), &headers).await;
    assert_eq!(answer.json(), json!({"thread": {"threadId": "t"}}));
    let answer = post(&gzip(&[b' '; 100_000]), &headers).await;
    assert_eq!(answer.status, 400, "{answer:?}");
}

#[tokio::test]
async fn an_answer_to_head_has_the_headers_alone() {
    for path in [
        "/",
        "/openapi.json",
        "/console/",
        "/console/app.js",
        "/none",
    ] {
        let full = send(config(), Request::get(path), b"").await;
        let head = send(config(), Request::head(path), b"").await;
        assert_eq!((head.status, &head.headers), (full.status, &full.headers));
        assert_eq!(full.headers["content-length"], full.body.len().to_string());
        assert!(!full.body.is_empty() && head.body.is_empty(), "{head:?}");
    }
}

#[tokio::test]
async fn a_page_of_an_allowed_origin_may_call() {
    let config = HttpConfig {
        cors_origins: vec!["https://app.example.com".to_owned()],
        ..config()
    };
    for (origin, allowed) in [
        ("https://app.example.com", true),
        ("https://evil.example.com", false),
    ] {
        let request = Request::options(GET_THREAD)
            .header("origin", origin)
            .header("access-control-request-method", "POST");
        let answer = send(config.clone(), request, b"").await;
        let found = answer.headers.get("access-control-allow-origin");
        assert_eq!(found.is_some(), allowed, "{answer:?}");
    }
}

#[tokio::test]
async fn a_passed_path_is_answered_inside() {
    let inside = service_fn(async |request: Request<Body>| {
        assert_eq!(request.uri().path(), "/passed");
        let mut response = Response::new(Body::new(Full::from("inside")));
        *response.status_mut() = http::StatusCode::ACCEPTED;
        Ok::<_, Infallible>(response)
    });
    for content_type in ["application/json", "application/grpc-web", "text/plain"] {
        let request = Request::post("/passed").header("content-type", content_type);
        let request = request.body(Body::empty()).unwrap();
        let mut server = HttpLayer::new(config()).layer(inside);
        let answer = server.call(request).await.unwrap();
        assert_eq!(answer.status().as_u16(), 202, "{content_type}");
    }
    let elsewhere = Request::post("/passed/more").header("content-type", "text/plain");
    assert_eq!(send(config(), elsewhere, b"").await.status, 404);
}

#[tokio::test]
async fn a_server_without_keys_is_called_by_local_names_only() {
    let open = HttpConfig {
        open: true,
        ..config()
    };
    for (host, status) in [("localhost:1", 200), ("evil.example.com", 403)] {
        let request = Request::post(GET_THREAD)
            .header("host", host)
            .header("content-type", "application/json");
        let answer = send(open.clone(), request, br#"{"thread": {"threadId": "t"}}"#).await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
}

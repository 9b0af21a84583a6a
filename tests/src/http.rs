//! Calls over HTTP/1.1, as `curl` sends them.

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::Key;

/// A caller over HTTP/1.1, with a new connection for each request.
#[derive(Clone, Debug)]
pub struct Http {
    addr: String,
    authorization: Option<String>,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct HttpAnswer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A message of a stream, with its flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub flags: u8,
    pub data: Bytes,
}

impl Http {
    /// A caller with a key.
    pub fn new(addr: &str, key: Key) -> Self {
        Self::with_authorization(addr, Some(format!("Bearer {}", key.secret())))
    }

    /// A caller with any `authorization` header, or none.
    pub fn with_authorization(addr: &str, authorization: Option<String>) -> Self {
        Self {
            addr: addr.to_owned(),
            authorization,
        }
    }

    /// Sends a request and gives back the head of its answer, with the body to come.
    ///
    /// # Panics
    /// If there is no answer.
    pub async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> http::Response<Incoming> {
        let stream = TcpStream::connect(&self.addr).await.unwrap();
        let (mut client, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", &self.addr);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        client.send_request(request).await.unwrap()
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Panics
    /// If there is none.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> HttpAnswer {
        let answer = self.open(method, path, headers, body).await;
        let (parts, body) = answer.into_parts();
        HttpAnswer {
            status: parts.status,
            headers: parts.headers,
            body: body.collect().await.unwrap().to_bytes(),
        }
    }

    /// Calls a method, named `Service/Method`, with JSON.
    pub async fn call(&self, method: &str, request: &Value) -> HttpAnswer {
        self.call_with(method, &[], request.to_string()).await
    }

    /// Calls a method with headers and any text in the place of JSON.
    pub async fn call_with(
        &self,
        method: &str,
        headers: &[(&str, &str)],
        json: impl Into<Bytes>,
    ) -> HttpAnswer {
        let path = format!("/recollect.v1.{method}");
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        self.send("POST", &path, &all, json).await
    }

    /// Calls a method that streams with JSON, and gives back the envelopes of its answer.
    pub async fn stream(&self, method: &str, requests: &[Value]) -> Vec<Envelope> {
        let path = format!("/recollect.v1.{method}");
        let headers = [("content-type", "application/connect+json")];
        let body: Vec<u8> = requests
            .iter()
            .flat_map(|request| framed(0, request.to_string().as_bytes()))
            .collect();
        let answer = self.send("POST", &path, &headers, body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.headers["content-type"], "application/connect+json");
        envelopes(&answer.body)
    }
}

impl HttpAnswer {
    /// The body as JSON.
    ///
    /// # Panics
    /// If it is not.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The JSON of a call that went well.
    ///
    /// # Panics
    /// If it did not.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()
    }
}

/// A message with its flags and length in front.
pub fn framed(flags: u8, data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap();
    [&[flags][..], &length.to_be_bytes(), data].concat()
}

/// The messages of a body.
///
/// # Panics
/// If the last one is not whole.
pub fn envelopes(mut body: &[u8]) -> Vec<Envelope> {
    let mut found = Vec::new();
    while let Some((header, rest)) = body.split_at_checked(5) {
        let length = u32::from_be_bytes(header[1..].try_into().unwrap()) as usize;
        let (data, rest) = rest.split_at(length);
        found.push(Envelope {
            flags: header[0],
            data: Bytes::copy_from_slice(data),
        });
        body = rest;
    }
    assert!(body.is_empty(), "{} bytes are left", body.len());
    found
}

impl Envelope {
    /// Its JSON.
    ///
    /// # Panics
    /// If it has none.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.data).unwrap()
    }
}

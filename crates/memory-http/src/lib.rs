#![doc = include_str!("../README.md")]

mod connect;
mod console;
mod contract;
mod cors;
mod keep_alive;
mod layer;
mod openapi;
mod pages;
mod until_sent;

use http::Response;
use tonic::Status;
use tonic::body::Body;

pub use cors::{InvalidOrigin, check_origin};
pub use layer::{Http, HttpLayer};
pub use openapi::document as openapi;
pub use pages::problem;
pub use until_sent::UntilSent;

/// What the layer has to know of the server.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// The origins whose pages may call from a browser, such as `https://app.example.com`;
    /// `*`: all. They have passed [`check_origin`].
    pub cors_origins: Vec<String>,
    /// Whether calls need no credential. Then only requests to `localhost` or to an IP
    /// address are served, so that no web page reaches the server by rebinding a name.
    pub open: bool,
    /// Paths that the stack inside answers itself, whatever the content type, such as `/mcp`.
    pub passed: &'static [&'static str],
    /// Whether to serve the console at `/console/`.
    pub console: bool,
    /// The largest message in protobuf, in bytes. JSON may have twice as many.
    pub max_message_bytes: usize,
    /// Services whose answers are not compressed, by their full names.
    pub uncompressed: &'static [&'static str],
    /// Turns a request that cannot be read into the status of its call.
    pub refuse: fn(Unreadable) -> Status,
}

/// The answer over HTTP to a request that a status refuses.
pub fn failed(status: &Status) -> Response<Body> {
    connect::failed(status)
}

/// Why a request is not a message of its method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The path of the wrong field, such as `messages[0].role`; `None` where no field is.
    pub field: Option<String>,
    /// What is wrong, with the position in the JSON.
    pub problem: String,
}

impl Unreadable {
    fn new(problem: impl Into<String>) -> Self {
        Self {
            field: None,
            problem: problem.into(),
        }
    }
}

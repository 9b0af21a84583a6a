//! What the layer has to know of the server.

use tonic::Status;

use crate::unreadable::Unreadable;

/// What the layer has to know of the server.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// The origins whose pages may call from a browser, such as `https://app.example.com`;
    /// `*`: all. They have passed [`check_origin`](crate::check_origin).
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

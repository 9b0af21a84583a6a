//! The same service over HTTP: JSON and protobuf in the Connect protocol, and gRPC-web.

mod browsers;
mod clients;
pub mod errors;
mod requests;
mod same_answers;
mod streams;
mod unread;

use recollect_tests::{Http, Key, PLAIN};

/// A caller of the server without a model, for tenant `acme`.
fn http() -> Http {
    Http::new(&PLAIN.ready().addr, Key::Acme)
}

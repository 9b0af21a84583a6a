#![doc = include_str!("../README.md")]
#![expect(
    clippy::disallowed_methods,
    reason = "a test server, which answers with statuses"
)]

mod collections;
mod convert;
mod points;
mod remote;
mod server;
mod state;

pub use remote::RemoteCollections;
pub use server::TestQdrant;
pub use state::Fault;

#![doc = include_str!("../README.md")]

mod answer;
mod available;
mod caller;
mod deadline;
mod error;
mod named;
mod quota;
mod redaction;
pub mod request;
pub mod status;
mod transport;

pub use answer::answered;
pub use available::available;
pub use caller::{Standing, admin_of, caller_of, look_up, require_scope, standing_of, unbound};
pub use deadline::{Deadline, remaining, until};
pub use error::{ApiError, RETRY_OVERLOADED};
pub use named::{Name, Requests, names};
pub use quota::Quota;
pub use redaction::{Redacted, Redactor};
pub use transport::unreadable;

#![doc = include_str!("../README.md")]

mod caller;
mod deadline;
mod error;
mod quota;
pub mod request;
pub mod status;
mod transport;

pub use caller::{Standing, admin_of, caller_of, look_up, require_scope, standing_of};
pub use deadline::{Deadline, remaining, until};
pub use error::{ApiError, RETRY_OVERLOADED};
pub use quota::Quota;
pub use transport::unreadable;

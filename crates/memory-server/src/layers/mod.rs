//! The layers of every call, inside of the translation of HTTP and of MCP, from the outside in: metrics and traces, the record of
//! refused changes, errors of the transport, panics, the deadline, authentication, the
//! rate and concurrency limits, the bounds of the caller, and redaction. The deadline is outside the limits, because an answer that
//! it ends has to release its permit; authentication is, because calls without a valid key
//! must not use up what others may use.

mod around;
mod auth;
mod body;
mod bounds;
mod concurrency;
mod credentials;
mod deadline;
mod ending;
mod first_request;
mod gate;
mod key;
mod message;
mod methods;
mod observe;
mod panic;
mod rate;
mod record_refusals;
mod redact;
mod repair;
mod scopes;
mod unread;

pub(crate) use around::Wrap;
pub(crate) use auth::Auth;
pub(crate) use bounds::Bounds;
pub(crate) use concurrency::Concurrency;
pub(crate) use deadline::Deadlines;
pub(crate) use first_request::FirstRequest;
pub(crate) use gate::Gate;
pub(crate) use methods::Methods;
pub(crate) use observe::{Observe, describe_metrics};
pub(crate) use panic::CatchPanic;
pub(crate) use rate::Rates;
pub(crate) use record_refusals::RecordRefusals;
pub(crate) use redact::Redact;
pub(crate) use repair::Repair;
pub(crate) use unread::Unread;

use futures::future::BoxFuture;
use tonic::body::Body;

type Request = http::Request<Body>;
type Response = http::Response<Body>;
type Answer<E> = BoxFuture<'static, Result<Response, E>>;

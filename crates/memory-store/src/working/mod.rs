//! Working memory: what a model currently needs of one session.
//!
//! Its messages are those on the path to the thread's head that no summary covers,
//! so appending adds to it. Only its data, its records and the model's name have
//! separate rows.

mod align;
mod call;
mod change;
mod put;
mod read;

pub use put::{PutDone, WorkingPut, WorkingTarget};
pub use read::{NamedModel, WorkingMemory};

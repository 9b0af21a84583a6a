//! Working memory: the part of one session that a model currently needs.
//!
//! Its messages are the ones on the path to the thread's head that no summary covers,
//! so appending adds to it. Only its data, its records and the model's name have
//! separate rows.

mod align;
mod call;
mod change;
mod put;
mod read;

pub use call::{WorkingPut, WorkingTarget};
pub use put::PutDone;
pub use read::{NamedModel, WorkingMemory};

//! Working memory: what a model needs of one session right now.
//!
//! Its messages are those on the way to the thread's head that no summary covers,
//! so appending adds to it. Only its data, its records and the model's name are
//! rows of its own.

mod align;
mod call;
mod change;
mod put;
mod read;

pub use put::{PutDone, WorkingPut, WorkingTarget};
pub use read::{NamedModel, WorkingMemory};

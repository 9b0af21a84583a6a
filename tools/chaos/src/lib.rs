//! Seeded scenarios against real processes, each of which ends with a report. The program
//! `recollect-chaos` runs them at length; the end-to-end tests run short forms.
//!
//! The seed determines what is sent, which process is killed, and the pauses between the
//! kills. It does not determine how the operating system interleaves processes: a replay
//! repeats the schedule, not the instant.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a scenario fails by panicking"
)]

mod attempts;
mod callers;
mod clock;
mod disk;
mod drain;
mod follower;
mod fuzz;
pub mod histories;
mod kill;
mod ledger;
mod memory;
mod objects;
mod overload;
mod progress;
mod push;
mod qdrant;
mod reads;
mod report;
mod scene;
mod sockets;
mod wire;
mod writers;

pub use clock::{ClockBack, Clocks, clock};
pub use disk::{Disk, FullDisk, disk};
pub use drain::{Drain, drain};
pub use fuzz::{Fuzz, fuzz};
pub use histories::{Histories, Plant, histories as record_histories};
pub use kill::{Kill, kill};
pub use objects::{SlowObjects, objects};
pub use overload::{Overload, overload};
pub use progress::Progress;
pub use push::{Push, push};
pub use qdrant::{QdrantFault, QdrantFaults, qdrant};
pub use reads::{Layers, Reads, reads};
pub use report::Report;
pub use sockets::{Sockets, sockets};

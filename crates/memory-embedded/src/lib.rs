//! The embedded default: a data directory for the exclusive use of one process, with a
//! private Postgres cluster that is started and stopped with it.
//!
//! - [`DataDir`] is the directory and its lock.
//! - [`Cluster`] is Postgres: it makes the cluster once, starts it, watches it
//!   and stops it. It listens on a Unix socket alone, in a directory that
//!   only its owner may enter.
//! - [`guard`] is what a second copy of this program does so that Postgres never
//!   outlives the process that started it.

mod account;
mod binaries;
mod cluster;
mod data_dir;
mod error;
mod guard;
mod home;
mod init;
mod log;
mod orphan;
mod postmaster;
mod rewrite;
mod socket_dir;

pub use binaries::Binaries;
pub use cluster::{Cluster, ClusterTimes, running_url};
pub use data_dir::DataDir;
pub use error::EmbeddedError;
pub use guard::{GUARD_COMMAND, exec_guarded};
pub use rewrite::rewrite_files;

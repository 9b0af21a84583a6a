#![doc = include_str!("../README.md")]

mod checksum;
mod digest;
mod id;
mod imported;
mod thread;
mod units;

pub use checksum::{ExportChecksum, check_summary};
pub use digest::{UnitDigest, canonical_object};
pub use id::{digest_id, id_of};
pub use imported::{MemoryOutcome, memory_outcome};
pub use thread::{ExportedThread, message_digest};
pub use units::{app_policy_digest, document_digest, file_digest, memory_digest, plan_digest};

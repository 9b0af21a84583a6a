#![doc = include_str!("../README.md")]

pub mod check;
pub mod convert;
pub mod deletion;
pub mod duration_text;
pub mod file;
pub mod heap;
mod ids;
mod invalid;
pub mod json;
pub mod key;
pub mod limits;
pub mod listing;
pub mod memory;
pub mod message;
mod naming;
pub mod page;
pub mod policy;
pub mod precondition;
pub mod proto;
pub mod quotation;
pub mod revision;
pub mod size;
pub mod text;
pub mod thread;

pub use ids::{
    AppId, MemoryId, MessageId, MessageName, RequestId, SessionKey, TenantId, ThreadId, UserId,
};
pub use invalid::{Fields, Invalid, InvalidFields};

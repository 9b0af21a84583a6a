//! The code generated from `proto/recollect/v1`. It stops at the edge: only
//! conversions and handlers name these types.

#![allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    reason = "generated code; the proto files carry the documentation"
)]

tonic::include_proto!("recollect.v1");

/// The encoded `FileDescriptorSet` of the contract and what it imports.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/recollect.bin"));

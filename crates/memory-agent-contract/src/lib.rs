#![doc = include_str!("../README.md")]

pub mod checkpoint;
pub mod convert;
pub mod document;
pub mod memory_file;
pub mod node;
pub mod plan;

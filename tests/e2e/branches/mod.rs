//! A thread is a tree: replies make branches, and the head selects one.

pub mod heads;
mod trees;

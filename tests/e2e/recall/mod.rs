//! Recall and search find what belongs to the caller, and say why and how fresh it is.

pub mod diary;
mod explanations;
mod freshness;
mod matches;
pub mod qdrant;
mod search;
mod unindexed;

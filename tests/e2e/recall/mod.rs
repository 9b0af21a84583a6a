//! Recall and search find what belongs to the caller, and say why and how fresh it is.

mod cli;
mod comparing;
pub mod diary;
mod endpoint;
mod explanations;
mod freshness;
mod loops;
mod matches;
mod model_change;
mod passages;
pub mod qdrant;
mod questions;
mod ranking;
mod relevance;
mod search;
mod times;
mod unindexed;

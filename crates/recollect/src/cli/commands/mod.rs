//! One module for each command.

pub mod append;
pub mod config;
pub mod context;
pub mod deletion;
pub mod demo;
pub mod dev;
pub mod doctor;
pub mod export;
pub mod health;
pub mod history;
pub mod import;
pub mod index;
pub mod keys;
pub mod mcp;
pub mod memory;
pub mod migrate;
pub mod observations;
pub mod owners;
pub mod plan;
pub mod recall;
pub mod serve;
pub mod status;
pub mod summary;
pub mod thread;
pub mod threads;
pub mod usage;
pub mod verify;
pub mod watch;
pub mod working_memory;

mod checks;
mod database_checks;
mod listing;
mod searchable;
mod signals;
mod startup;

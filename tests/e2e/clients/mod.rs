//! Programs that use the service: the command line, grpcurl, the examples in Python, and
//! clients in several languages.

mod adapters;
mod cli;
mod commands;
mod languages;
mod memory_bench;
mod packages;
mod tools;

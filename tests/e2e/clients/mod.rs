//! Programs that use the service: the command line, grpcurl, the examples in Python, and
//! generated clients in several languages.

mod cli;
mod languages;
mod tools;

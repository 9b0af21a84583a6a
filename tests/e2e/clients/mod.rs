//! Programs that use the service: the command line, grpcurl, and a client in Python.

mod cli;
mod tools;

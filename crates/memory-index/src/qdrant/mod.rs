//! The index in a Qdrant cluster.

mod addresses;
mod connection;
mod erase;
mod index;
mod points;
mod setup;
mod wire;

pub use connection::QdrantIndex;

//! Threads: their life, the keys that name their sessions, and ephemeral ones.

pub mod ephemeral;
mod lifecycle;
mod session_keys;

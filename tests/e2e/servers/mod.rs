//! Servers start, stop, fail and recover without losing what they have acknowledged.

mod backup;
mod crash;
mod degraded;
mod embedded;
mod external;
mod operations;
mod pooler;
mod two_databases;
mod windows;

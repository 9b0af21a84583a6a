//! What a process does.

/// Which parts a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roles {
    /// The gRPC services.
    pub api: bool,
    /// The background jobs: indexing, expiry.
    pub worker: bool,
}

impl Roles {
    /// Everything in one process.
    pub const ALL: Self = Self {
        api: true,
        worker: true,
    };
    /// The gRPC services alone.
    pub const API: Self = Self {
        api: true,
        worker: false,
    };
    /// The background jobs alone.
    pub const WORKER: Self = Self {
        api: false,
        worker: true,
    };
}

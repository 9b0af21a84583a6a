//! The priority of threads that work in the background: calls come first.

/// As the command `nice` counts it.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Lowers the priority of the calling thread, and of the threads that it starts later.
pub fn lower_thread_priority() {
    // Elsewhere it would be the priority of the process.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "the priority of a background thread cannot be lowered");
    }
}

//! The priority of threads that work in the background: calls come first.

/// As the command `nice` counts it.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Lowers the priority of the calling thread, and of those that it starts from then on.
pub(crate) fn lower() {
    // Elsewhere it would be the priority of the process.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "the priority of a background thread stays as it is");
    }
}

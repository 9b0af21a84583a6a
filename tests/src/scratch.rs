//! Where tests keep their files.

use std::path::Path;

use rustix::fs::statvfs;

/// A file system in memory, on Linux.
const MEMORY: &str = "/dev/shm";
/// The files of the tests that run at the same time, several times over.
const ROOM: u64 = 4 * 1024 * 1024 * 1024;

/// Makes temporary directories in memory where there is room. Each server of a test copies a
/// cluster of a thousand small files and waits for the disk at each commit; on a disk that takes
/// a third of the time of all tests. `TMPDIR` overrides it. Call it before the first temporary
/// directory is made.
pub(crate) fn use_memory() {
    if std::env::var_os("TMPDIR").is_some() {
        return;
    }
    let room = statvfs(MEMORY).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    if room.is_ok_and(|room| room >= ROOM) {
        // Another place was set already.
        let _ = tempfile::env::override_temp_dir(Path::new(MEMORY));
    }
}

//! Ends Postgres with the process that started it.
//!
//! A process that is killed cannot stop Postgres. So Postgres is started through a
//! second copy of this program, which asks the kernel for a SIGINT when its parent
//! dies, and then executes Postgres. If the kernel does not support that, the next start
//! stops the Postgres that was left behind (see `orphan`).

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The hidden command of the program under which it becomes Postgres.
pub const GUARD_COMMAND: &str = "internal-guard";

/// Becomes the program `args[1]` with the arguments after it, to be interrupted
/// when the process `args[0]` dies. Returns only when that fails.
pub fn exec_guarded(args: &[OsString]) -> std::io::Error {
    let invalid = || std::io::Error::from(std::io::ErrorKind::InvalidInput);
    let [parent, program, rest @ ..] = args else {
        return invalid();
    };
    let Some(parent) = parent.to_str().and_then(|text| text.parse::<i32>().ok()) else {
        return invalid();
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        if let Err(errno) = set_parent_process_death_signal(Some(Signal::INT)) {
            return errno.into();
        }
        // It may have died before the kernel was asked.
        if getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(parent) {
            return std::io::ErrorKind::BrokenPipe.into();
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
    Command::new(program).args(rest).exec()
}

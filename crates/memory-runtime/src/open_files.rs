//! The limit of open files of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Where no limit is set.
const UNLIMITED: u64 = 1_048_576;

/// The most files and connections that this process may have open.
pub fn open_files() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(UNLIMITED);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Raises the limit as far as the system allows. Many systems begin with 1,024, for programs that
/// use `select`.
pub fn raise_open_files() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let most = maximum.unwrap_or(UNLIMITED);
    if current.is_none_or(|current| current < most) {
        // A system that refuses keeps the limit.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(most),
                maximum,
            },
        );
    }
}

//! Finds the binaries that the tests run.

use std::env;
use std::path::{Path, PathBuf};

/// The repository's root.
pub fn project_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The `recollect` binary. See [`built_binary`].
pub fn recollect_binary() -> PathBuf {
    built_binary("recollect")
}

/// A binary of the workspace, in the target directory of the running program.
///
/// # Panics
/// If it does not exist; the message names the command that builds it.
pub fn built_binary(package: &str) -> PathBuf {
    // target/debug/deps/e2e-0123456789abcdef, or target/debug/recollect-chaos
    let program = env::current_exe().unwrap();
    let dir = program.parent().unwrap();
    let profile = match dir.ends_with("deps") {
        true => dir.parent().unwrap(),
        false => dir,
    };
    let binary = profile.join(format!("{package}{}", env::consts::EXE_SUFFIX));
    assert!(
        binary.is_file(),
        "{} is missing; build it with `cargo build -p {package}`",
        binary.display()
    );
    binary
}

/// A tool that the set-up puts into `.setup/bin`, or that is on the PATH.
pub fn setup_tool(name: &str) -> Option<PathBuf> {
    let own = project_dir().join(".setup/bin");
    env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .fold(vec![own], |mut dirs, dir| {
            dirs.push(dir);
            dirs
        })
        .into_iter()
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
}

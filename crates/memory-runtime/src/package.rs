//! Files that come with this program.

use std::path::PathBuf;

/// `lib/recollect` beside the `bin` that this program is in, where packages of Recollect put the
/// embedding model (`models/NAME`), ONNX Runtime (`onnxruntime-VERSION`) and Postgres
/// (`postgres`). `None` for a program that was built from source.
///
/// A link to the program is followed: `/usr/local/bin/recollect` may lead to
/// `/opt/recollect/bin/recollect`.
pub fn package_dir() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.canonicalize().ok()?;
    let directory = program.parent()?.parent()?.join("lib/recollect");
    directory.is_dir().then_some(directory)
}

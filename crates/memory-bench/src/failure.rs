//! Errors of a run.

pub use memory_datasets::Failure;

/// Prints an error with its causes on standard error, after the program's name.
pub fn report(program: &str, failure: &Failure) {
    eprintln!("{program}: {failure}");
    let mut cause = failure.source();
    while let Some(inner) = cause {
        eprintln!("  because: {inner}");
        cause = inner.source();
    }
}

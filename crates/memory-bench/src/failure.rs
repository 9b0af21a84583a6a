//! Errors of a run.

/// An error that ends the run.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Prints an error with its causes on standard error, after the program's name.
pub fn report(program: &str, failure: &Failure) {
    eprintln!("{program}: {failure}");
    let mut cause = failure.source();
    while let Some(inner) = cause {
        eprintln!("  because: {inner}");
        cause = inner.source();
    }
}

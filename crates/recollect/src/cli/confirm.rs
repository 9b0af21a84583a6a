//! Asks before something is changed.

use std::io::{self, Write as _};

use crate::cli::failure::Failure;

/// Whether the person at the terminal says yes to a question. Anything but `y` or `yes` is a no.
///
/// # Errors
/// When the answer cannot be read.
pub fn is_confirmed(question: &str) -> Result<bool, Failure> {
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    io::stderr()
        .flush()
        .and_then(|()| io::stdin().read_line(&mut answer))
        .map_err(|error| Failure::machine(format!("cannot read the answer: {error}"), ""))?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

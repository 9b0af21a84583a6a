//! Signals to processes.

use std::process::Command;

use crate::Failure;

/// A signal.
#[derive(Clone, Copy)]
pub enum Signal {
    /// Asks a process to end.
    Terminate,
    /// Keeps it from running.
    Stop,
    /// Lets it run again.
    Continue,
}

/// Sends a signal.
pub fn signal(signal: Signal, pid: u32) -> Result<(), Failure> {
    let kind = match signal {
        Signal::Terminate => "-TERM",
        Signal::Stop => "-STOP",
        Signal::Continue => "-CONT",
    };
    let status = Command::new("kill").args([kind, &pid.to_string()]).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("kill {kind} {pid}: {status}").into()),
        Err(error) => Err(format!("kill could not be run: {error}").into()),
    }
}

//! Tests that cannot run on a machine.

/// A test that could not run on this machine, and why. It is reported as
/// ignored.
#[derive(Debug)]
pub struct Skipped(pub String);

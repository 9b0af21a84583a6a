//! Observes stretches ahead, swaps them in, and condenses observations.

use super::{Due, Failure, Look};

pub(super) async fn step(_look: &Look<'_>) -> Result<Due, Failure> {
    Ok(Due::NEVER)
}

//! The changes of an engine while a copy of it is made.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexSet;
use qdrant_edge::{PointId, UpdateOperation};

use super::engine::not_prepared;
use crate::error::IndexError;

/// The changes of the former engine that the copy does not have yet.
#[derive(Default)]
pub(super) struct Log(Mutex<State>);

#[derive(Default)]
struct State {
    /// Points that were written or deleted, in the order of their first change: the engine
    /// stores points next to each other that were written one after the other.
    points: IndexSet<PointId>,
    /// Deletions of selected points.
    deletions: Vec<UpdateOperation>,
    /// The copy is no longer needed.
    is_abandoned: bool,
}

/// The next changes of the copy.
pub(super) struct Changed {
    pub(super) points: Vec<PointId>,
    pub(super) deletions: Vec<UpdateOperation>,
}

impl Log {
    /// Adds an operation.
    pub(super) fn add(&self, operation: &UpdateOperation) {
        let UpdateOperation::PointOperation(changed) = operation else {
            return;
        };
        let mut state = self.lock();
        match changed.point_ids() {
            Some(points) => state.points.extend(points),
            None => state.deletions.push(operation.clone()),
        }
    }

    /// Ends the copy.
    pub(super) fn abandon(&self) {
        self.lock().is_abandoned = true;
    }

    /// Fails if the copy was abandoned.
    pub(super) fn check(&self) -> Result<(), IndexError> {
        match self.lock().is_abandoned {
            true => Err(not_prepared()),
            false => Ok(()),
        }
    }

    /// Takes the logged changes. Fails if the copy was abandoned.
    pub(super) fn take(&self) -> Result<Changed, IndexError> {
        self.check()?;
        let mut state = self.lock();
        Ok(Changed {
            points: mem::take(&mut state.points).into_iter().collect(),
            deletions: mem::take(&mut state.deletions),
        })
    }

    /// The number of logged changes.
    pub(super) fn len(&self) -> usize {
        let state = self.lock();
        state.points.len() + state.deletions.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;

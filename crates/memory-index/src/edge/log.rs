//! The changes of an engine while a copy of it is made, and the pace of the writer meanwhile.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indexmap::IndexSet;
use qdrant_edge::{PointId, UpdateOperation};

use super::engine::not_prepared;
use crate::error::IndexError;

/// While a copy catches up, the writer changes at most this many points, and one more for each
/// [`REPLAYED_FOR_EACH`] points that were copied. Without that a copy, which is written as slowly as the
/// engine, would never catch up with an import.
const AHEAD: usize = 1_000;
const REPLAYED_FOR_EACH: usize = 4;
/// The longest wait of the writer before it changes points, even if no point is copied meanwhile.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The changes of the former engine that the copy does not have yet.
#[derive(Default)]
pub(super) struct Log {
    state: Mutex<State>,
    replayed: Condvar,
}

#[derive(Default)]
struct State {
    /// Points that were written or deleted, in the order of their first change: the engine
    /// stores points next to each other that were written one after the other.
    points: IndexSet<PointId>,
    /// Deletions of selected points.
    deletions: Vec<UpdateOperation>,
    /// The copy is no longer needed.
    is_abandoned: bool,
    /// `None` unless the copy catches up.
    pace: Option<Pace>,
}

/// The numbers of points changed since a copy began to catch up.
#[derive(Default)]
struct Pace {
    by_writer: usize,
    in_copy: usize,
}

/// The next changes of the copy.
pub(super) struct Changed {
    pub(super) points: Vec<PointId>,
    pub(super) deletions: Vec<UpdateOperation>,
}

/// A copy that catches up, until this is dropped.
pub(super) struct CatchingUp<'a>(&'a Log);

impl Log {
    /// Adds an operation.
    pub(super) fn add(&self, operation: &UpdateOperation) {
        let UpdateOperation::PointOperation(changed) = operation else {
            return;
        };
        let mut state = self.lock();
        match changed.point_ids() {
            Some(points) => {
                if let Some(pace) = &mut state.pace {
                    pace.by_writer += points.len();
                }
                state.points.extend(points);
            }
            None => state.deletions.push(operation.clone()),
        }
    }

    /// Ends the copy.
    pub(super) fn abandon(&self) {
        self.lock().is_abandoned = true;
        self.end_pace();
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

    /// Begins to hold the writer back, until the returned value is dropped.
    pub(super) fn catch_up(&self) -> CatchingUp<'_> {
        self.lock().pace = Some(Pace::default());
        CatchingUp(self)
    }

    /// Notes that `points` were copied.
    pub(super) fn note_replayed(&self, points: usize) {
        if let Some(pace) = &mut self.lock().pace {
            pace.in_copy += points;
        }
        self.replayed.notify_all();
    }

    /// Waits while a copy catches up and the writer is too far ahead.
    pub(super) fn keep_pace(&self) {
        let is_ahead = |state: &mut State| state.pace.as_ref().is_some_and(Pace::is_writer_ahead);
        let waited = self
            .replayed
            .wait_timeout_while(self.lock(), LONGEST_WAIT, is_ahead);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn end_pace(&self) {
        self.lock().pace = None;
        self.replayed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pace {
    fn is_writer_ahead(&self) -> bool {
        self.by_writer > AHEAD + self.in_copy / REPLAYED_FOR_EACH
    }
}

impl Drop for CatchingUp<'_> {
    fn drop(&mut self) {
        self.0.end_pace();
    }
}

#[cfg(test)]
mod tests;

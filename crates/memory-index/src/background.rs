//! Room for background work beside the calls of users.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

/// After the last call, the time during which background work still gives way.
const AFTERMATH: Duration = Duration::from_secs(1);

/// While users call, a batch is followed by a pause of this part of its duration.
const PAUSE: u32 = 4;

/// How long an import waits for room.
const LONGEST_WAIT_OF_IMPORTS: Duration = Duration::from_secs(5);

/// Bounds the background work of one process while users call it: of imports and of
/// indexing, half as many batches run at a time as there are cores, at least one, and each
/// batch is followed by a short pause. Indexing then leaves imports half of the time. Without
/// calls, indexing is not bounded. Clones share it.
#[derive(Clone, Debug)]
pub struct Background {
    batches: Arc<Semaphore>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    last_call: Option<Instant>,
    /// Imports that wait for room.
    waiting: usize,
    /// While imports wait, indexing waits for this time.
    turn_of_imports_until: Option<Instant>,
}

/// The work of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Import,
    Indexing,
}

/// The room of one batch. Dropping it makes room for the next.
#[derive(Debug)]
pub struct Room {
    background: Background,
    work: Work,
    entered: Instant,
    permit: Option<OwnedSemaphorePermit>,
}

impl Default for Background {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            batches: Arc::new(Semaphore::new((cores / 2).max(1))),
            state: Arc::default(),
        }
    }
}

impl Background {
    /// Notes that a user calls.
    pub fn note_call(&self) {
        self.state().last_call = Some(Instant::now());
    }

    /// Whether a user has called just now.
    pub fn is_called(&self) -> bool {
        let last = self.state().last_call;
        last.is_some_and(|last| last.elapsed() < AFTERMATH)
    }

    /// Waits, in turn, for room for a batch of imported messages, at most five seconds: an
    /// import does not wait for an index that does not answer.
    pub async fn import(&self) -> Room {
        let _waiting = Waiting::new(self);
        let room = timeout(LONGEST_WAIT_OF_IMPORTS, self.enter(Work::Import)).await;
        room.unwrap_or_else(|_elapsed| self.room(Work::Import, None))
    }

    /// Waits, in turn, for room to index a batch; at once while no user calls.
    pub async fn indexing(&self) -> Room {
        if !self.is_called() {
            return self.room(Work::Indexing, None);
        }
        if let Some(until) = self.turn_of_imports() {
            sleep_until(until).await;
        }
        self.enter(Work::Indexing).await
    }

    async fn enter(&self, work: Work) -> Room {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.batches).acquire_owned().await.ok();
        self.room(work, permit)
    }

    fn room(&self, work: Work, permit: Option<OwnedSemaphorePermit>) -> Room {
        Room {
            background: self.clone(),
            work,
            entered: Instant::now(),
            permit,
        }
    }

    fn turn_of_imports(&self) -> Option<Instant> {
        let state = self.state();
        state
            .turn_of_imports_until
            .filter(|until| state.waiting > 0 && *until > Instant::now())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else {
            return;
        };
        if !self.background.is_called() {
            return;
        }
        let (now, worked) = (Instant::now(), self.entered.elapsed());
        if self.work == Work::Indexing {
            self.background.state().turn_of_imports_until = Some(now + worked);
        }
        // Dropped outside a runtime, it makes room at once.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                sleep_until(now + worked / PAUSE).await;
                drop(permit);
            });
        }
    }
}

/// An import that waits for room.
struct Waiting<'a>(&'a Background);

impl<'a> Waiting<'a> {
    fn new(background: &'a Background) -> Self {
        background.state().waiting += 1;
        Self(background)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

#[cfg(test)]
mod tests;

//! Bounds background work while users call.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

/// Without calls for this time, background work is not bounded.
const IDLE_AFTER: Duration = Duration::from_secs(1);

/// While users call, the pause after a batch is its duration divided by this.
const PAUSE: u32 = 4;

/// How long an import waits for a slot.
const LONGEST_WAIT_OF_IMPORTS: Duration = Duration::from_secs(5);

/// Bounds the imports and the indexing of one process while users call it: one batch runs at a time
/// for every two cores, at least one, and a short pause follows each batch. Indexing leaves imports
/// half of the time. Without calls, indexing is not bounded. Clones share the bound.
#[derive(Clone, Debug)]
pub struct Background {
    batches: Arc<Semaphore>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    last_call: Option<Instant>,
    /// Imports that wait for a slot.
    waiting: usize,
    /// While imports wait, indexing waits until then.
    turn_of_imports_until: Option<Instant>,
}

/// The work of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Import,
    Indexing,
}

/// The slot of one batch. Dropping it releases the slot.
#[derive(Debug)]
pub struct Slot {
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
    /// Records a call of a user.
    pub fn note_call(&self) {
        self.state().last_call = Some(Instant::now());
    }

    /// Whether a user has called just now.
    pub fn is_called(&self) -> bool {
        let last = self.state().last_call;
        last.is_some_and(|last| last.elapsed() < IDLE_AFTER)
    }

    /// Waits, in turn, for the slot of a batch of imported messages, at most five seconds: an
    /// import does not wait for an index that does not answer.
    pub async fn import(&self) -> Slot {
        let _waiting = Waiting::new(self);
        let slot = timeout(LONGEST_WAIT_OF_IMPORTS, self.enter(Work::Import)).await;
        slot.unwrap_or_else(|_elapsed| self.slot(Work::Import, None))
    }

    /// Waits, in turn, for the slot to index a batch; at once while no user calls.
    pub async fn indexing(&self) -> Slot {
        if !self.is_called() {
            return self.slot(Work::Indexing, None);
        }
        if let Some(until) = self.turn_of_imports() {
            sleep_until(until).await;
        }
        self.enter(Work::Indexing).await
    }

    async fn enter(&self, work: Work) -> Slot {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.batches).acquire_owned().await.ok();
        self.slot(work, permit)
    }

    fn slot(&self, work: Work, permit: Option<OwnedSemaphorePermit>) -> Slot {
        Slot {
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

impl Drop for Slot {
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
        // Dropped outside a runtime, it releases the slot at once.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                sleep_until(now + worked / PAUSE).await;
                drop(permit);
            });
        }
    }
}

/// An import that waits for a slot.
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

//! Limits how many tests run their own servers at a time, and checks that they are marked.

use std::cell::Cell;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Tests' own servers that run at a time, besides the shared ones.
const SLOTS: usize = 3;

static TAKEN: Mutex<usize> = Mutex::new(0);
static FREED: Condvar = Condvar::new();

// Each test has its own thread.
thread_local! {
    static ALLOWED: Cell<bool> = const { Cell::new(false) };
    static TOOK: Cell<bool> = const { Cell::new(false) };
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Says whether the test of this thread may take slots.
pub(crate) fn allow(allowed: bool) {
    ALLOWED.set(allowed);
}

/// Whether the test of this thread has taken a slot.
pub(crate) fn taken() -> bool {
    TOOK.get()
}

/// How long the test of this thread has waited for slots.
pub(crate) fn waited() -> Duration {
    WAITED.get()
}

/// A slot for a server. Dropping it frees the slot.
pub(crate) struct Slot(());

impl Slot {
    /// Waits for the test's first slot. Further ones are granted at once: tests that wait
    /// for each other's second slot would wait forever.
    ///
    /// # Panics
    /// If the test is not marked.
    pub(crate) fn take() -> Self {
        assert!(
            ALLOWED.get(),
            "the test starts a server: mark it with #[apply(trial_with_own_server)]"
        );
        let start = Instant::now();
        let mut taken = TAKEN.lock().unwrap();
        if !TOOK.get() {
            taken = FREED.wait_while(taken, |taken| *taken >= SLOTS).unwrap();
        }
        *taken += 1;
        drop(taken);
        TOOK.set(true);
        WAITED.set(WAITED.get() + start.elapsed());
        Self(())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap() -= 1;
        FREED.notify_one();
    }
}

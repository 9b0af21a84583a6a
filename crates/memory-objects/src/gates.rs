//! Serializes flushes of one object within the process before they take a database
//! connection. A flush that waited does not repeat the work of the one before it.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Instant;

use tokio::sync::{Mutex, MutexGuard};

/// The number of gates. Two busy objects rarely share one.
const GATES: usize = 256;

/// Gates at which flushes of one object wait for each other. A flush names its object
/// by any text that identifies it.
pub struct Gates {
    gates: [Mutex<Option<Flushed>>; GATES],
    hasher: RandomState,
}

/// The last successful flush of a gate.
struct Flushed {
    name: String,
    /// Turns that waited before this moment are folded in.
    begin: Instant,
}

/// The exclusive right to flush an object in this process.
pub struct Gate<'a> {
    flushed: MutexGuard<'a, Option<Flushed>>,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            gates: std::array::from_fn(|_| Mutex::default()),
            hasher: RandomState::new(),
        }
    }
}

impl Gates {
    /// Waits until no other flush of the object is under way. `None` where one has
    /// begun and succeeded meanwhile: every turn that was there before this call
    /// is folded in.
    pub async fn enter(&self, name: &str) -> Option<Gate<'_>> {
        let arrival = Instant::now();
        let flushed = self.of(name).lock().await;
        let folded = flushed
            .as_ref()
            .is_some_and(|last| last.begin >= arrival && last.name == name);
        (!folded).then_some(Gate { flushed })
    }

    /// The right to flush, unless another flush is running.
    pub fn try_enter(&self, name: &str) -> Option<Gate<'_>> {
        let flushed = self.of(name).try_lock().ok()?;
        Some(Gate { flushed })
    }

    fn of(&self, name: &str) -> &Mutex<Option<Flushed>> {
        let hash = self.hasher.hash_one(name);
        &self.gates[hash as usize % GATES]
    }
}

impl Gate<'_> {
    /// Records that turns that waited at `begin` are folded in.
    pub fn succeeded(mut self, name: &str, begin: Instant) {
        *self.flushed = Some(Flushed {
            name: name.to_owned(),
            begin,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flush_that_waited_for_a_later_one_is_skipped() {
        let gates = Gates::default();
        let gate = gates.enter("one").await.unwrap();
        assert!(gates.try_enter("one").is_none());
        let waiting = gates.enter("one");
        let finish = async { gate.succeeded("one", Instant::now()) };
        let (waited, ()) = tokio::join!(waiting, finish);
        assert!(waited.is_none(), "a flush that began later has done it");
        assert!(gates.enter("one").await.is_some(), "who comes now");
    }

    #[tokio::test]
    async fn a_flush_that_waited_for_an_earlier_or_failed_one_runs() {
        let gates = Gates::default();
        for fails in [false, true] {
            let begin = Instant::now();
            let gate = gates.enter("one").await.unwrap();
            let waiting = gates.enter("one");
            let finish = async {
                if !fails {
                    gate.succeeded("one", begin);
                }
            };
            let (waited, ()) = tokio::join!(waiting, finish);
            assert!(waited.is_some());
        }
    }
}

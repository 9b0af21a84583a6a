//! Serializes flushes of one node within the process before they take a connection. A
//! flush that waited does not repeat the work of the one before it.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Instant;

use memory_contract::TenantId;
use tokio::sync::{Mutex, MutexGuard};

use super::Node;

/// Gates. Two busy nodes rarely share one.
const GATES: usize = 256;

/// Gates at which flushes of one node wait for each other.
pub(crate) struct Gates {
    gates: [Mutex<Option<Flushed>>; GATES],
    hasher: RandomState,
}

/// The last successful flush of a gate.
struct Flushed {
    tenant: TenantId,
    node: Node,
    /// Turns that waited before this moment are folded in.
    begin: Instant,
}

/// The exclusive right to flush a node in this process.
pub(super) struct Gate<'a> {
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
    /// Waits until no other flush of the node is under way. `None` where one has
    /// begun and succeeded meanwhile: every turn that was there before this call
    /// is folded in.
    pub(super) async fn enter(&self, tenant: &TenantId, node: &Node) -> Option<Gate<'_>> {
        let arrival = Instant::now();
        let flushed = self.of(tenant, node).lock().await;
        let folded = flushed.as_ref().is_some_and(|last| {
            last.begin >= arrival && last.tenant == *tenant && last.node == *node
        });
        (!folded).then_some(Gate { flushed })
    }

    /// The right to flush, unless another flush is running.
    pub(super) fn try_enter(&self, tenant: &TenantId, node: &Node) -> Option<Gate<'_>> {
        let flushed = self.of(tenant, node).try_lock().ok()?;
        Some(Gate { flushed })
    }

    fn of(&self, tenant: &TenantId, node: &Node) -> &Mutex<Option<Flushed>> {
        let hash = self.hasher.hash_one((tenant.as_str(), node));
        &self.gates[hash as usize % GATES]
    }
}

impl Gate<'_> {
    /// Records that turns that waited at `begin` are folded in.
    pub(super) fn succeeded(mut self, tenant: &TenantId, node: &Node, begin: Instant) {
        *self.flushed = Some(Flushed {
            tenant: tenant.clone(),
            node: node.clone(),
            begin,
        });
    }
}

#[cfg(test)]
mod tests {
    use memory_contract::ThreadId;

    use super::*;

    fn node(id: &str) -> (TenantId, Node) {
        let node = Node {
            thread: ThreadId::from(uuid::Uuid::nil()),
            id: id.to_owned(),
        };
        (TenantId::new("t"), node)
    }

    #[tokio::test]
    async fn a_flush_that_waited_for_a_later_one_is_skipped() {
        let gates = Gates::default();
        let (tenant, one) = node("one");
        let gate = gates.enter(&tenant, &one).await.unwrap();
        assert!(gates.try_enter(&tenant, &one).is_none());
        let waiting = gates.enter(&tenant, &one);
        let finish = async { gate.succeeded(&tenant, &one, Instant::now()) };
        let (waited, ()) = tokio::join!(waiting, finish);
        assert!(waited.is_none(), "a flush that began later has done it");
        assert!(gates.enter(&tenant, &one).await.is_some(), "who comes now");
    }

    #[tokio::test]
    async fn a_flush_that_waited_for_an_earlier_or_failed_one_runs() {
        let gates = Gates::default();
        let (tenant, one) = node("one");
        for fails in [false, true] {
            let begin = Instant::now();
            let gate = gates.enter(&tenant, &one).await.unwrap();
            let waiting = gates.enter(&tenant, &one);
            let finish = async {
                if !fails {
                    gate.succeeded(&tenant, &one, begin);
                }
            };
            let (waited, ()) = tokio::join!(waiting, finish);
            assert!(waited.is_some());
        }
    }
}

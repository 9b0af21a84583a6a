//! Turns of the changes of one user's files within this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use memory_contract::TenantId;
use memory_database::StoreError;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};
use tokio::time::timeout;

/// How long a change waits for its turn.
const WAIT: Duration = Duration::from_secs(30);
/// Turns that are kept before those that no change has are forgotten.
const KEPT: usize = 1_000;

/// A tenant, and what stands for a user of it.
type Owner = (TenantId, Vec<u8>);
/// Turns that a change has or waits for.
type Taken = HashMap<Owner, Weak<Turn<()>>>;

/// Lets the changes of one user's files come one after the other before they take a connection:
/// those that wait for the lock in Postgres would take all connections. A clone shares the turns.
#[derive(Clone, Debug, Default)]
pub struct Turns(Arc<Mutex<Taken>>);

impl Turns {
    /// Waits for the turn of a change, in the order of the calls. It lasts as long as what is returned.
    ///
    /// # Errors
    /// `Unavailable` after 30 s.
    pub(super) async fn take(
        &self,
        tenant: &TenantId,
        owner: &[u8],
    ) -> Result<OwnedMutexGuard<()>, StoreError> {
        let turn = self.of((tenant.clone(), owner.to_vec()));
        match timeout(WAIT, turn.lock_owned()).await {
            Ok(taken) => Ok(taken),
            Err(_elapsed) => Err(StoreError::Unavailable {
                source: "earlier changes of the user's files take too long".into(),
            }),
        }
    }

    fn of(&self, owner: Owner) -> Arc<Turn<()>> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(&owner).and_then(Weak::upgrade) {
            return turn;
        }
        if turns.len() >= KEPT {
            turns.retain(|_, turn| turn.strong_count() > 0);
        }
        let turn = Arc::default();
        turns.insert(owner, Arc::downgrade(&turn));
        turn
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn changes_of_one_user_wait_for_each_other_and_for_no_others() {
        let turns = Turns::default();
        let (acme, globex) = (TenantId::new("acme"), TenantId::new("globex"));
        let first = turns.take(&acme, b"ada").await.unwrap();
        assert!(turns.take(&acme, b"ada").now_or_never().is_none());
        for (tenant, owner) in [(&acme, b"bob"), (&globex, b"ada")] {
            assert!(turns.take(tenant, owner).now_or_never().is_some());
        }
        drop(first);
        assert!(turns.take(&acme, b"ada").now_or_never().is_some());
        for number in 0..3 * KEPT {
            turns.take(&acme, &number.to_be_bytes()).await.unwrap();
        }
        assert!(turns.0.lock().unwrap().len() <= KEPT);
    }
}

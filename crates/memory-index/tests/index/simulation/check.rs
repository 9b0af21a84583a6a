//! What holds after every step.

use memory_index::Subject;

use super::run::Simulation;
use super::server::Entry;
use super::stage::Waiting;

impl Simulation<'_> {
    /// Checks that each message and memory for which no change waits is in the index as it is in the
    /// store, in each collection that receives changes and was filled.
    pub async fn check(&mut self) -> Result<(), String> {
        let truth = match self.truth.take() {
            Some(truth) => truth,
            None => self.stage.truth().await,
        };
        let changes = self.stage.changes().await;
        for collection in self.stage.receiving().await {
            let stored = {
                let state = self.server.state();
                state.collections.get(&collection.name).cloned()
            };
            let Some(stored) = stored.filter(|stored| stored.rebuilding.is_some()) else {
                continue;
            };
            if !collection.emptied {
                continue;
            }
            for subject in truth.keys().chain(stored.points.keys()) {
                let (wanted, found) = (truth.get(subject), stored.points.get(subject));
                if wanted == found {
                    self.equal += 1;
                    continue;
                }
                let waits = changes.iter().any(|change| {
                    change.target == collection.number && concerns(change, subject, found)
                });
                if !waits {
                    let name = &collection.name;
                    return Err(format!(
                        "{name} has {found:?} for {subject:?}, the store has {wanted:?}, and no change waits"
                    ));
                }
            }
        }
        self.truth = Some(truth);
        Ok(())
    }

    /// Checks that each collection of the processes is equal to the store.
    pub async fn check_end(&self) -> Result<(), String> {
        let truth = self.stage.truth().await;
        let receiving = self.stage.receiving().await;
        let own = self.collections();
        let mut compared = 0;
        for collection in receiving.iter().filter(|one| own.contains(&one.name)) {
            let state = self.server.state();
            if state.collections[&collection.name].points != truth {
                return Err(format!("{} is not equal to the store", collection.name));
            }
            compared += 1;
        }
        match compared {
            0 => Err("no process has a collection that receives changes".to_owned()),
            _ => Ok(()),
        }
    }
}

/// Whether a change will write or remove a subject, or did and was given up.
fn concerns(change: &Waiting, subject: &Subject, found: Option<&Entry>) -> bool {
    let id = match subject {
        Subject::Message(id) => id.uuid(),
        Subject::Memory(id) => id.uuid(),
    };
    match change.id {
        Some(changed) => changed == id,
        None => found
            .and_then(|entry| entry.place)
            .is_some_and(|(of, seq)| of == change.thread && seq <= change.seq),
    }
}

//! Embeds the question of a request while its thread and policy are read.
//!
//! The text that is embedded depends on the scope, whose speakers' names become "I" in it.
//! The scope is not known that early: it is taken to be the same as that of the last request
//! of the same place. If it is another one, the question is embedded again.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::{Arc, PoisonError};

use memory_contract::TenantId;
use memory_store::{Caller, Scope};

use super::Shared;
use super::inferences::Inference;
use crate::query::Method;
use crate::text;

/// Places whose last scope is remembered. All are forgotten when there are more.
const MAX_PLACES: usize = 16_384;

/// The scope that was searched last from each place.
#[derive(Default)]
pub(super) struct Places {
    known: Mutex<HashMap<Key, Scope>>,
}

/// The tenant, and the name of the place.
type Key = (TenantId, String);

/// The embedding of a question that was begun early, for the search of the same question. It
/// is useless after that.
pub struct Ahead {
    shared: Arc<Shared>,
    key: Key,
    last: Option<Scope>,
    running: Option<Inference>,
}

impl Ahead {
    /// Begins to embed a question, if something was searched from this place before.
    pub(super) fn begin(
        shared: &Arc<Shared>,
        caller: &Caller,
        place: String,
        question: &str,
        method: Method,
    ) -> Self {
        let key = (caller.tenant.clone(), place);
        let last = shared.places.get(&key);
        let mut running = None;
        if let (Some(scope), Some(embedder)) = (&last, &shared.embedder)
            && method != Method::Lexical
            && !question.trim().is_empty()
            && let Some(names) = shared.names.known(&caller.tenant, scope)
        {
            let meaning = text::in_first_person(question, &names);
            running = Some(shared.inferences.query(embedder, &meaning));
        }
        Self {
            shared: Arc::clone(shared),
            key,
            last,
            running,
        }
    }

    /// Forgets the place if this request does not search what it began to embed.
    pub fn searches_nothing(self) {
        if self.running.is_some() {
            self.shared.places.remove(&self.key);
        }
    }

    /// Remembers for the next request from the same place what this one searches.
    pub fn searches(&mut self, scope: &Scope) {
        if self.last.as_ref() != Some(scope) {
            self.shared.places.put(self.key.clone(), scope.clone());
        }
    }
}

impl Places {
    fn remove(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn get(&self, key: &Key) -> Option<Scope> {
        self.lock().get(key).cloned()
    }

    fn put(&self, key: Key, scope: Scope) {
        let mut known = self.lock();
        if known.len() >= MAX_PLACES {
            known.clear();
        }
        known.insert(key, scope);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Scope>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

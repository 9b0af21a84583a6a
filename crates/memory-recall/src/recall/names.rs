//! Who speaks in a scope.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use memory_contract::{MessageFilter, TenantId};
use memory_store::Scope as Bounds;

use crate::index::{Index, Selection};

/// Speakers that are looked for in a query.
const SPEAKERS: usize = 64;
/// How long names are good. Older ones are still used, while new ones are
/// fetched.
const FRESH: Duration = Duration::from_secs(10);
/// How long it is good that there are none.
const FRESH_NONE: Duration = Duration::from_millis(500);
/// How long a query waits for names that nobody has asked for yet.
const PATIENCE: Duration = Duration::from_millis(100);
/// Scopes kept in mind.
const SCOPES: usize = 4_096;

/// The speakers' names in each scope, as the index knows them.
#[derive(Clone)]
pub(super) struct Names {
    index: Arc<dyn Index>,
    known: Arc<Mutex<HashMap<Key, Entry>>>,
}

type Key = (TenantId, String);

#[derive(Clone)]
struct Entry {
    names: Arc<Vec<String>>,
    until: Instant,
}

impl Names {
    pub(super) fn new(index: Arc<dyn Index>) -> Self {
        Self {
            index,
            known: Arc::default(),
        }
    }

    /// The names within the bounds. None where the index does not answer: the
    /// ranking does without.
    pub(super) async fn within(&self, tenant: &TenantId, bounds: &Bounds) -> Arc<Vec<String>> {
        let key = (tenant.clone(), key(bounds));
        let now = Instant::now();
        let known = self.lock().get(&key).cloned();
        match known {
            Some(entry) if entry.until > now => entry.names,
            Some(entry) => {
                // Nobody else needs to fetch them meanwhile.
                let until = now + FRESH;
                self.lock().insert(
                    key.clone(),
                    Entry {
                        names: Arc::clone(&entry.names),
                        until,
                    },
                );
                let (names, tenant, bounds) = (self.clone(), tenant.clone(), bounds.clone());
                if entry.names.is_empty() {
                    return names.fetch(key, &tenant, &bounds).await;
                }
                tokio::spawn(async move { names.fetch(key, &tenant, &bounds).await });
                entry.names
            }
            None => self.fetch(key, tenant, bounds).await,
        }
    }

    async fn fetch(&self, key: Key, tenant: &TenantId, bounds: &Bounds) -> Arc<Vec<String>> {
        let selection = Selection::new(tenant, bounds, &MessageFilter::default());
        let found = tokio::time::timeout(PATIENCE, self.index.names(&selection, SPEAKERS)).await;
        let Ok(Ok(mut names)) = found else {
            return Arc::default();
        };
        names.retain(|name| !name.trim().is_empty());
        let fresh = if names.is_empty() { FRESH_NONE } else { FRESH };
        let entry = Entry {
            names: Arc::new(names),
            until: Instant::now() + fresh,
        };
        let names = Arc::clone(&entry.names);
        let mut known = self.lock();
        if known.len() >= SCOPES {
            known.clear();
        }
        known.insert(key, entry);
        names
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Entry>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(bounds: &Bounds) -> String {
    match bounds {
        Bounds::Thread(thread) => format!("thread {thread}"),
        // An app's id has no NUL in it.
        Bounds::User { app, user } => format!("user {app}\0{user}"),
        Bounds::App(app) => format!("app {app}"),
    }
}

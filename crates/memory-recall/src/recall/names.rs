//! Speakers' names within a scope.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use memory_contract::{AppId, TenantId, message::MessageFilter};
use memory_index::{Index, Selection};
use memory_runtime::task;
use memory_store::Scope;

/// Most frequent speakers of a scope that are recognized in a query.
const MAX_SPEAKERS: usize = 64;
/// How long a list of names is used without a refresh. An older one is still used
/// while it is refreshed.
const TTL: Duration = Duration::from_secs(10);
/// How long an empty list is used. It is refreshed before it is used again.
const EMPTY_TTL: Duration = Duration::from_millis(500);
/// How long a query waits for names that are not cached.
const FETCH_TIMEOUT: Duration = Duration::from_millis(100);
/// Cached scopes. The cache is emptied when it is full.
const MAX_SCOPES: usize = 4_096;

/// Caches the speakers' names of each scope, which the index counts.
#[derive(Clone)]
pub(super) struct Names {
    index: Arc<dyn Index>,
    known: Arc<Mutex<HashMap<Key, CachedNames>>>,
}

type Key = (TenantId, String);

#[derive(Clone)]
struct CachedNames {
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

    /// The names within a scope; empty if the index does not answer, because the
    /// ranking works without them.
    pub(super) async fn within(&self, tenant: &TenantId, scope: &Scope) -> Arc<Vec<String>> {
        let key = (tenant.clone(), key(scope));
        let now = Instant::now();
        let known = self.lock().get(&key).cloned();
        match known {
            Some(entry) if entry.until > now => entry.names,
            Some(entry) => {
                // One refresh at a time.
                let until = now + TTL;
                self.lock().insert(
                    key.clone(),
                    CachedNames {
                        names: Arc::clone(&entry.names),
                        until,
                    },
                );
                let (names, tenant, scope) = (self.clone(), tenant.clone(), scope.clone());
                if entry.names.is_empty() {
                    return names.fetch(key, &tenant, &scope).await;
                }
                let refresh = async move { names.fetch(key, &tenant, &scope).await };
                task::spawn("speaker_names", refresh);
                entry.names
            }
            None => self.fetch(key, tenant, scope).await,
        }
    }

    /// The names within a scope that are cached, however old.
    pub(super) fn cached(&self, tenant: &TenantId, scope: &Scope) -> Option<Arc<Vec<String>>> {
        let known = self.lock();
        let entry = known.get(&(tenant.clone(), key(scope)))?;
        Some(Arc::clone(&entry.names))
    }

    async fn fetch(&self, key: Key, tenant: &TenantId, scope: &Scope) -> Arc<Vec<String>> {
        let selection = Selection::new(tenant, scope, &MessageFilter::default());
        let found =
            tokio::time::timeout(FETCH_TIMEOUT, self.index.names(&selection, MAX_SPEAKERS)).await;
        let Ok(Ok(mut names)) = found else {
            return Arc::default();
        };
        names.retain(|name| !name.trim().is_empty());
        let fresh = if names.is_empty() { EMPTY_TTL } else { TTL };
        let entry = CachedNames {
            names: Arc::new(names),
            until: Instant::now() + fresh,
        };
        let names = Arc::clone(&entry.names);
        let mut known = self.lock();
        if known.len() >= MAX_SCOPES {
            known.clear();
        }
        known.insert(key, entry);
        names
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, CachedNames>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(scope: &Scope) -> String {
    match scope {
        Scope::Thread(thread) => format!("thread {thread}"),
        // An app id contains no NUL.
        Scope::User { app, user } => format!("user {app}\0{user}"),
        Scope::App(app) => format!("app {app}"),
        // An app that leaves the space changes the key.
        Scope::Space { user, space } => {
            let apps: Vec<&str> = space.apps.iter().map(AppId::as_str).collect();
            format!("space {}\0\0{user}", apps.join("\0"))
        }
    }
}

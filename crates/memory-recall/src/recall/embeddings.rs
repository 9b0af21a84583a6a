//! Embeds queries: once for concurrent callers with the same text, and before the scope of the search
//! is known.
//!
//! The text that is embedded depends on the scope: its speakers' names become "I". A request is
//! embedded while its thread and policy are read, before the scope is known: the scope is taken to
//! be that of the last request from the same place. If it is another one, the query is embedded
//! again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared, ready};
use memory_contract::TenantId;
use memory_embed::{EmbedError, Embedder, TenantText};
use memory_store::Scope;
use memory_text::in_first_person;

use super::names::Names;

/// Places whose last scope is remembered. All are forgotten when there are more.
const MAX_PLACES: usize = 16_384;

/// The embeddings of queries under way.
#[derive(Default)]
pub(super) struct QueryEmbeddings {
    /// By tenant and text. A context searches messages and memories by the same text at the same
    /// time.
    running: Mutex<HashMap<(TenantId, String), WeakShared<Embedding>>>,
    /// The scope that was searched last from each place.
    last_scopes: Mutex<HashMap<Place, Scope>>,
}

/// An embedding under way. It is shared while somebody holds it, also after it has ended with a
/// vector.
pub(super) type SharedEmbedding = Shared<Embedding>;

type Embedding = BoxFuture<'static, Result<Vec<f32>, Arc<EmbedError>>>;

/// A tenant, and the name of a conversation, user or app of it.
type Place = (TenantId, String);

/// The embedding of a question that was begun before its scope was known. Hold it until the
/// question was searched.
pub struct Prefetch {
    embeddings: Arc<QueryEmbeddings>,
    place: Place,
    last_scope: Option<Scope>,
    running: Option<SharedEmbedding>,
}

impl Prefetch {
    /// Forgets the place if this request does not search what it began to embed.
    pub fn searches_nothing(self) {
        if self.running.is_some() {
            self.embeddings.lock_scopes().remove(&self.place);
        }
    }

    /// Remembers for the next request from the same place what this one searches.
    pub fn searches(&mut self, scope: &Scope) {
        if self.last_scope.as_ref() != Some(scope) {
            self.embeddings.remember(self.place.clone(), scope.clone());
        }
    }
}

impl QueryEmbeddings {
    /// Begins to embed a query.
    pub(super) fn query(
        &self,
        embedder: &Embedder,
        tenant: &TenantId,
        text: &str,
    ) -> SharedEmbedding {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (tenant.clone(), text.to_owned());
        let known = running.get(&key).and_then(WeakShared::upgrade);
        if let Some(known) = known.filter(|known| !matches!(known.peek(), Some(Err(_)))) {
            return known;
        }
        running.retain(|_, known| known.upgrade().is_some());
        let text = TenantText {
            tenant: Some(tenant.clone()),
            text: text.to_owned(),
        };
        let embedding = match embedder.begin_query(text) {
            Ok(embedding) => embedding,
            Err(error) => return ready(Err(Arc::new(error))).boxed().shared(),
        };
        let inference = async move { embedding.await.map_err(Arc::new) };
        let inference = inference.boxed().shared();
        if let Some(weak) = inference.downgrade() {
            running.insert(key, weak);
        }
        inference
    }

    /// Begins to embed a question, if something was searched from this place before; nothing
    /// without an embedder.
    pub(super) fn prefetch(
        self: &Arc<Self>,
        names: &Names,
        embedder: Option<&Embedder>,
        tenant: &TenantId,
        place: String,
        question: &str,
    ) -> Prefetch {
        let place = (tenant.clone(), place);
        let last_scope = self.lock_scopes().get(&place).cloned();
        let running = embedder
            .zip(last_scope.as_ref())
            .and_then(|(embedder, scope)| {
                let names = names.cached(tenant, scope)?;
                Some(self.query(embedder, tenant, &in_first_person(question, &names)))
            });
        Prefetch {
            embeddings: Arc::clone(self),
            place,
            last_scope,
            running,
        }
    }

    fn remember(&self, place: Place, scope: Scope) {
        let mut scopes = self.lock_scopes();
        if scopes.len() >= MAX_PLACES {
            scopes.clear();
        }
        scopes.insert(place, scope);
    }

    fn lock_scopes(&self) -> MutexGuard<'_, HashMap<Place, Scope>> {
        self.last_scopes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

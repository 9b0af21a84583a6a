//! Shares concurrent embeddings of the same query.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared, ready};

use crate::embed::Embedder;
use crate::error::RecallError;

/// Lets concurrent callers with the same text share one inference: a context searches
/// messages and memories at the same time, and a query may be embedded before it is known what
/// it searches.
#[derive(Default)]
pub(super) struct Inferences {
    running: Mutex<HashMap<String, WeakShared<Embedding>>>,
}

/// An inference under way. It is shared as long as somebody holds it, also when it has ended with
/// a vector.
pub(super) type Inference = Shared<Embedding>;

type Embedding = BoxFuture<'static, Result<Vec<f32>, Arc<RecallError>>>;

impl Inferences {
    /// Begins to embed a query.
    pub(super) fn query(&self, embedder: &Embedder, text: &str) -> Inference {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let known = running.get(text).and_then(WeakShared::upgrade);
        if let Some(known) = known.filter(|known| !matches!(known.peek(), Some(Err(_)))) {
            return known;
        }
        running.retain(|_, known| known.upgrade().is_some());
        let embedding = match embedder.begin_query(text) {
            Ok(embedding) => embedding,
            Err(error) => return ready(Err(Arc::new(error))).boxed().shared(),
        };
        let inference = async move { embedding.await.map_err(Arc::new) };
        let inference = inference.boxed().shared();
        if let Some(weak) = inference.downgrade() {
            running.insert(text.to_owned(), weak);
        }
        inference
    }
}

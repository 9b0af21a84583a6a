//! Shares concurrent embeddings of the same query.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OnceCell;

use crate::embed::Embedder;
use crate::error::RecallError;

/// Lets concurrent callers with the same text share one inference. A context searches
/// messages and memories at the same time, and the model embeds one query after the
/// other.
#[derive(Default)]
pub(super) struct Inferences {
    running: Mutex<HashMap<String, Weak<OnceCell<Vec<f32>>>>>,
}

impl Inferences {
    /// Embeds a query.
    pub(super) async fn query(
        &self,
        embedder: &Embedder,
        text: &str,
    ) -> Result<Vec<f32>, RecallError> {
        let vector = self.running(text);
        let vector = vector.get_or_try_init(|| embedder.query(text)).await?;
        Ok(vector.clone())
    }

    fn running(&self, text: &str) -> Arc<OnceCell<Vec<f32>>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vector) = running.get(text).and_then(Weak::upgrade) {
            return vector;
        }
        running.retain(|_, vector| vector.strong_count() > 0);
        let vector = Arc::default();
        running.insert(text.to_owned(), Arc::downgrade(&vector));
        vector
    }
}

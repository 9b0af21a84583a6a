//! Searches documents. They have no index: Postgres matches them by word, and the best matches
//! are compared by meaning.

use std::time::Duration;

use memory_agent_contract::document::{DocumentName, DocumentQuery};
use memory_contract::{limits::COMPARED_DOCUMENTS, memory::MemoryOwner};
use memory_embed::dot;
use memory_store::Caller;

use super::searcher::Searcher;
use crate::error::RecallError;
use crate::query::{Degradation, DegradationReason, FoundDocuments, Method};

/// How long a search waits for vectors of documents.
const EMBED_WAIT: Duration = Duration::from_secs(1);

impl Searcher {
    /// Finds documents of one owner.
    pub(super) async fn documents(
        &self,
        caller: &Caller,
        owner: &MemoryOwner,
        query: &DocumentQuery,
    ) -> Result<FoundDocuments, RecallError> {
        let mut degradations = Vec::new();
        let asks = !query.text.trim().is_empty();
        let alike = match asks {
            true => self.alike(caller, owner, query, &mut degradations).await?,
            false => None,
        };
        let store = self.store.documents(caller);
        let found = store.search_documents(owner, query, alike.as_deref());
        let method = match alike {
            Some(_) => Method::Hybrid,
            None => Method::Lexical,
        };
        Ok(FoundDocuments {
            found: found.await?,
            method: asks.then_some(method),
            degradations,
        })
    }

    /// How much documents are like the query; `None` without a vector of the query.
    async fn alike(
        &self,
        caller: &Caller,
        owner: &MemoryOwner,
        query: &DocumentQuery,
        degradations: &mut Vec<Degradation>,
    ) -> Result<Option<Vec<(DocumentName, f32)>>, RecallError> {
        let Some(embedder) = &self.embedder else {
            return Ok(None);
        };
        let store = self.store.documents(caller);
        let (asked, candidates) = tokio::join!(
            self.embeddings.query(embedder, &caller.tenant, &query.text),
            store.document_candidates(owner, query, COMPARED_DOCUMENTS),
        );
        let (candidates, selected) = candidates?;
        let asked = match asked {
            Ok(asked) => asked,
            Err(error) => {
                tracing::warn!(%error, "embedding a query failed");
                degradations.push(Degradation {
                    reason: DegradationReason::EmbedderUnavailable,
                    message: "the query could not be embedded; matches are by keyword only"
                        .to_owned(),
                });
                return Ok(None);
            }
        };
        let known = |text: &str| embedder.known(&embedder.text_key(&caller.tenant, text));
        let missing = candidates.iter().map(|(_, text)| text);
        let missing = missing.filter(|text| known(text).is_none());
        let missing: Vec<String> = missing.cloned().collect();
        if !missing.is_empty() {
            // Either way, the vectors that are there are used.
            let embedded = embedder.embed_first(&caller.tenant, missing, false);
            let _ = tokio::time::timeout(EMBED_WAIT, embedded).await;
        }
        let alike: Vec<(DocumentName, f32)> = candidates
            .into_iter()
            .filter_map(|(name, text)| {
                let vector = known(&text)?;
                Some((name, dot(&asked, &vector)))
            })
            .collect();
        let others = usize::try_from(selected)
            .unwrap_or_default()
            .saturating_sub(alike.len());
        if others > 0 {
            degradations.push(Degradation {
                reason: DegradationReason::IndexLagging,
                message: format!(
                    "{others} of {selected} documents were matched by keyword only: a search \
                     compares at most {COMPARED_DOCUMENTS} by meaning, and waits for their vectors at most \
                     {} s",
                    EMBED_WAIT.as_secs()
                ),
            });
        }
        Ok(Some(alike))
    }
}

//! Answers queries: reads the window, searches the index, ranks, reads the best
//! candidates from the store, and merges.

use std::collections::HashSet;
use std::sync::Arc;

use memory_agent_contract::document::DocumentQuery;
use memory_contract::{
    MessageId, TenantId, memory::MemoryOwner, message::Message, policy::MemoryMode,
};
use memory_embed::{Embedder, TenantText, Urgency};
use memory_index::{Index, IndexerHandle, ServingPlace};
use memory_store::{Caller, Neighbor, Store};

use super::assemble::answer;
use super::embeddings::Prefetch;
use super::messages::Ranking;
use super::searcher::Searcher;
use crate::config::SearchConfig;
use crate::error::RecallError;
use crate::merge::MergeInput;
use crate::query::{
    FoundDocuments, FoundMemories, FoundMessages, MemoryQuery, Method, RecallQuery, Recalled,
};

/// Answers recall, search and memory queries. Clones share one state.
#[derive(Clone)]
pub struct Recall {
    /// Searches the first index.
    first: Arc<Searcher>,
    /// Searches the next index, while the embedding model is changed.
    next: Option<Arc<Searcher>>,
    serving: ServingPlace,
}

impl Recall {
    /// Recall over a store and an index. Without an embedder it matches by word
    /// alone. With the handle of an indexer in the same process, a wait for
    /// a revision ends as soon as that indexer has acknowledged the write.
    pub fn new(
        store: Store,
        index: Arc<dyn Index>,
        embedder: Option<Embedder>,
        indexer: Option<IndexerHandle>,
        config: SearchConfig,
    ) -> Self {
        let searcher = Searcher::new(store, index, embedder, indexer, config);
        Self {
            first: Arc::new(searcher),
            next: None,
            serving: ServingPlace::default(),
        }
    }

    /// Recall over a recorded collection: changes that wait for it count as not indexed, also while
    /// another collection serves.
    #[must_use]
    pub fn of_recorded_collection(self) -> Self {
        let Searcher {
            store,
            index,
            embedder,
            indexer,
            config,
            ..
        } = &*self.first;
        let store = store.searching(index.schema().collection());
        let (index, embedder) = (Arc::clone(index), embedder.clone());
        Self::new(store, index, embedder, indexer.clone(), config.clone())
    }

    /// Recall over two indexes: each query uses the one that serves when it begins, with its
    /// model, to the end.
    #[must_use]
    pub fn with_next(self, next: Self, serving: ServingPlace) -> Self {
        Self {
            next: Some(next.first),
            serving,
            ..self
        }
    }

    /// Recall over each of the two indexes alone, the serving one first; `None` with one index.
    pub fn each(&self) -> Option<[Self; 2]> {
        let alone = |searcher: &Arc<Searcher>| Self {
            first: Arc::clone(searcher),
            next: None,
            serving: ServingPlace::default(),
        };
        let mut both = [alone(&self.first), alone(self.next.as_ref()?)];
        if self.serving.get() == 1 {
            both.reverse();
        }
        Some(both)
    }

    /// The index that serves.
    pub fn index(&self) -> &dyn Index {
        &*self.searcher().index
    }

    /// The embedding model of the index that serves; `None` without one.
    pub fn embedder(&self) -> Option<&Embedder> {
        self.searcher().embedder.as_ref()
    }

    fn searcher(&self) -> &Arc<Searcher> {
        match &self.next {
            Some(next) if self.serving.get() == 1 => next,
            _ => &self.first,
        }
    }

    /// Begins to embed a question before its scope is known, if something was searched from
    /// the same place before. `place` names a conversation, user or app within the tenant, and
    /// `mode` is that of the request, if it has one. Hold the result until the question was
    /// searched.
    pub fn prefetch(
        &self,
        caller: &Caller,
        place: String,
        mode: Option<MemoryMode>,
        question: &str,
        method: Method,
    ) -> Prefetch {
        let searcher = self.searcher();
        let is_embedded = method != Method::Lexical
            && mode.is_none_or(MemoryMode::searches)
            && !question.trim().is_empty();
        let embedder = searcher.embedder.as_ref().filter(|_| is_embedded);
        searcher
            .embeddings
            .prefetch(&searcher.names, embedder, &caller.tenant, place, question)
    }

    /// Returns the recent window merged with the best matches and their neighbors. A
    /// query without a window and without a search reads nothing.
    ///
    /// # Errors
    /// [`RecallError::Store`] alone: the thread of the window does not exist, or the
    /// database failed. A failing index or model is reported in
    /// [`Recalled::degradations`].
    pub async fn recall(
        &self,
        caller: &Caller,
        query: &RecallQuery,
    ) -> Result<Recalled, RecallError> {
        let searcher = self.searcher();
        let (pieces, ranking) =
            tokio::try_join!(searcher.window(caller, query), searcher.rank(caller, query))?;
        searcher.assemble(caller, query, ranking, pieces).await
    }

    /// Ranks the candidates of a query for [`Recall::complete_with_window`]. It reads no window,
    /// so the caller can read the messages that it shows at the same time.
    ///
    /// # Errors
    /// As [`Recall::recall`].
    pub async fn rank(&self, caller: &Caller, query: &RecallQuery) -> Result<Ranking, RecallError> {
        self.searcher().rank(caller, query).await
    }

    /// Returns the best matches and their neighbors together with `shown`: messages
    /// that the caller shows anyway. They replace the recent window, come first into
    /// the budget, are no matches, and come back with [`crate::Reason::Recent`].
    ///
    /// # Errors
    /// As [`Recall::recall`].
    pub async fn complete_with_window(
        &self,
        caller: &Caller,
        query: &RecallQuery,
        ranking: Ranking,
        shown: Vec<Message>,
    ) -> Result<Recalled, RecallError> {
        let pieces = MergeInput {
            window: shown,
            ..MergeInput::default()
        };
        self.searcher()
            .assemble(caller, query, ranking, pieces)
            .await
    }

    /// Returns the best matches and their neighbors that are neither among `shown` nor
    /// rejected by `adds`: the caller shows the former anyway, and has the content of the
    /// latter in another form. Better candidates that are left out are replaced by others.
    ///
    /// # Errors
    /// As [`Recall::recall`].
    pub async fn complete_beyond(
        &self,
        caller: &Caller,
        query: &RecallQuery,
        mut ranking: Ranking,
        shown: &[Message],
        adds: impl Fn(&Message) -> bool + Send + Sync,
    ) -> Result<Recalled, RecallError> {
        let searcher = self.searcher();
        let mut selected = searcher
            .select(caller, query, &mut ranking, shown, &adds)
            .await?;
        let known: HashSet<MessageId> = shown.iter().map(|message| message.id).collect();
        selected
            .neighbors
            .retain(|Neighbor { message, .. }| !known.contains(&message.id) && adds(message));
        let pieces = MergeInput::default();
        Ok(Recalled {
            method: ranking.method,
            named_times: ranking.named_times,
            pending: ranking.pending,
            ..answer(query, selected, pieces, ranking.degradations)
        })
    }

    /// Returns the best matches alone, without window and neighbors: at most
    /// `query.top_k`, the best first.
    ///
    /// # Errors
    /// As [`Recall::recall`]. Whether `query.thread` exists is not checked.
    pub async fn search(
        &self,
        caller: &Caller,
        query: RecallQuery,
    ) -> Result<FoundMessages, RecallError> {
        self.searcher().search(caller, query).await
    }

    /// Returns the best matches among the long-term memories of one user, and notes
    /// that they were used.
    ///
    /// # Errors
    /// As [`Recall::recall`].
    pub async fn memories(
        &self,
        caller: &Caller,
        query: &MemoryQuery,
    ) -> Result<FoundMemories, RecallError> {
        let searcher = self.searcher();
        let names = searcher.speakers(caller, query).await;
        let found = searcher.memories(caller, query, &names).await?;
        let used = found.memories.iter().map(|found| &found.memory);
        searcher.store.memories(caller).memories_used(used);
        Ok(found)
    }

    /// As [`Recall::memories`] for a statement that may be known already: its names stay as they
    /// are, and the memories found do not count as used.
    ///
    /// # Errors
    /// As [`Recall::recall`].
    pub async fn compare_memories(
        &self,
        caller: &Caller,
        query: &MemoryQuery,
    ) -> Result<FoundMemories, RecallError> {
        self.searcher().memories(caller, query, &[]).await
    }

    /// Finds documents of one owner: by word, and the best of them also by meaning.
    ///
    /// # Errors
    /// [`RecallError::Store`] alone. A failing model is reported in
    /// [`FoundDocuments::degradations`].
    pub async fn documents(
        &self,
        caller: &Caller,
        owner: &MemoryOwner,
        query: &DocumentQuery,
    ) -> Result<FoundDocuments, RecallError> {
        self.searcher().documents(caller, owner, query).await
    }

    /// Embeds texts of a tenant at the priority of new messages. Returns one vector for each text, in
    /// order; `None` without an embedding model.
    ///
    /// # Errors
    /// [`RecallError::Embed`].
    pub async fn vectors(
        &self,
        tenant: &TenantId,
        texts: Vec<String>,
    ) -> Result<Option<Vec<Vec<f32>>>, RecallError> {
        let Some(embedder) = &self.searcher().embedder else {
            return Ok(None);
        };
        let of_tenant = |text| TenantText {
            tenant: Some(tenant.clone()),
            text,
        };
        let texts = texts.into_iter().map(of_tenant).collect();
        let vectors = embedder.tenant_documents(texts, Urgency::Live).await?;
        Ok(Some(vectors))
    }
}

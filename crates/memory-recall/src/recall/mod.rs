//! Answers queries: reads the window, searches the index, ranks, reads the best
//! candidates from the store, and merges.

mod ahead;
mod compare;
mod documents;
mod find;
mod inferences;
mod memories;
mod names;
mod pending;
mod select;
mod word_weights;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use memory_budget::{Room, Size};
use memory_contract::{DocumentQuery, MemoryMode, MemoryOwner, Message, MessageId, limits};
use memory_store::{Caller, Neighbor, Store};

use crate::config::SearchConfig;
use crate::embed::{Embedder, Urgency};
use crate::error::RecallError;
use crate::index::{Index, ServingPlace};
use crate::indexer::IndexerHandle;
use crate::merge::{MergeInput, bytes_of, cuts, merge};
use crate::query::{
    Degradation, Found, FoundDocuments, FoundMemories, MemoryQuery, Method, Reason, RecallQuery,
    Recalled, RecalledMessage,
};
pub use ahead::Ahead;
use ahead::Places;
pub use compare::{Answer, CompareQuery, ComparedIndex, ComparedQuery, Comparison};
pub use find::Ranking;
pub(crate) use find::describe_metrics;
use inferences::Inferences;
use names::Names;
use select::Selected;
use word_weights::WordWeights;

/// Answers recall, search and memory queries. Clones share one state.
#[derive(Clone)]
pub struct Recall {
    /// Over the first index, and over the next one while the embedding model is changed.
    first: Arc<Shared>,
    next: Option<Arc<Shared>>,
    serving: ServingPlace,
}

struct Shared {
    store: Store,
    index: Arc<dyn Index>,
    embedder: Option<Embedder>,
    inferences: Inferences,
    places: Places,
    indexer: Option<IndexerHandle>,
    config: SearchConfig,
    names: Names,
    word_weights: WordWeights,
    state_checked: Mutex<Option<Instant>>,
    /// When queries first found the index unavailable; `None` while it answers.
    unavailable_since: Mutex<Option<Instant>>,
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
        let shared = Shared {
            names: Names::new(Arc::clone(&index)),
            word_weights: WordWeights::new(Arc::clone(&index)),
            store,
            index,
            embedder,
            inferences: Inferences::default(),
            places: Places::default(),
            indexer,
            config,
            state_checked: Mutex::default(),
            unavailable_since: Mutex::default(),
        };
        Self {
            first: Arc::new(shared),
            next: None,
            serving: ServingPlace::default(),
        }
    }

    /// The same over a recorded collection: what waits for this one counts as not indexed,
    /// also while another one serves.
    #[must_use]
    pub fn of_recorded_collection(self) -> Self {
        let Shared {
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

    /// The name of the embedding model of the index that serves; empty without one.
    pub fn model(&self) -> &str {
        let embedder = self.shared().embedder.as_ref();
        embedder.map_or("", |embedder| embedder.model().name.as_str())
    }

    fn shared(&self) -> &Arc<Shared> {
        match &self.next {
            Some(next) if self.serving.get() == 1 => next,
            _ => &self.first,
        }
    }

    /// Begins to embed a question before its scope is known, if something was searched from
    /// the same place before. `place` names a conversation, user or app within the tenant, and
    /// `mode` is that of the request, if it has one. To be held until the question was searched.
    pub fn ahead(
        &self,
        caller: &Caller,
        place: String,
        mode: Option<MemoryMode>,
        question: &str,
        method: Method,
    ) -> Ahead {
        let question = match mode {
            Some(mode) if !mode.searches() => "",
            _ => question,
        };
        Ahead::begin(self.shared(), caller, place, question, method)
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
        let shared = self.shared();
        let (pieces, ranking) =
            tokio::try_join!(shared.window(caller, query), shared.rank(caller, query))?;
        shared.assemble(caller, query, ranking, pieces).await
    }

    /// Ranks the candidates of a query for [`Recall::complete_with_window`]. It reads no window,
    /// so the caller can read the messages that it shows at the same time.
    ///
    /// # Errors
    /// As [`Recall::recall`].
    pub async fn rank(&self, caller: &Caller, query: &RecallQuery) -> Result<Ranking, RecallError> {
        self.shared().rank(caller, query).await
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
        self.shared().assemble(caller, query, ranking, pieces).await
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
        ranking: Ranking,
        shown: &[Message],
        adds: impl Fn(&Message) -> bool + Send + Sync,
    ) -> Result<Recalled, RecallError> {
        let shared = self.shared();
        let mut selected = shared
            .select(caller, query, ranking.ranked, shown, &adds)
            .await?;
        let known: HashSet<MessageId> = shown.iter().map(|message| message.id).collect();
        selected
            .neighbors
            .retain(|Neighbor { message, .. }| !known.contains(&message.id) && adds(message));
        let pieces = MergeInput::default();
        Ok(Recalled {
            method: ranking.method,
            ..answer(query, selected, pieces, ranking.degradations)
        })
    }

    /// Returns the best matches alone, without window and neighbors: at most
    /// `query.top_k`, the best first.
    ///
    /// # Errors
    /// As [`Recall::recall`]. Whether `query.thread` exists is not checked.
    pub async fn search(&self, caller: &Caller, query: RecallQuery) -> Result<Found, RecallError> {
        self.shared().search(caller, query).await
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
        let shared = self.shared();
        let names = shared.speakers(caller, query).await;
        let found = shared.memories(caller, query, &names).await?;
        let used = found.memories.iter().map(|found| &found.memory);
        shared.store.memories(caller).memories_used(used);
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
        self.shared().memories(caller, query, &[]).await
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
        self.shared().documents(caller, owner, query).await
    }

    /// Embeds texts at the priority of indexing what is new. Returns one vector a text, in
    /// their order; `None` without an embedding model.
    ///
    /// # Errors
    /// [`RecallError::EmbedderStopped`], [`RecallError::EmbeddingFailed`].
    pub async fn vectors(&self, texts: Vec<String>) -> Result<Option<Vec<Vec<f32>>>, RecallError> {
        match &self.shared().embedder {
            Some(embedder) => embedder.documents(texts, Urgency::Live).await.map(Some),
            None => Ok(None),
        }
    }
}

impl Shared {
    async fn rank(&self, caller: &Caller, query: &RecallQuery) -> Result<Ranking, RecallError> {
        if !query.searches() {
            return Ok(Ranking::default());
        }
        // On the heap, because the future of a whole request would be too large for a stack.
        Box::pin(self.find(caller, query)).await
    }

    /// Reads the recent window.
    async fn window(
        &self,
        caller: &Caller,
        query: &RecallQuery,
    ) -> Result<MergeInput, RecallError> {
        let Some(thread) = query.thread.filter(|_| query.recent_window > 0) else {
            return Ok(MergeInput::default());
        };
        let size = u32::try_from(query.recent_window).unwrap_or(u32::MAX);
        Ok(MergeInput {
            window: self.store.messages(caller).recent(thread, size).await?,
            window_ordinal: query.thread_ordinal,
            ..MergeInput::default()
        })
    }

    /// Adds the best candidates to the window and merges both into one answer.
    async fn assemble(
        &self,
        caller: &Caller,
        query: &RecallQuery,
        ranking: Ranking,
        pieces: MergeInput,
    ) -> Result<Recalled, RecallError> {
        let all = |_: &Message| true;
        let selected = self
            .select(caller, query, ranking.ranked, &pieces.window, &all)
            .await?;
        Ok(Recalled {
            method: ranking.method,
            ..answer(query, selected, pieces, ranking.degradations)
        })
    }

    async fn search(&self, caller: &Caller, query: RecallQuery) -> Result<Found, RecallError> {
        let query = RecallQuery {
            neighbors_before: 0,
            neighbors_after: 0,
            omissions: 0,
            ..query
        };
        let ranking = Box::pin(self.find(caller, &query)).await?;
        let all = |_: &Message| true;
        let selected = self
            .select(caller, &query, ranking.ranked, &[], &all)
            .await?;
        let mut room = Room::new(Size {
            tokens: i32::MAX,
            bytes: limits::ANSWER_BYTES,
        });
        let fitting = selected.matches.into_iter();
        let (fitting, others): (Vec<_>, Vec<_>) =
            fitting.partition(|one| room.take(bytes_of(&one.found.message)));
        let matches = (1_u32..)
            .zip(fitting)
            .map(|(rank, found)| RecalledMessage::of_match(rank, found))
            .collect();
        let others = others.iter().map(|one| one.found.message.tokens);
        Ok(Found {
            matches,
            cuts: cuts(others.map(|tokens| (Reason::Match, tokens))),
            method: ranking.method,
            degradations: ranking.degradations,
        })
    }
}

/// Merges what was selected with the other pieces into one answer.
fn answer(
    query: &RecallQuery,
    selected: Selected,
    mut pieces: MergeInput,
    degradations: Vec<Degradation>,
) -> Recalled {
    pieces.matches = selected.matches;
    pieces.neighbors = selected.neighbors;
    let merged = merge(pieces, query.max_tokens, query.tokenizer);
    let mut omitted = Vec::new();
    if query.omissions > 0 {
        // A candidate of too low a rank may be returned as a neighbor.
        let returned: HashSet<MessageId> =
            merged.messages.iter().map(|one| one.message.id).collect();
        let unselected = selected.omitted.into_iter();
        omitted = merged.omitted;
        omitted.extend(unselected.filter(|one| !returned.contains(&one.message)));
        omitted.truncate(query.omissions);
    }
    Recalled {
        messages: merged.messages,
        total_tokens: merged.total_tokens,
        method: None,
        degradations,
        omitted,
        cuts: merged.cuts,
    }
}

//! Recall itself.

mod find;
mod inferences;
mod memories;
mod names;
mod select;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use memory_contract::{Message, MessageId, TenantId, Thread, ThreadId};
use memory_store::{Recent, Scope as Bounds};

use crate::config::SearchConfig;
use crate::embed::Embedder;
use crate::error::RecallError;
use crate::index::Index;
use crate::indexer::IndexerHandle;
use crate::merge::{Match, Merged, Pieces, Room, merge};
use crate::query::{
    Degradation, Found, FoundMemories, MemoryQuery, Mode, Reason, RecallQuery, Recalled,
    RecalledMessage, Scope, SearchQuery, Target,
};
use crate::source::Source;
use find::{Finding, Question};
use inferences::Inferences;
use names::Names;
use select::Wanted;

/// Candidates in order, which are yet to be read.
pub struct Ranking {
    bounds: Bounds,
    finding: Finding,
}

/// Answers questions to the memory. Cheap to clone.
#[derive(Clone)]
pub struct Recall {
    shared: Arc<Shared>,
}

struct Shared {
    source: Arc<dyn Source>,
    index: Arc<dyn Index>,
    embedder: Option<Embedder>,
    inferences: Inferences,
    indexer: Option<IndexerHandle>,
    config: SearchConfig,
    names: Names,
    owners: Owners,
    looked: Mutex<Option<Instant>>,
}

impl Recall {
    /// Recall over a store and an index. Without an embedder it matches by word
    /// alone. With the handle of an indexer in the same process a wait for
    /// `at_least_as_fresh` ends as soon as the index is there.
    pub fn new(
        source: Arc<dyn Source>,
        index: Arc<dyn Index>,
        embedder: Option<Embedder>,
        indexer: Option<IndexerHandle>,
        config: SearchConfig,
    ) -> Self {
        let shared = Shared {
            names: Names::new(Arc::clone(&index)),
            source,
            index,
            embedder,
            inferences: Inferences::default(),
            indexer,
            config,
            owners: Owners::default(),
            looked: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The recent window merged with the best matches and the messages around
    /// them.
    ///
    /// # Errors
    /// [`RecallError::Store`] alone: a thread that is not there, a database that
    /// does not answer; and [`RecallError::Config`] for a wrong revision token.
    /// An index or a model that fails shows in [`Recalled::degradations`].
    pub async fn recall(
        &self,
        tenant: &TenantId,
        query: RecallQuery,
    ) -> Result<Recalled, RecallError> {
        self.shared.recall(tenant, query).await
    }

    /// Ranks what might match, for [`Recall::beside`]. It needs no window, so a
    /// caller that shows other messages can read them in the meantime.
    ///
    /// # Errors
    /// As [`Recall::recall`].
    pub async fn rank(
        &self,
        tenant: &TenantId,
        query: &RecallQuery,
    ) -> Result<Ranking, RecallError> {
        self.shared.rank(tenant, query).await
    }

    /// The best matches and the messages around them, beside messages that the
    /// caller shows anyway: those take the place of the recent window, whatever
    /// the query says of one. They come first into the budget and come back
    /// with [`Reason::Recent`].
    ///
    /// # Errors
    /// As [`Recall::recall`].
    pub async fn beside(
        &self,
        tenant: &TenantId,
        query: &RecallQuery,
        ranking: Ranking,
        shown: Vec<Message>,
    ) -> Result<Recalled, RecallError> {
        let pieces = Pieces {
            window: shown,
            ..Pieces::default()
        };
        let Ranking { bounds, finding } = ranking;
        self.shared
            .put_together(tenant, query, &bounds, finding, pieces)
            .await
    }

    /// The best matches among the long-term memories of one user, and of nobody
    /// else. Those that are returned count as used.
    ///
    /// # Errors
    /// As [`Recall::recall`].
    pub async fn memories(
        &self,
        tenant: &TenantId,
        query: &MemoryQuery,
    ) -> Result<FoundMemories, RecallError> {
        let found = self.shared.memories(tenant, query).await?;
        let used: Vec<_> = found.memories.iter().map(|found| &found.memory).collect();
        self.shared.source.memories_used(tenant, &used);
        Ok(found)
    }

    /// As [`Recall::memories`], for whoever compares and does not use: what is
    /// found does not count as used.
    ///
    /// # Errors
    /// As [`Recall::recall`].
    pub async fn compare_memories(
        &self,
        tenant: &TenantId,
        query: &MemoryQuery,
    ) -> Result<FoundMemories, RecallError> {
        self.shared.memories(tenant, query).await
    }

    /// The vectors of texts, in their order, at the low priority of indexing;
    /// `None` without an embedding model.
    ///
    /// # Errors
    /// [`RecallError::EmbedderStopped`], [`RecallError::EmbeddingFailed`].
    pub async fn vectors(&self, texts: Vec<String>) -> Result<Option<Vec<Vec<f32>>>, RecallError> {
        match &self.shared.embedder {
            Some(embedder) => embedder.documents(texts).await.map(Some),
            None => Ok(None),
        }
    }

    /// The best matches alone.
    ///
    /// # Errors
    /// As [`Recall::recall`].
    pub async fn search(
        &self,
        tenant: &TenantId,
        query: SearchQuery,
    ) -> Result<Found, RecallError> {
        self.shared.search(tenant, query).await
    }
}

impl Shared {
    async fn recall(&self, tenant: &TenantId, query: RecallQuery) -> Result<Recalled, RecallError> {
        if query.mode == Mode::None {
            return Ok(Recalled::default());
        }
        let question = Question::of_recall(&query)?;
        let window = self.window(tenant, &query.target, query.recent_window);
        let searches =
            query.mode == Mode::Hybrid && query.top_k > 0 && !question.text.trim().is_empty();
        if !searches {
            let pieces = pieces(window.await?);
            return Ok(answer(
                merge(pieces, query.max_tokens, query.tokenizer),
                Vec::new(),
                &query,
            ));
        }
        let known = self.bounds(tenant, &query.target, query.scope);
        let (window, bounds, mut finding) = match known {
            Some(bounds) => {
                let find = self.find(tenant, &bounds, &question);
                let (window, finding) = tokio::try_join!(window, find)?;
                (window, bounds, finding)
            }
            None => {
                let window = window.await?;
                let bounds = self.bounds_after(tenant, &query.target, query.scope, window.as_ref());
                let finding = self.find(tenant, &bounds, &question).await?;
                (window, bounds, finding)
            }
        };
        let own = self.own(tenant, &query.target, &bounds);
        self.add_own_matches(tenant, own, &question, &mut finding)
            .await?;
        let pieces = pieces(window);
        self.put_together(tenant, &query, &bounds, finding, pieces)
            .await
    }

    async fn rank(&self, tenant: &TenantId, query: &RecallQuery) -> Result<Ranking, RecallError> {
        let question = Question::of_recall(query)?;
        let bounds = match self.bounds(tenant, &query.target, query.scope) {
            Some(bounds) => bounds,
            None => {
                let thread = self.thread(tenant, &query.target).await?;
                self.bounds_of(tenant, &query.target, query.scope, thread.as_ref())
            }
        };
        let searches =
            query.mode == Mode::Hybrid && query.top_k > 0 && !question.text.trim().is_empty();
        let mut finding = Finding::default();
        if searches {
            finding = self.find(tenant, &bounds, &question).await?;
            let own = self.own(tenant, &query.target, &bounds);
            self.add_own_matches(tenant, own, &question, &mut finding)
                .await?;
        }
        Ok(Ranking { bounds, finding })
    }

    /// Adds the best candidates to the pieces at hand and makes one answer.
    async fn put_together(
        &self,
        tenant: &TenantId,
        query: &RecallQuery,
        bounds: &Bounds,
        finding: Finding,
        mut pieces: Pieces,
    ) -> Result<Recalled, RecallError> {
        let wanted = Wanted {
            own: self.own(tenant, &query.target, bounds),
            head: query.head,
            count: query.top_k,
            min_score: query.min_score,
            all_branches: query.all_branches,
            explain: query.explain,
            beside: Some((query.neighbors_before, query.neighbors_after)),
        };
        let selected = self
            .select(tenant, bounds, finding.ranked, &pieces.window, &wanted)
            .await?;
        pieces.matches = selected.matches;
        pieces.neighbors = selected.neighbors;
        let mut merged = merge(pieces, query.max_tokens, query.tokenizer);
        // A candidate of too low a rank may come back beside a better one.
        let returned: HashSet<MessageId> = merged
            .messages
            .iter()
            .map(|recalled| recalled.message.id)
            .collect();
        let left_out = selected.omitted.into_iter();
        merged
            .omitted
            .extend(left_out.filter(|omission| !returned.contains(&omission.message)));
        Ok(answer(merged, finding.degradations, query))
    }

    async fn search(&self, tenant: &TenantId, query: SearchQuery) -> Result<Found, RecallError> {
        let question = Question::of_search(&query)?;
        let known = self.bounds(tenant, &query.target, query.scope);
        let thread = self.thread(tenant, &query.target);
        let (bounds, mut finding) = match known {
            Some(bounds) => {
                let find = self.find(tenant, &bounds, &question);
                let (_, finding) = tokio::try_join!(thread, find)?;
                (bounds, finding)
            }
            None => {
                let thread = thread.await?;
                let bounds = self.bounds_of(tenant, &query.target, query.scope, thread.as_ref());
                let finding = self.find(tenant, &bounds, &question).await?;
                (bounds, finding)
            }
        };
        let own = self.own(tenant, &query.target, &bounds);
        self.add_own_matches(tenant, own, &question, &mut finding)
            .await?;
        let wanted = Wanted {
            own,
            head: None,
            count: query.limit,
            min_score: query.min_score,
            all_branches: query.all_branches,
            explain: false,
            beside: None,
        };
        let selected = self
            .select(tenant, &bounds, finding.ranked, &[], &wanted)
            .await?;
        let mut room = Room::new();
        let fitting = selected.matches.into_iter();
        let matches = (1_u32..)
            .zip(fitting.filter(|one| room.take(&one.found.message)))
            .map(|(rank, Match { found, ranked })| RecalledMessage {
                message: found.message,
                reasons: vec![Reason::Match],
                rank,
                score: ranked.score,
                dense_score: ranked.dense,
                lexical_score: ranked.lexical,
                neighbor_of: Vec::new(),
            })
            .collect();
        Ok(Found {
            matches,
            degradations: finding.degradations,
        })
    }

    /// The recent window; `None` where there is no conversation at hand.
    async fn window(
        &self,
        tenant: &TenantId,
        target: &Target,
        size: usize,
    ) -> Result<Option<Recent>, RecallError> {
        let Target::Thread(thread) = target else {
            return Ok(None);
        };
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        Ok(Some(self.source.recent(tenant, *thread, size).await?))
    }

    async fn thread(
        &self,
        tenant: &TenantId,
        target: &Target,
    ) -> Result<Option<Thread>, RecallError> {
        let Target::Thread(thread) = target else {
            return Ok(None);
        };
        Ok(Some(self.source.thread(tenant, *thread).await?))
    }

    /// Whose messages may be found, if that is known without asking the store.
    fn bounds(&self, tenant: &TenantId, target: &Target, scope: Scope) -> Option<Bounds> {
        match (target, scope) {
            (Target::Thread(thread), Scope::Thread) => Some(Bounds::Thread(*thread)),
            (Target::Thread(thread), Scope::User | Scope::App) => self
                .owners
                .get(tenant, *thread)
                .map(|owner| owner.bounds(*thread, scope)),
            (Target::User { app, .. }, Scope::App) => Some(Bounds::App(app.clone())),
            (Target::User { app, user }, Scope::Thread | Scope::User) => Some(Bounds::User {
                app: app.clone(),
                user: user.clone(),
            }),
        }
    }

    /// The conversation at hand, where it is in memory alone and the search goes
    /// beyond it: nothing but a look into it finds what was said there.
    fn own(&self, tenant: &TenantId, target: &Target, bounds: &Bounds) -> Option<ThreadId> {
        match (target, bounds) {
            (Target::Thread(thread), Bounds::User { .. } | Bounds::App(_)) => {
                Some(*thread).filter(|thread| self.source.is_ephemeral(tenant, *thread))
            }
            (Target::Thread(_) | Target::User { .. }, _) => None,
        }
    }

    fn bounds_after(
        &self,
        tenant: &TenantId,
        target: &Target,
        scope: Scope,
        window: Option<&Recent>,
    ) -> Bounds {
        self.bounds_of(tenant, target, scope, window.map(|window| &window.thread))
    }

    fn bounds_of(
        &self,
        tenant: &TenantId,
        target: &Target,
        scope: Scope,
        thread: Option<&Thread>,
    ) -> Bounds {
        match (target, thread) {
            (Target::User { app, user }, _) => Bounds::User {
                app: app.clone(),
                user: user.clone(),
            },
            (Target::Thread(id), None) => Bounds::Thread(*id),
            (Target::Thread(id), Some(thread)) => {
                let owner = Owner::of(thread);
                let bounds = owner.bounds(*id, scope);
                self.owners.put(tenant, *id, owner);
                bounds
            }
        }
    }
}

fn pieces(window: Option<Recent>) -> Pieces {
    match window {
        Some(Recent {
            thread: _,
            thread_ordinal,
            messages,
        }) => Pieces {
            window: messages,
            window_ordinal: thread_ordinal,
            ..Pieces::default()
        },
        None => Pieces::default(),
    }
}

fn answer(merged: Merged, degradations: Vec<Degradation>, query: &RecallQuery) -> Recalled {
    let mut omitted = if query.explain {
        merged.omitted
    } else {
        Vec::new()
    };
    omitted.truncate(memory_contract::limits::OMITTED);
    Recalled {
        messages: merged.messages,
        total_tokens: merged.total_tokens,
        degradations,
        omitted,
    }
}

/// Which app and user threads belong to. That never changes, so it is asked for
/// once; whether the thread is still there is asked each time.
#[derive(Default)]
struct Owners {
    known: Mutex<HashMap<(TenantId, ThreadId), Owner>>,
}

#[derive(Clone)]
struct Owner {
    app: memory_contract::AppId,
    user: memory_contract::UserId,
}

/// Threads kept in mind.
const OWNERS: usize = 16_384;

impl Owner {
    fn of(thread: &Thread) -> Self {
        Self {
            app: thread.session.app.clone(),
            user: thread.session.user.clone(),
        }
    }

    /// Whose messages a search from this thread may find: without a user, the
    /// thread's alone.
    fn bounds(&self, thread: ThreadId, scope: Scope) -> Bounds {
        match scope {
            Scope::Thread => Bounds::Thread(thread),
            Scope::User if self.user.is_empty() => Bounds::Thread(thread),
            Scope::User => Bounds::User {
                app: self.app.clone(),
                user: self.user.clone(),
            },
            Scope::App => Bounds::App(self.app.clone()),
        }
    }
}

impl Owners {
    fn get(&self, tenant: &TenantId, thread: ThreadId) -> Option<Owner> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(tenant.clone(), thread)).cloned()
    }

    fn put(&self, tenant: &TenantId, thread: ThreadId, owner: Owner) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= OWNERS {
            known.clear();
        }
        known.insert((tenant.clone(), thread), owner);
    }
}

//! Searches long-term memories.

use std::collections::HashMap;
use std::sync::Arc;

use memory_contract::{MemoryId, memory::Memory};
use memory_index::Selection;
use memory_store::Caller;
use memory_text::{in_first_person, lexical_memory, lexical_query};

use super::index_query::IndexQuery;
use super::search::IndexAnswer;
use super::searcher::{Searcher, TEXT_MATCHES};
use crate::error::RecallError;
use crate::query::{FoundMemories, FoundMemory, MemoryQuery};
use crate::rank::{self, Ranked, Relevance};

/// Candidates read in the first round beyond `limit`, to replace erased and superseded
/// ones.
const SPARE: usize = 8;
/// Most candidates read in one round.
const MAX_BATCH: usize = 200;

impl Searcher {
    /// Finds memories. Postgres is searched by word as well where the index
    /// falls short. Every memory is read from Postgres before it is returned.
    ///
    /// Memories are searched by meaning without the `names` of speakers: nearly all memories of
    /// a user are about the user, so that the name distinguishes few of them. By word, it is an
    /// ordinary word.
    pub(super) async fn memories(
        &self,
        caller: &Caller,
        query: &MemoryQuery,
        names: &[String],
    ) -> Result<FoundMemories, RecallError> {
        if query.limit == 0 || query.query.trim().is_empty() {
            return Ok(FoundMemories::default());
        }
        let index_query = IndexQuery {
            selection: Selection::memories(&caller.tenant, &query.owners, &query.filter),
            limit: self.config.candidates,
            method: query.method,
            freshness: query.freshness,
            max_wait: query.max_wait,
            meaning: in_first_person(&query.query, names),
            words: lexical_query(&query.query, &[]),
        };
        let IndexAnswer {
            candidates,
            method,
            searched_by,
            words,
            meaning,
            is_cut,
            is_full: _,
            lag,
            waiting,
            mut degradations,
        } = {
            let pending = self.pending_memories(caller, &query.owners, &index_query);
            self.search_index(caller, &index_query, pending).await?
        };
        let index_answers = candidates.is_ok();
        let shortfall = self.shortfall(&candidates, lag);
        let traits = rank::QueryTraits::new(&query.query, &[], words.as_ref());
        let mut ranked = rank::rank_memories(candidates.unwrap_or_default(), method, &traits);
        let relevance = Relevance::new(meaning, words, &traits);
        rank::rate(&mut ranked, &relevance, is_cut);
        if let Some(shortfall) = shortfall {
            degradations.push(shortfall.degradation);
            if shortfall.is_in_store {
                let words = self.memory_words(caller, query, index_answers).await?;
                rank::add_text_matches(&mut ranked, &words);
            }
        }
        let memories = self
            .read_memories(caller, query, ranked, &relevance)
            .await?;
        Ok(FoundMemories {
            memories,
            method: Some(searched_by),
            pending: waiting,
            degradations,
        })
    }

    /// The names of the speakers in the messages of the user whose memories are searched; none
    /// for memories of an app.
    pub(super) async fn speakers(&self, caller: &Caller, query: &MemoryQuery) -> Arc<Vec<String>> {
        let of_user = query.owners.user().is_some_and(|user| !user.is_empty());
        if !of_user || query.query.trim().is_empty() {
            return Arc::default();
        }
        self.names
            .within(&caller.tenant, &query.owners.scope())
            .await
    }

    async fn memory_words(
        &self,
        caller: &Caller,
        query: &MemoryQuery,
        index_answers: bool,
    ) -> Result<Vec<(MemoryId, f32)>, RecallError> {
        let MemoryQuery {
            owners,
            query,
            filter,
            ..
        } = query;
        let memories = self.store.memories(caller);
        let searched = memories.search_memories(owners, query, filter, TEXT_MATCHES);
        match searched.await {
            Ok(matches) => Ok(matches
                .into_iter()
                .map(|found| (found.id, found.score))
                .collect()),
            Err(error) if index_answers && error.retryable() => {
                tracing::warn!(%error, "searching the database by word failed");
                Ok(Vec::new())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reads candidates, best first, until `limit` readable ones are found. The batches
    /// grow twofold.
    async fn read_memories(
        &self,
        caller: &Caller,
        query: &MemoryQuery,
        mut rest: Vec<Ranked<MemoryId>>,
        relevance: &Relevance,
    ) -> Result<Vec<FoundMemory>, RecallError> {
        let is_sufficient = |relevance| relevance >= query.min_score;
        rest.retain(|one| one.relevance.is_none_or(is_sufficient));
        let mut taken = Vec::new();
        let mut next = query.limit + SPARE;
        while taken.len() < query.limit && !rest.is_empty() {
            let later = rest.split_off(rest.len().min(next));
            let part = std::mem::replace(&mut rest, later);
            let ids: Vec<MemoryId> = part.iter().map(|one| one.id).collect();
            let found = self
                .store
                .memories(caller)
                .hydrate_memories(&query.owners, &query.filter, &ids)
                .await?;
            let mut found: HashMap<MemoryId, Memory> = found
                .into_iter()
                .map(|memory| (memory.id, memory))
                .collect();
            taken.extend(part.into_iter().filter_map(|ranked| {
                let memory = found.remove(&ranked.id)?;
                let words = || relevance.of_words(&lexical_memory([&*memory.text], None));
                let score = ranked.relevance.unwrap_or_else(words);
                is_sufficient(score).then_some(FoundMemory {
                    memory,
                    score,
                    dense_score: ranked.dense,
                    lexical_score: ranked.lexical,
                })
            }));
            next = next.saturating_mul(2).min(MAX_BATCH);
        }
        taken.truncate(query.limit);
        Ok(taken)
    }
}

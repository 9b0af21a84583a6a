//! Changes that wait to be indexed take part in searches as if the index had them.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use memory_contract::limits::{UNINDEXED, UNINDEXED_BYTES_READ, UNINDEXED_EMBEDDED};
use memory_contract::{MemoryId, MessageId, TenantId};
use memory_embed::{Embedder, dot};
use memory_index::{Candidate, Candidates, EncodedPoint, MemoryPoint, Point};
use memory_store::{Caller, MemoryOwners, Scope, StoreError, Unindexed, UnindexedChange};
use memory_text::{LexicalVector, meaning};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::index_query::IndexQuery;
use super::searcher::Searcher;
use super::waiting::Waiting;
use crate::error::RecallError;
use crate::query::{Freshness, Method};

/// Messages before a pending one count for its words up to this size, as in the index
/// whatever their size.
const CONTEXT_BYTES: i32 = 16 * 1024;
/// Pending changes that are not listed are counted up to this number.
pub(super) const COUNTED: u32 = 1_000;
/// How long a search waits for vectors of pending changes after the index has answered.
const EMBED_WAIT: Duration = Duration::from_millis(2);
/// The wait for the vectors of a turn that was stored just before, as a part of what its query may
/// take: 250 ms by default. Embedding them takes some 10 ms, and longer beside an import.
const TURN_WAIT: u32 = 8;
/// The most messages of such a turn.
const TURN_CHANGES: usize = 8;
/// The wait of a search by meaning alone, which cannot match them by word.
const DENSE_WAIT: Duration = Duration::from_millis(500);

/// The pending changes that a search includes.
#[derive(Default)]
pub(super) struct Pending {
    changes: Vec<Arc<Waiting>>,
    /// Further changes that wait and were not read, of which at most [`COUNTED`] are not listed.
    pub(super) unread: u64,
    /// Of the changes, those without a vector beyond the newest, which are embedded first.
    pub(super) without_vector: u64,
    /// All changes of the scope that wait, also those that a filter leaves out; as far as they were
    /// counted.
    pub(super) waiting: u64,
    method: Method,
    /// Ends when the newest changes are embedded.
    embedded: Option<oneshot::Receiver<()>>,
    /// How long a search waits for it.
    patience: Duration,
}

impl Searcher {
    /// Reads the pending messages that a query may find.
    pub(super) async fn pending_messages(
        &self,
        caller: &Caller,
        scope: &Scope,
        query: &IndexQuery,
    ) -> Result<Pending, RecallError> {
        if query.freshness != Freshness::Newest {
            return Ok(Pending::default());
        }
        let messages = self.store.messages(caller);
        let Unindexed { changes, more } = messages.unindexed(scope, UNINDEXED, COUNTED).await?;
        let (mut known, unread, rest) = self.waiting.divide(changes);
        let (read, left) = self.read_messages(caller, &unread).await?;
        known.extend(read);
        Ok(self.include(caller, query, known, more + left + rest))
    }

    /// Reads the messages of pending changes. Returns also how many were left because of their size.
    async fn read_messages(
        &self,
        caller: &Caller,
        changes: &[UnindexedChange<MessageId>],
    ) -> Result<(Vec<Arc<Waiting>>, u64), StoreError> {
        let mut numbers: HashMap<MessageId, i64> = changes
            .iter()
            .map(|change| (change.subject, change.number))
            .collect();
        if numbers.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let ids: Vec<MessageId> = changes.iter().map(|change| change.subject).collect();
        let messages = || self.store.messages(caller);
        let records = messages()
            .index_records(&ids, CONTEXT_BYTES, Some(UNINDEXED_BYTES_READ))
            .await?;
        let mut read = Vec::with_capacity(records.len());
        for record in records {
            if let Some(number) = numbers.remove(&record.message.id) {
                let text = meaning(&record.message);
                let point = Point::new(&caller.tenant, record);
                read.push(self.keep(caller, number, point.into(), text, false));
            }
        }
        if numbers.is_empty() {
            return Ok((read, 0));
        }
        let missing: Vec<MessageId> = numbers.keys().copied().collect();
        let left = messages().places(&missing).await?;
        for (id, number) in numbers {
            if !left.contains_key(&id) {
                self.waiting.forget(number);
            }
        }
        Ok((read, left.len() as u64))
    }

    /// Reads the pending memories that a query may find.
    pub(super) async fn pending_memories(
        &self,
        caller: &Caller,
        owners: &MemoryOwners,
        query: &IndexQuery,
    ) -> Result<Pending, RecallError> {
        if query.freshness != Freshness::Newest {
            return Ok(Pending::default());
        }
        let memories = || self.store.memories(caller);
        let Unindexed { changes, more } = memories()
            .unindexed_memories(owners, UNINDEXED, COUNTED)
            .await?;
        let (mut known, unread, rest) = self.waiting.divide(changes);
        if !unread.is_empty() {
            let ids: Vec<MemoryId> = unread.iter().map(|change| change.subject).collect();
            let records = memories().memory_records(&ids).await?;
            let mut numbers: HashMap<MemoryId, i64> = unread
                .iter()
                .map(|change| (change.subject, change.number))
                .collect();
            known.extend(records.into_iter().filter_map(|record| {
                let number = numbers.remove(&record.id)?;
                let text = record.text.clone();
                let point = MemoryPoint::new(&caller.tenant, record);
                Some(self.keep(caller, number, point.into(), text, true))
            }));
            for number in numbers.into_values() {
                self.waiting.forget(number);
            }
        }
        Ok(self.include(caller, query, known, more + rest))
    }

    /// Keeps a change for the next searches.
    fn keep(
        &self,
        caller: &Caller,
        number: i64,
        entry: EncodedPoint,
        text: String,
        replaces: bool,
    ) -> Arc<Waiting> {
        let embedder = self.embedder.as_ref();
        let tenant = &caller.tenant;
        let waiting = Waiting::new(number, entry, text, replaces, embedder, tenant);
        self.waiting.keep(waiting)
    }

    /// Keeps the selected changes, and starts to embed the newest of those without a vector.
    fn include(
        &self,
        caller: &Caller,
        query: &IndexQuery,
        mut changes: Vec<Arc<Waiting>>,
        unread: u64,
    ) -> Pending {
        let waiting = changes.len() as u64 + unread;
        changes.retain(|change| query.selection.admits(&change.entry.payload));
        changes.sort_by_key(|change| Reverse(change.number));
        let mut pending = Pending {
            changes,
            unread,
            waiting,
            method: query.method,
            ..Pending::default()
        };
        if let Some(embedder) = &self.embedder
            && query.method != Method::Lexical
        {
            pending.embed(embedder, &caller.tenant);
        }
        pending
    }
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Starts to embed the newest changes without a vector, and counts the others.
    fn embed(&mut self, embedder: &Embedder, tenant: &TenantId) {
        let missing = self
            .changes
            .iter()
            .filter(|change| change.vector(embedder).is_none());
        let mut texts: Vec<String> = Vec::new();
        for change in missing {
            match texts.len() < UNINDEXED_EMBEDDED {
                true => texts.push(change.meaning.clone()),
                false => self.without_vector += 1,
            }
        }
        self.patience = match self.method {
            Method::Dense => DENSE_WAIT,
            Method::Hybrid if texts.len() <= TURN_CHANGES => embedder.query_timeout() / TURN_WAIT,
            Method::Hybrid | Method::Lexical => EMBED_WAIT,
        };
        if !texts.is_empty() {
            self.embedded = Some(embedder.embed_first(tenant, texts, true));
        }
    }

    /// Adds the changes to the candidates of the index, with the scores that the index
    /// would give them, and keeps the best `limit` of each list. A search by meaning alone
    /// counts the changes without a vector as not included.
    pub(super) async fn join(
        &mut self,
        found: &mut Candidates,
        embedder: Option<&Embedder>,
        dense: Option<&[f32]>,
        words: Option<&LexicalVector>,
        limit: usize,
    ) {
        self.wait_for_vectors().await;
        let similarity = |change: &Arc<Waiting>| Some(dot(dense?, change.vector(embedder?)?));
        let similarities: Vec<Option<f32>> = self.changes.iter().map(similarity).collect();
        if dense.is_some() {
            let scored = self.changes.iter().zip(&similarities);
            let scored = scored.filter_map(|(change, score)| Some((&**change, (*score)?)));
            add(&mut found.dense, scored.collect(), limit);
            if self.method == Method::Dense {
                let known: HashSet<Uuid> = found.dense.iter().map(|one| one.id).collect();
                let lacks = |(change, score): &(&Arc<Waiting>, &Option<f32>)| {
                    score.is_none() && !known.contains(&change.entry.candidate.id)
                };
                let all = self.changes.iter().zip(&similarities);
                self.unread += all.filter(lacks).count() as u64;
                self.without_vector = 0;
            }
        }
        if let Some(words) = words {
            let mut scored = Vec::new();
            let known: HashSet<Uuid> = found.dense.iter().map(|one| one.id).collect();
            for (change, similarity) in self.changes.iter().zip(&similarities) {
                let (score, id) = (words.dot(&change.entry.lexical), change.entry.candidate.id);
                if score > 0.0 || change.replaces {
                    scored.push((&**change, score));
                }
                if score > 0.0 && dense.is_some() && similarity.is_none() && !known.contains(&id) {
                    found.unembedded.insert(id);
                }
            }
            add(&mut found.lexical, scored, limit);
            found.lexical.retain(|one| one.score > 0.0);
        }
    }

    /// Waits briefly for the vectors of the newest changes. Afterwards, those that are there are
    /// used.
    async fn wait_for_vectors(&mut self) {
        let Some(embedded) = self.embedded.take() else {
            return;
        };
        let _ = tokio::time::timeout(self.patience, embedded).await;
    }
}

/// Adds changes with their scores to a list, and keeps the best `limit`. A candidate of the index
/// stays, unless a change replaces it.
fn add(list: &mut Vec<Candidate>, scored: Vec<(&Waiting, f32)>, limit: usize) {
    let replaced = scored.iter().filter(|(change, _)| change.replaces);
    let replaced: HashSet<Uuid> = replaced
        .map(|(change, _)| change.entry.candidate.id)
        .collect();
    list.retain(|one| !replaced.contains(&one.id));
    let known: HashSet<Uuid> = list.iter().map(|one| one.id).collect();
    for (change, score) in scored {
        let candidate = &change.entry.candidate;
        if !known.contains(&candidate.id) {
            list.push(Candidate {
                score,
                ..candidate.clone()
            });
        }
    }
    list.sort_by(|left, right| right.score.total_cmp(&left.score));
    list.truncate(limit);
}

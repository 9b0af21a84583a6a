//! Changes that wait to be indexed take part in searches as if the index had them.

use std::collections::HashMap;
use std::time::Duration;

use memory_contract::TenantId;
use memory_contract::limits::{UNINDEXED, UNINDEXED_BYTES};
use memory_embed::{Embedder, dot};
use memory_index::{Candidate, Candidates, EncodedPoint, MemoryPoint, Point};
use memory_store::{Caller, MemoryOwners, Scope, Unindexed};
use memory_text::{LexicalVector, meaning};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::index_query::IndexQuery;
use super::searcher::Searcher;
use crate::error::RecallError;
use crate::query::{Freshness, Method};

/// Messages before a pending one count for its words up to this size, as in the index
/// whatever their size.
const CONTEXT_BYTES: i32 = 16 * 1024;
/// Further pending changes are counted up to this number.
pub(super) const COUNTED: u32 = 1_000;
/// How long a search waits for vectors of pending changes after the index has answered.
const EMBED_WAIT: Duration = Duration::from_millis(2);
/// The wait of a search by meaning alone, which cannot match them by word.
const DENSE_WAIT: Duration = Duration::from_millis(500);

/// The pending changes that a search includes.
#[derive(Default)]
pub(super) struct Pending {
    changes: Vec<PendingChange>,
    /// Further changes that wait, counted up to [`COUNTED`].
    pub(super) more: u64,
    method: Method,
    /// The owner of the changes; `None` without changes.
    tenant: Option<TenantId>,
    /// Ends when all changes are embedded.
    embedded: Option<oneshot::Receiver<()>>,
}

/// A pending change.
struct PendingChange {
    entry: EncodedPoint,
    /// The text that is embedded.
    meaning: String,
    /// Whether it replaces the point of the index. A message has the same content there, but a
    /// memory may have changed.
    replaces: bool,
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
        let messages = || self.store.messages(caller);
        let Unindexed { ids, more } = messages()
            .unindexed(scope, UNINDEXED, COUNTED, UNINDEXED_BYTES)
            .await?;
        let mut changes = Vec::new();
        if !ids.is_empty() {
            let records = messages().index_records(&ids, CONTEXT_BYTES).await?;
            changes.extend(records.into_iter().map(|record| PendingChange {
                meaning: meaning(&record.message),
                entry: Point::new(&caller.tenant, record).into(),
                replaces: false,
            }));
            let ids: Vec<Uuid> = ids.into_iter().map(|id| id.uuid()).collect();
            newest_first(&mut changes, &ids);
        }
        Ok(self.include(caller, query, changes, more))
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
        let Unindexed { ids, more } = memories()
            .unindexed_memories(owners, UNINDEXED, COUNTED)
            .await?;
        let mut changes = Vec::new();
        if !ids.is_empty() {
            let records = memories().memory_records(&ids).await?;
            changes.extend(records.into_iter().map(|record| PendingChange {
                meaning: record.text.clone(),
                entry: MemoryPoint::new(&caller.tenant, record).into(),
                replaces: true,
            }));
            let ids: Vec<Uuid> = ids.into_iter().map(|id| id.uuid()).collect();
            newest_first(&mut changes, &ids);
        }
        Ok(self.include(caller, query, changes, more))
    }

    /// Keeps the selected changes, and starts to embed those without a vector.
    fn include(
        &self,
        caller: &Caller,
        query: &IndexQuery,
        mut changes: Vec<PendingChange>,
        more: u64,
    ) -> Pending {
        changes.retain(|change| query.selection.admits(&change.entry.payload));
        let embedder = self.embedder.as_ref();
        let embedded = embedder
            .filter(|_| query.method != Method::Lexical)
            .and_then(|embedder| embed(embedder, &caller.tenant, &mut changes));
        Pending {
            changes,
            more,
            method: query.method,
            tenant: Some(caller.tenant.clone()),
            embedded,
        }
    }
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
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
        self.take_vectors(embedder).await;
        if let Some(query) = dense {
            for change in &self.changes {
                if let Some(vector) = &change.entry.dense {
                    add(&mut found.dense, change, dot(query, vector));
                }
            }
            if self.method == Method::Dense {
                let lacks = |change: &&PendingChange| {
                    let id = change.entry.candidate.id;
                    change.entry.dense.is_none() && found.dense.iter().all(|one| one.id != id)
                };
                self.more += self.changes.iter().filter(lacks).count() as u64;
            }
            best(&mut found.dense, limit);
        }
        if let Some(words) = words {
            for change in &self.changes {
                let score = words.dot(&change.entry.lexical);
                if score > 0.0 {
                    add(&mut found.lexical, change, score);
                    let id = change.entry.candidate.id;
                    let is_known = found.dense.iter().any(|one| one.id == id);
                    if dense.is_some() && change.entry.dense.is_none() && !is_known {
                        found.unembedded.insert(id);
                    }
                }
            }
            best(&mut found.lexical, limit);
        }
    }

    /// Waits briefly for vectors.
    async fn take_vectors(&mut self, embedder: Option<&Embedder>) {
        let (Some(embedder), Some(tenant), Some(embedded)) =
            (embedder, &self.tenant, self.embedded.take())
        else {
            return;
        };
        let wait = match self.method {
            Method::Dense => DENSE_WAIT,
            Method::Hybrid | Method::Lexical => EMBED_WAIT,
        };
        // Either way, the vectors that are there are used.
        let _ = tokio::time::timeout(wait, embedded).await;
        for change in &mut self.changes {
            if change.entry.dense.is_none() {
                change.entry.dense = embedder.known(tenant, &change.meaning);
            }
        }
    }
}

/// Sorts changes in the order of `ids`.
fn newest_first(changes: &mut [PendingChange], ids: &[Uuid]) {
    let places: HashMap<Uuid, usize> = (0..).zip(ids).map(|(place, id)| (*id, place)).collect();
    changes.sort_by_key(|change| places.get(&change.entry.candidate.id).copied());
}

/// Takes the vectors of changes that were embedded recently, and asks for the others;
/// `None` if there are no others.
fn embed(
    embedder: &Embedder,
    tenant: &TenantId,
    changes: &mut [PendingChange],
) -> Option<oneshot::Receiver<()>> {
    let mut missing = Vec::new();
    for change in changes {
        change.entry.dense = embedder.known(tenant, &change.meaning);
        if change.entry.dense.is_none() {
            missing.push(change.meaning.clone());
        }
    }
    (!missing.is_empty()).then(|| embedder.embed_first(tenant, missing, true))
}

/// Adds a change to a list. The candidate of the index stays, unless the change replaces it.
fn add(list: &mut Vec<Candidate>, change: &PendingChange, score: f32) {
    let candidate = &change.entry.candidate;
    match list.iter_mut().find(|known| known.id == candidate.id) {
        Some(known) if change.replaces => known.score = score,
        Some(_) => {}
        None => list.push(Candidate {
            score,
            ..candidate.clone()
        }),
    }
}

/// Sorts a list, best first, and cuts it.
fn best(list: &mut Vec<Candidate>, limit: usize) {
    list.sort_by(|left, right| right.score.total_cmp(&left.score));
    list.truncate(limit);
}

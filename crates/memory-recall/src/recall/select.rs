//! Reads ranked candidates from the store and drops candidates that may not be returned.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use memory_contract::{MessageId, limits, message::Message};
use memory_index::most_passages;
use memory_store::{Caller, Hydrated, Neighbor, StoreError};
use memory_text::{lexical_document, meaning};

use super::messages::Ranking;
use super::searcher::Searcher;
use super::stages::Stage;
use crate::error::RecallError;
use crate::merge::{Content, Match};
use crate::query::{Omission, OmissionReason, RecallQuery};
use crate::rank::{Ranked, Relevance};

/// The candidates that may be returned, their neighbors, and the rejected ones.
#[derive(Default)]
pub(super) struct Selected {
    pub(super) matches: Vec<Match>,
    pub(super) neighbors: Vec<Neighbor>,
    pub(super) omitted: Vec<Omission>,
    /// Candidates that may not be returned for another reason than their score and rank.
    displaced: usize,
}

/// Candidates read in the first round beyond `top_k`, to replace erased ones, duplicates
/// and those on inactive branches.
const SPARE: usize = 8;
/// Where duplicates, messages on inactive branches and erased ones are half of the candidates
/// and too few are left, the index is searched again for this many times the candidates.
const WHEN_CROWDED: usize = 16;

impl Searcher {
    /// Reads candidates from the store, best first, until `query.top_k` of them may be
    /// returned: readable in the scope, of sufficient score, on an allowed branch, and
    /// neither in the window nor rejected by `adds`. Of several with the same content the
    /// best is taken; a list by time has each. Reads their neighbors as well.
    pub(super) async fn select(
        &self,
        caller: &Caller,
        query: &RecallQuery,
        ranking: &mut Ranking,
        window: &[Message],
        adds: &(dyn Fn(&Message) -> bool + Send + Sync),
    ) -> Result<Selected, RecallError> {
        let mut selected = Selected::default();
        let mut rest = std::mem::take(&mut ranking.ranked);
        if rest.is_empty() {
            return Ok(selected);
        }
        let started = Instant::now();
        let mut seen: HashSet<MessageId> = window.iter().map(|message| message.id).collect();
        let mut said: HashSet<Content> = window.iter().map(Content::new).collect();
        rest.retain(|one| seen.insert(one.id));
        let count = rest.len();
        let (mut rest, mut insufficient): (Vec<_>, Vec<_>) = rest
            .into_iter()
            .partition(|one| is_sufficient(one.relevance, query));
        let mut prefetched: Option<HashSet<MessageId>> = None;
        let mut explained = HashMap::new();
        let mut take = query.top_k + SPARE;
        while selected.matches.len() < query.top_k && !rest.is_empty() {
            let later = rest.split_off(rest.len().min(take));
            let part = std::mem::replace(&mut rest, later);
            let ids: Vec<MessageId> = part.iter().map(|one| one.id).collect();
            let hydrate = self
                .store
                .messages(caller)
                .hydrate(&query.scope, query.head(), &ids);
            let found = if prefetched.is_none() {
                // The first `top_k` candidates are nearly always the matches.
                let anchors = &ids[..ids.len().min(query.top_k)];
                let neighbors = self.neighbors_of(caller, query, anchors);
                let unread = rest.iter().chain(&insufficient);
                let paths = self.paths_of(caller, query, unread);
                let (found, neighbors, paths) = tokio::try_join!(hydrate, neighbors, paths)?;
                selected.neighbors = neighbors;
                explained = paths;
                prefetched = Some(anchors.iter().copied().collect());
                found
            } else {
                hydrate.await?
            };
            selected.sort_out(part, found, &ranking.relevance, &mut said, adds, query);
            take = take.saturating_mul(2).min(limits::OMITTED);
            let crowded = selected.displaced.saturating_mul(2) >= count;
            if rest.is_empty()
                && selected.matches.len() < query.top_k
                && crowded
                && std::mem::take(&mut ranking.is_full)
            {
                let limit = self.config.candidates.saturating_mul(WHEN_CROWDED);
                // What it asks to wait for was waited for before.
                let at_once = RecallQuery {
                    max_wait: Duration::ZERO,
                    ..query.clone()
                };
                let pending = ranking.pending;
                *ranking = Box::pin(self.rank_messages(caller, &at_once, limit)).await?;
                ranking.is_full = false;
                ranking.pending = ranking.pending.max(pending);
                let more = std::mem::take(&mut ranking.ranked).into_iter();
                let more = more.filter(|one| seen.insert(one.id));
                let (sufficient, others): (Vec<_>, Vec<_>) =
                    more.partition(|one| is_sufficient(one.relevance, query));
                rest = sufficient;
                insufficient.extend(others);
            }
        }
        if let Some(prefetched) = &prefetched {
            let missing = selected.matches_beyond(prefetched);
            let more = self.neighbors_of(caller, query, &missing).await?;
            selected.neighbors.extend(more);
        }
        for found in &mut selected.matches {
            found.passage = self.passage(found);
        }
        if query.omissions > 0 {
            rest.extend(insufficient);
            if prefetched.is_none() {
                explained = self.paths_of(caller, query, rest.iter()).await?;
            }
            selected.explain(rest, &explained, query);
        }
        Stage::Read.ended(started);
        Ok(selected)
    }

    /// Which of the first `query.omissions` candidates may be read, and whether each is active.
    /// Their content is not read.
    async fn paths_of(
        &self,
        caller: &Caller,
        query: &RecallQuery,
        candidates: impl Iterator<Item = &Ranked>,
    ) -> Result<HashMap<MessageId, bool>, StoreError> {
        let ids: Vec<MessageId> = candidates.map(|one| one.id).take(query.omissions).collect();
        let messages = self.store.messages(caller);
        let paths = messages
            .hydrate_paths(&query.scope, query.head(), &ids)
            .await?;
        Ok(paths.into_iter().collect())
    }

    /// The passage by which a long message was found.
    fn passage(&self, found: &Match) -> Option<String> {
        let place = usize::from(found.ranked.passage?.checked_sub(2)?);
        let message = &found.found.message;
        let (document, most) = (meaning(message), most_passages(message));
        let passages = self.embedder.as_ref()?.later_passages(&document, most);
        passages.into_iter().nth(place)
    }

    async fn neighbors_of(
        &self,
        caller: &Caller,
        query: &RecallQuery,
        anchors: &[MessageId],
    ) -> Result<Vec<Neighbor>, StoreError> {
        let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let before = count(query.neighbors_before);
        let after = count(query.neighbors_after);
        self.store
            .messages(caller)
            .neighbors(&query.scope, query.head(), anchors, before, after)
            .await
    }
}

impl Selected {
    /// The matches whose neighbors were not prefetched.
    fn matches_beyond(&self, prefetched: &HashSet<MessageId>) -> Vec<MessageId> {
        self.matches
            .iter()
            .map(|one| one.ranked.id)
            .filter(|message| !prefetched.contains(message))
            .collect()
    }

    /// Accepts or rejects candidates, best first. One that cannot be read is not even
    /// listed as omitted.
    fn sort_out(
        &mut self,
        part: Vec<Ranked>,
        found: Vec<Hydrated>,
        relevance: &Relevance,
        said: &mut HashSet<Content>,
        adds: &(dyn Fn(&Message) -> bool + Send + Sync),
        query: &RecallQuery,
    ) {
        let mut found = by_id(found);
        for mut ranked in part {
            let Some(found) = found.remove(&ranked.id) else {
                self.displaced += 1;
                continue;
            };
            ranked.relevance = ranked.relevance.or_else(|| {
                let words = lexical_document(&found.message, &[]);
                Some(relevance.of_words(&words))
            });
            let reason = if let Some(reason) = unfit(&ranked, found.active, query) {
                reason
            } else if self.matches.len() >= query.top_k {
                OmissionReason::Rank
            } else if !adds(&found.message)
                || !(query.lists() || said.insert(Content::new(&found.message)))
            {
                OmissionReason::Duplicate
            } else {
                self.matches.push(Match {
                    found,
                    ranked,
                    passage: None,
                });
                continue;
            };
            if matches!(reason, OmissionReason::Duplicate | OmissionReason::Branch) {
                self.displaced += 1;
            }
            self.omit(&ranked, reason);
        }
    }

    /// Records why further candidates are left out, at most `query.omissions` in all.
    /// `paths` has the readable ones.
    fn explain(
        &mut self,
        candidates: Vec<Ranked>,
        paths: &HashMap<MessageId, bool>,
        query: &RecallQuery,
    ) {
        for ranked in candidates {
            if self.omitted.len() >= query.omissions {
                return;
            }
            if let Some(active) = paths.get(&ranked.id) {
                let reason = unfit(&ranked, *active, query).unwrap_or(OmissionReason::Rank);
                self.omit(&ranked, reason);
            }
        }
    }

    fn omit(&mut self, ranked: &Ranked, reason: OmissionReason) {
        self.omitted.push(Omission {
            message: ranked.id,
            reason,
            score: ranked.relevance.unwrap_or_default(),
        });
    }
}

fn by_id(found: Vec<Hydrated>) -> HashMap<MessageId, Hydrated> {
    found.into_iter().map(|one| (one.message.id, one)).collect()
}

/// Messages of a list by time have no relevance.
fn is_sufficient(relevance: Option<f32>, query: &RecallQuery) -> bool {
    query.lists() || relevance.is_none_or(|relevance| relevance >= query.min_score)
}

/// Why a readable candidate may not be returned, whatever its content and its rank.
fn unfit(ranked: &Ranked, active: bool, query: &RecallQuery) -> Option<OmissionReason> {
    if !is_sufficient(ranked.relevance, query) {
        Some(OmissionReason::Threshold)
    } else if !active && !query.all_branches {
        Some(OmissionReason::Branch)
    } else {
        None
    }
}

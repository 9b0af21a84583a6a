//! From a ranking to messages that may be shown.

use std::collections::{HashMap, HashSet};

use memory_contract::{Message, MessageId, TenantId, ThreadId, limits};
use memory_store::{Hydrated, Neighbor, Scope as Bounds};

use super::Shared;
use crate::error::RecallError;
use crate::merge::{Content, Match};
use crate::query::{Omission, OmissionReason};
use crate::rank::Ranked;

/// What is wanted of a ranking.
pub(super) struct Wanted {
    /// A thread in memory alone whose messages may be found beside those within
    /// the bounds.
    pub(super) own: Option<ThreadId>,
    /// What stands for the head of its thread.
    pub(super) head: Option<MessageId>,
    /// Matches at most.
    pub(super) count: usize,
    pub(super) min_score: f32,
    pub(super) all_branches: bool,
    /// Whether to tell what was left out.
    pub(super) explain: bool,
    /// Messages before and after each match.
    pub(super) beside: Option<(usize, usize)>,
}

/// What was taken.
#[derive(Default)]
pub(super) struct Selected {
    pub(super) matches: Vec<Match>,
    pub(super) neighbors: Vec<Neighbor>,
    pub(super) omitted: Vec<Omission>,
}

/// Candidates read beyond those wanted, because some fall away: erased ones,
/// duplicates, other branches.
const SPARE: usize = 8;

impl Shared {
    /// Takes the best candidates that may be read, each content once. All are
    /// read from the store just now: what the index found is no more than a
    /// hint. The messages of the window are no candidates.
    pub(super) async fn select(
        &self,
        tenant: &TenantId,
        bounds: &Bounds,
        ranked: Vec<Ranked>,
        window: &[Message],
        wanted: &Wanted,
    ) -> Result<Selected, RecallError> {
        let recent: HashSet<MessageId> = window.iter().map(|message| message.id).collect();
        let mut said: HashSet<Content> = window.iter().map(Content::of).collect();
        let mut selected = Selected::default();
        let mut rest = ranked;
        rest.retain(|one| !recent.contains(&one.id));
        if !wanted.explain {
            rest.retain(|one| one.score >= wanted.min_score);
        }
        let mut guessed: Option<HashSet<MessageId>> = None;
        let mut take = if wanted.explain {
            wanted.count + limits::OMITTED
        } else {
            wanted.count + SPARE
        };
        while selected.matches.len() < wanted.count && !rest.is_empty() {
            let later = rest.split_off(rest.len().min(take));
            let part = std::mem::replace(&mut rest, later);
            let ids: Vec<MessageId> = part.iter().map(|one| one.id).collect();
            let hydrate = self.hydrate(tenant, bounds, wanted, &ids);
            let found = match (&guessed, wanted.beside) {
                (None, Some(beside)) => {
                    // The first are nearly always those that stay.
                    let anchors = &ids[..ids.len().min(wanted.count)];
                    let around = self.around(tenant, bounds, wanted, anchors, beside);
                    let (found, neighbors) = tokio::try_join!(hydrate, around)?;
                    selected.neighbors = neighbors;
                    guessed = Some(anchors.iter().copied().collect());
                    found
                }
                (Some(_), _) | (None, None) => hydrate.await?,
            };
            selected.sort_out(part, found, &mut said, wanted);
            take = take.saturating_mul(2).min(limits::OMITTED);
        }
        if let (Some(guessed), Some(beside)) = (guessed, wanted.beside) {
            let missing = selected.beyond(&guessed);
            let more = self.around(tenant, bounds, wanted, &missing, beside);
            selected.neighbors.extend(more.await?);
        }
        Ok(selected)
    }

    async fn hydrate(
        &self,
        tenant: &TenantId,
        bounds: &Bounds,
        wanted: &Wanted,
        ids: &[MessageId],
    ) -> Result<Vec<Hydrated>, RecallError> {
        let (source, head) = (&self.source, wanted.head);
        let mut found = source.hydrate(tenant, bounds, head, ids).await?;
        if let Some(own) = wanted.own.map(Bounds::Thread) {
            found.extend(source.hydrate(tenant, &own, head, ids).await?);
        }
        Ok(found)
    }

    async fn around(
        &self,
        tenant: &TenantId,
        bounds: &Bounds,
        wanted: &Wanted,
        anchors: &[MessageId],
        (before, after): (usize, usize),
    ) -> Result<Vec<Neighbor>, RecallError> {
        if anchors.is_empty() || (before == 0 && after == 0) {
            return Ok(Vec::new());
        }
        let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let (before, after) = (count(before), count(after));
        let (source, head) = (&self.source, wanted.head);
        let mut found = source
            .neighbors(tenant, bounds, head, anchors, before, after)
            .await?;
        if let Some(own) = wanted.own.map(Bounds::Thread) {
            let beside = source.neighbors(tenant, &own, head, anchors, before, after);
            found.extend(beside.await?);
        }
        Ok(found)
    }
}

impl Selected {
    /// The matches whose neighbors were not guessed.
    fn beyond(&self, guessed: &HashSet<MessageId>) -> Vec<MessageId> {
        self.matches
            .iter()
            .map(|one| one.ranked.id)
            .filter(|message| !guessed.contains(message))
            .collect()
    }

    /// Goes through candidates, the best first. One that cannot be read any more
    /// is not even mentioned.
    fn sort_out(
        &mut self,
        part: Vec<Ranked>,
        found: Vec<Hydrated>,
        said: &mut HashSet<Content>,
        wanted: &Wanted,
    ) {
        let mut found: HashMap<MessageId, Hydrated> =
            found.into_iter().map(|one| (one.message.id, one)).collect();
        for ranked in part {
            let Some(found) = found.remove(&ranked.id) else {
                continue;
            };
            let reason = if ranked.score < wanted.min_score {
                OmissionReason::Threshold
            } else if !found.active && !wanted.all_branches {
                OmissionReason::Branch
            } else if self.matches.len() >= wanted.count {
                OmissionReason::Rank
            } else if !said.insert(Content::of(&found.message)) {
                OmissionReason::Duplicate
            } else {
                self.matches.push(Match { found, ranked });
                continue;
            };
            self.omitted.push(Omission {
                message: ranked.id,
                reason,
                score: ranked.score,
            });
        }
    }
}

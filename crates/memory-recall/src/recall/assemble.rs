//! Puts an answer together: the window, the best matches and their neighbors.

use std::collections::HashSet;

use memory_budget::{Room, Size};
use memory_contract::{MessageId, limits, message::Message};
use memory_store::Caller;

use super::messages::Ranking;
use super::searcher::Searcher;
use super::select::Selected;
use crate::error::RecallError;
use crate::merge::{MergeInput, bytes_of, cuts, merge};
use crate::query::{Degradation, FoundMessages, Reason, RecallQuery, Recalled, RecalledMessage};

impl Searcher {
    pub(super) async fn rank(
        &self,
        caller: &Caller,
        query: &RecallQuery,
    ) -> Result<Ranking, RecallError> {
        if query.lists() {
            return Box::pin(self.said_then(caller, query)).await;
        }
        if !query.searches() {
            return Ok(Ranking::default());
        }
        // On the heap, because the future of a whole request would be too large for a stack.
        Box::pin(self.rank_messages(caller, query, self.config.candidates)).await
    }

    /// Reads the recent window.
    pub(super) async fn window(
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
    pub(super) async fn assemble(
        &self,
        caller: &Caller,
        query: &RecallQuery,
        mut ranking: Ranking,
        pieces: MergeInput,
    ) -> Result<Recalled, RecallError> {
        let all = |_: &Message| true;
        let selected = self
            .select(caller, query, &mut ranking, &pieces.window, &all)
            .await?;
        Ok(Recalled {
            method: ranking.method,
            named_times: ranking.named_times,
            pending: ranking.pending,
            ..answer(query, selected, pieces, ranking.degradations)
        })
    }

    pub(super) async fn search(
        &self,
        caller: &Caller,
        query: RecallQuery,
    ) -> Result<FoundMessages, RecallError> {
        let query = RecallQuery {
            neighbors_before: 0,
            neighbors_after: 0,
            omissions: 0,
            ..query
        };
        let ranking = self.rank_messages(caller, &query, self.config.candidates);
        let mut ranking = Box::pin(ranking).await?;
        let all = |_: &Message| true;
        let selected = self.select(caller, &query, &mut ranking, &[], &all).await?;
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
        Ok(FoundMessages {
            matches,
            cuts: cuts(others.map(|tokens| (Reason::Match, tokens))),
            method: ranking.method,
            named_times: ranking.named_times,
            degradations: ranking.degradations,
        })
    }
}

/// Merges what was selected with the other pieces into one answer.
pub(super) fn answer(
    query: &RecallQuery,
    selected: Selected,
    mut pieces: MergeInput,
    degradations: Vec<Degradation>,
) -> Recalled {
    pieces.matches = selected.matches;
    pieces.neighbors = selected.neighbors;
    pieces.keeps_repeats = query.lists();
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
        named_times: Vec::new(),
        pending: 0,
        degradations,
        omitted,
        cuts: merged.cuts,
    }
}

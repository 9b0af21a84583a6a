//! Searches messages and ranks them.

use std::time::Instant;

use memory_contract::{MessageId, message::MessageFilter};
use memory_index::Selection;
use memory_store::Caller;
use memory_text::{in_first_person, lexical_query};

use super::index_query::IndexQuery;
use super::named_times::{during, past_times, prefer};
use super::search::IndexAnswer;
use super::searcher::{Searcher, TEXT_MATCHES};
use super::stages::Stage;
use crate::error::RecallError;
use crate::query::{Degradation, Method, NamedTime, RecallQuery};
use crate::rank::{self, Ranked, Relevance};

/// Ranked candidates that have not been read yet.
#[derive(Default)]
pub struct Ranking {
    pub(super) ranked: Vec<Ranked>,
    /// Whether the index has more candidates.
    pub(super) is_full: bool,
    /// Rates the candidates whose words are yet to be read.
    pub(super) relevance: Relevance,
    /// How they were found; `None`: nothing was searched.
    pub(super) method: Option<Method>,
    /// The past times that the query names.
    pub(super) named_times: Vec<NamedTime>,
    /// Messages of the scope that wait to be indexed.
    pub(super) pending: u64,
    pub(super) degradations: Vec<Degradation>,
}

impl Searcher {
    /// Ranks the candidates of a query. If it names times, those of these times are ranked apart
    /// as well, and come before others that match as well.
    pub(super) async fn rank_messages(
        &self,
        caller: &Caller,
        query: &RecallQuery,
        limit: usize,
    ) -> Result<Ranking, RecallError> {
        let times = past_times(query);
        let all = self.rank_passing(caller, query, &query.filter, limit);
        let ranking = match during(&query.filter, &times) {
            Some(filter) => {
                let then = self.rank_passing(caller, query, &filter, limit);
                let (mut all, then) = tokio::try_join!(all, then)?;
                prefer(&mut all.ranked, then.ranked, &times);
                for degradation in then.degradations {
                    if !all.degradations.contains(&degradation) {
                        all.degradations.push(degradation);
                    }
                }
                all
            }
            None => all.await?,
        };
        Ok(Ranking {
            named_times: times,
            ..ranking
        })
    }

    /// Searches the index for messages that pass a filter and ranks the candidates, at most `limit` of
    /// each search. Adds matches by word from Postgres if the index is unavailable, lagging or being
    /// rebuilt.
    async fn rank_passing(
        &self,
        caller: &Caller,
        query: &RecallQuery,
        filter: &MessageFilter,
        limit: usize,
    ) -> Result<Ranking, RecallError> {
        let started = Instant::now();
        let scope = &query.scope;
        let mut ranking = Ranking::default();
        let names = self.names.within(&caller.tenant, scope).await;
        let index_query = IndexQuery {
            selection: Selection::new(&caller.tenant, scope, filter),
            method: query.method,
            limit,
            freshness: query.freshness,
            max_wait: query.max_wait,
            meaning: in_first_person(&query.query, &names),
            words: lexical_query(&query.query, &names),
        };
        let IndexAnswer {
            candidates,
            method,
            searched_by,
            words,
            meaning,
            is_cut,
            is_full,
            lag,
            waiting,
            degradations,
        } = {
            let pending = self.pending_messages(caller, scope, &index_query);
            self.search_index(caller, &index_query, pending).await?
        };
        Stage::Search.ended(started);
        ranking.degradations = degradations;
        ranking.pending = waiting;
        ranking.method = Some(searched_by);
        ranking.is_full = is_full;
        let index_answers = candidates.is_ok();
        let shortfall = self.shortfall(&candidates, lag);
        let started = Instant::now();
        let traits = rank::QueryTraits::new(&query.query, &names, words.as_ref());
        ranking.ranked = rank::rank(
            candidates.unwrap_or_default(),
            method,
            self.config.ranking,
            &traits,
        );
        ranking.relevance = Relevance::new(meaning, words, &traits);
        rank::rate(&mut ranking.ranked, &ranking.relevance, is_cut);
        Stage::Rank.ended(started);
        if let Some(shortfall) = shortfall {
            ranking.degradations.push(shortfall.degradation);
            if shortfall.is_in_store {
                self.add_text_matches(caller, query, filter, index_answers, &mut ranking)
                    .await?;
            }
        }
        Ok(ranking)
    }

    /// Searches Postgres by word. If the index answered, an outage of Postgres costs
    /// these matches alone.
    async fn add_text_matches(
        &self,
        caller: &Caller,
        query: &RecallQuery,
        filter: &MessageFilter,
        index_answers: bool,
        ranking: &mut Ranking,
    ) -> Result<(), RecallError> {
        let searched = self
            .store
            .messages(caller)
            .search_text(&query.scope, &query.query, filter, TEXT_MATCHES)
            .await;
        let matches = match searched {
            Ok(matches) => matches,
            Err(error) if index_answers && error.retryable() => {
                tracing::warn!(%error, "searching the database by word failed");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let matches: Vec<(MessageId, f32)> = matches
            .into_iter()
            .map(|found| (found.id, found.score))
            .collect();
        rank::add_text_matches(&mut ranking.ranked, &matches);
        Ok(())
    }
}

//! Searches the index, pending changes included.

use std::time::Instant;

use memory_embed::{Baseline, QueryBaseline};
use memory_index::{Candidates, IndexError, IndexState, Search};
use memory_store::Caller;
use memory_text::LexicalVector;

use super::index_query::IndexQuery;
use super::pending::{COUNTED, Pending};
use super::searcher::Searcher;
use crate::error::RecallError;
use crate::query::{Degradation, DegradationReason, Method};
use crate::rank::best_passages;

/// Where passages leave less than half of the candidates of a search by meaning to different
/// messages, it is repeated with this many times the candidates.
const WHEN_CROWDED: usize = 4;

/// The index's answer to a query.
pub(super) struct IndexAnswer {
    pub(super) candidates: Result<Candidates, IndexError>,
    /// How the candidates are to be ranked: not by meaning if embedding failed.
    pub(super) method: Method,
    /// How the candidates were found: by word alone without a vector of the query or an
    /// answer of the index.
    pub(super) searched_by: Method,
    /// The words of the query, weighed; `None` for a search by meaning alone.
    pub(super) words: Option<LexicalVector>,
    /// How similar the query is to unrelated texts; `None` without a search by meaning.
    pub(super) meaning: Option<QueryBaseline>,
    /// The search by meaning found more than it returned.
    pub(super) is_cut: bool,
    /// A search found more than it returned.
    pub(super) is_full: bool,
    pub(super) lag: Lag,
    /// Changes of the scope that the index lacked when the search began.
    pub(super) waiting: u64,
    pub(super) degradations: Vec<Degradation>,
}

/// Changes that the index and the answer lack.
#[derive(Clone, Copy)]
pub(super) enum Lag {
    /// No changes.
    None,
    /// Changes up to the revision.
    Revision,
    /// Changes of the scope that wait.
    Queue {
        /// Those that the search did not read, at least; exact below [`COUNTED`].
        unread: u64,
        /// Those that it matched by word alone, because they have no vector yet.
        without_vector: u64,
    },
}

/// Why the answer of the index may lack matches.
pub(super) struct Shortfall {
    pub(super) degradation: Degradation,
    /// Postgres has messages or memories that the answer lacks altogether.
    pub(super) is_in_store: bool,
}

pub(super) fn describe_metrics() {
    metrics::describe_histogram!(
        "recollect_index_search_seconds",
        metrics::Unit::Seconds,
        "Duration of one search of the index, by word, by meaning or by both, without embedding the query and reading the matches."
    );
}

impl Searcher {
    /// Searches the index by meaning and by word: at once, or by word while the question is embedded,
    /// as the index prefers. Before, it waits for the index to reach the revision, or reads the
    /// pending changes: one that is indexed meanwhile is in one of the two at least.
    pub(super) async fn search_index(
        &self,
        caller: &Caller,
        query: &IndexQuery,
        pending: impl Future<Output = Result<Pending, RecallError>>,
    ) -> Result<IndexAnswer, RecallError> {
        self.refresh_state(&caller.tenant);
        let meanwhile = async {
            let wait = async {
                let reached = self.wait_for_revision(caller, query).await;
                // Afterwards, so that they include what was waited for.
                (reached, self.word_weights.counts(&caller.tenant).await)
            };
            let ((reached, weights), pending) = tokio::join!(wait, pending);
            let (reached, pending) = (reached?, pending?);
            let words = weights.weigh(query.words.clone());
            let by_word = match query.method == Method::Hybrid && !self.index.searches_at_once() {
                true => Some(self.ask_index(query, query.limit, None, Some(&words)).await),
                false => None,
            };
            Ok::<_, RecallError>((reached, pending, words, by_word))
        };
        let embed = self.embed(caller, query.method, &query.meaning);
        let (embedded, meanwhile) = tokio::join!(embed, meanwhile);
        let (reached, mut pending, words, by_word) = meanwhile?;
        let mut degradations = Vec::new();
        let (dense, method) = match embedded {
            Ok(dense) => (dense, query.method),
            Err(degradation) => {
                degradations.push(degradation);
                // Only the search by word is left.
                match query.method {
                    Method::Hybrid => (None, Method::Hybrid),
                    Method::Dense | Method::Lexical => (None, Method::Lexical),
                }
            }
        };
        let lexical = (method != Method::Dense).then_some(words);
        let baseline = match (&dense, &by_word) {
            // The search has failed already.
            (None, _) | (_, Some(Err(_))) => None,
            (Some(_), _) => self.baseline().await,
        };
        let spread = baseline.map_or(0.0, Baseline::spread);
        let searched = self
            .complete(query, by_word, dense.as_deref(), lexical.as_ref(), spread)
            .await;
        let (mut found, is_cut) = match searched {
            Ok((found, is_cut)) => (Ok(found), is_cut),
            Err(error) => (Err(error), false),
        };
        let is_full = is_cut
            || found
                .as_ref()
                .is_ok_and(|found| found.lexical.len() >= query.limit);
        if let Ok(found) = &mut found
            && !pending.is_empty()
        {
            let embedder = self.embedder.as_ref();
            let (dense, lexical) = (dense.as_deref(), lexical.as_ref());
            pending
                .join(found, embedder, dense, lexical, query.limit)
                .await;
        }
        if reached.given_up {
            degradations.push(not_indexed());
        }
        let searched_by = match (&dense, &found) {
            (Some(_), Ok(_)) => method,
            _ => Method::Lexical,
        };
        Ok(IndexAnswer {
            candidates: found,
            method,
            searched_by,
            words: lexical,
            meaning: dense
                .zip(baseline)
                .map(|(dense, baseline)| baseline.of_query(&dense)),
            is_cut,
            is_full,
            lag: match (pending.unread, pending.without_vector) {
                _ if reached.lagging => Lag::Revision,
                (0, 0) => Lag::None,
                (unread, without_vector) => Lag::Queue {
                    unread,
                    without_vector,
                },
            },
            waiting: pending.waiting,
            degradations,
        })
    }

    /// The messages or memories that were found by word already, or else are found now, and those
    /// nearest to a vector. Returns also whether the index has more of these. `spread`: the standard
    /// deviation of the similarities of unrelated texts.
    async fn complete(
        &self,
        query: &IndexQuery,
        by_word: Option<Result<Candidates, IndexError>>,
        dense: Option<&[f32]>,
        words: Option<&LexicalVector>,
        spread: f32,
    ) -> Result<(Candidates, bool), IndexError> {
        let mut limit = query.limit;
        let mut found = match by_word.transpose()? {
            None => self.ask_index(query, limit, dense, words).await?,
            Some(by_word) if dense.is_none() => by_word,
            Some(by_word) => Candidates {
                lexical: by_word.lexical,
                ..self.ask_index(query, limit, dense, None).await?
            },
        };
        let mut is_cut = found.dense.len() >= limit;
        found.dense = best_passages(found.dense, spread);
        // Passages of a few long messages may have taken most places.
        if is_cut && found.dense.len() < limit / 2 {
            limit = limit.saturating_mul(WHEN_CROWDED);
            let more = self.ask_index(query, limit, dense, None).await?;
            is_cut = more.dense.len() >= limit;
            found.dense = best_passages(more.dense, spread);
        }
        found.dense.truncate(query.limit);
        Ok((found, is_cut))
    }

    /// Searches the index by meaning, by word, or by both, for at most `limit` candidates of each.
    async fn ask_index(
        &self,
        query: &IndexQuery,
        limit: usize,
        dense: Option<&[f32]>,
        words: Option<&LexicalVector>,
    ) -> Result<Candidates, IndexError> {
        let started = Instant::now();
        let search = Search {
            selection: query.selection.clone(),
            dense: dense.map(<[f32]>::to_vec),
            lexical: words.cloned(),
            limit,
        };
        let found = self.index.search(search).await;
        metrics::histogram!("recollect_index_search_seconds")
            .record(started.elapsed().as_secs_f64());
        found
    }

    /// How similar the embedding model finds unrelated texts. Without it, the relevance of matches
    /// is estimated by their words.
    async fn baseline(&self) -> Option<&Baseline> {
        match self.embedder.as_ref()?.baseline().await {
            Ok(baseline) => baseline,
            Err(error) => {
                tracing::warn!(%error, "embedding the texts that similarities are compared with failed");
                None
            }
        }
    }

    /// Embeds a query; `None` for a lexical one or without a model.
    async fn embed(
        &self,
        caller: &Caller,
        method: Method,
        meaning: &str,
    ) -> Result<Option<Vec<f32>>, Degradation> {
        let unavailable = |message: &str| Degradation {
            reason: DegradationReason::EmbedderUnavailable,
            message: message.to_owned(),
        };
        let Some(embedder) = &self.embedder else {
            return match method {
                Method::Hybrid | Method::Lexical => Ok(None),
                Method::Dense => Err(unavailable(
                    "no embedding model is configured; matches are by keyword only",
                )),
            };
        };
        if method == Method::Lexical {
            return Ok(None);
        }
        let vector = self
            .embeddings
            .query(embedder, &caller.tenant, meaning)
            .await;
        vector.map(Some).map_err(|error| {
            tracing::warn!(%error, "embedding a query failed");
            unavailable("the query could not be embedded; matches are by keyword only")
        })
    }

    /// Why the index's answer may lack matches; `None` if complete.
    pub(super) fn shortfall(
        &self,
        found: &Result<Candidates, IndexError>,
        lag: Lag,
    ) -> Option<Shortfall> {
        let (reason, message) = match (found, lag) {
            (Err(IndexError::NoModel { .. }), _) => (
                DegradationReason::EmbedderUnavailable,
                "the embedding model is missing or cannot be loaded (`scripts/setup model` installs it on the server); matches come from the database, by keyword only".to_owned(),
            ),
            (Err(error), _) => {
                tracing::warn!(%error, "searching the index failed");
                let message =
                    "the index does not answer; matches come from the database, by keyword only";
                (DegradationReason::IndexUnavailable, message.to_owned())
            }
            (Ok(_), _) if self.index.last_state() == IndexState::Rebuilding => (
                DegradationReason::IndexRebuilding,
                "the index is being rebuilt; what it lacks was matched by word in the database"
                    .to_owned(),
            ),
            (Ok(_), Lag::Revision) => (
                DegradationReason::IndexLagging,
                "the index has not seen the revision yet; the newest messages were matched by word in the database".to_owned(),
            ),
            (Ok(_), Lag::Queue { unread, without_vector }) => {
                let at_least = match unread < COUNTED.into() {
                    true => "",
                    false => "at least ",
                };
                let count = unread + without_vector;
                let message = format!(
                    "besides the newest changes, {at_least}{count} wait to be indexed; they were matched by word alone"
                );
                (DegradationReason::IndexLagging, message)
            }
            (Ok(_), Lag::None) => return None,
        };
        let is_in_store = match reason {
            DegradationReason::IndexLagging => !matches!(lag, Lag::Queue { unread: 0, .. }),
            _ => true,
        };
        Some(Shortfall {
            degradation: Degradation { reason, message },
            is_in_store,
        })
    }
}

fn not_indexed() -> Degradation {
    Degradation {
        reason: DegradationReason::NotIndexed,
        message:
            "a change that the query has to see could not be indexed; ListDeadLetters lists it"
                .to_owned(),
    }
}

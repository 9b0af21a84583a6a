//! Searches the index, pending changes included.

use std::time::Instant;

use memory_embed::Baseline;
use memory_index::{Candidate, Candidates, IndexError, IndexState, Search, Selection};
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
    /// The vector of the query and the baseline of its model; `None` without a search by meaning.
    pub(super) meaning: Option<(Vec<f32>, Baseline)>,
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
        "Duration of one search of the index, by word or by meaning, without embedding the query and reading the matches."
    );
}

impl Searcher {
    /// Searches the index by word while the question is embedded, then by meaning. Before
    /// both, it waits for the index to reach the revision, or reads the pending changes: one
    /// that is indexed meanwhile is in one of the two at least.
    pub(super) async fn search_index(
        &self,
        caller: &Caller,
        query: &IndexQuery,
        pending: impl Future<Output = Result<Pending, RecallError>>,
    ) -> Result<IndexAnswer, RecallError> {
        self.refresh_state(&caller.tenant);
        let limit = query.limit;
        let search_by_word = |words| {
            self.search_once(Search {
                selection: query.selection.clone(),
                dense: None,
                lexical: Some(words),
                limit,
            })
        };
        let by_word = async {
            let wait = async {
                let reached = self.wait_for_revision(caller, query).await;
                // Afterwards, so that they include what was waited for.
                (reached, self.word_weights.counts(&caller.tenant).await)
            };
            let ((reached, weights), pending) = tokio::join!(wait, pending);
            let (reached, pending) = (reached?, pending?);
            let words = weights.weigh(query.words.clone());
            let found = match query.method {
                Method::Dense => Ok(Candidates::default()),
                Method::Hybrid | Method::Lexical => search_by_word(words.clone()).await,
            };
            Ok::<_, RecallError>((reached, pending, words, found))
        };
        let embed = self.embed(caller, query.method, &query.meaning);
        let (embedded, by_word) = tokio::join!(embed, by_word);
        let (reached, mut pending, words, mut found) = by_word?;
        let mut degradations = Vec::new();
        let (dense, method) = match embedded {
            Ok(dense) => (dense, query.method),
            Err(degradation) => {
                degradations.push(degradation);
                // Only the search by word is left.
                match query.method {
                    Method::Hybrid => (None, Method::Hybrid),
                    Method::Dense | Method::Lexical => {
                        found = search_by_word(words.clone()).await;
                        (None, Method::Lexical)
                    }
                }
            }
        };
        let lexical = (method != Method::Dense).then_some(words);
        let mut is_cut = false;
        let mut baseline = None;
        if found.is_ok()
            && let Some(dense) = &dense
        {
            baseline = self.baseline().await;
            let spread = baseline.as_ref().map_or(0.0, Baseline::spread);
            match self.by_meaning(query, dense, spread).await {
                Ok((by_meaning, cut)) => {
                    is_cut = cut;
                    found = found.map(|found| Candidates {
                        dense: by_meaning,
                        ..found
                    });
                }
                Err(error) => found = Err(error),
            }
        }
        let is_full = is_cut
            || found
                .as_ref()
                .is_ok_and(|found| found.lexical.len() >= limit);
        if let Ok(found) = &mut found
            && !pending.is_empty()
        {
            let embedder = self.embedder.as_ref();
            pending
                .join(found, embedder, dense.as_deref(), lexical.as_ref(), limit)
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
            meaning: dense.zip(baseline),
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

    /// The messages or memories nearest to a vector, and whether the index has more. `spread`: the
    /// standard deviation of the similarities of unrelated texts.
    async fn by_meaning(
        &self,
        query: &IndexQuery,
        dense: &[f32],
        spread: f32,
    ) -> Result<(Vec<Candidate>, bool), IndexError> {
        let (selection, most) = (&query.selection, query.limit);
        let (mut best, mut is_cut) = self.nearest(selection, dense, spread, most).await?;
        // Passages of a few long messages may have taken most places.
        if is_cut && best.len() < most / 2 {
            let more = most.saturating_mul(WHEN_CROWDED);
            (best, is_cut) = self.nearest(selection, dense, spread, more).await?;
        }
        best.truncate(most);
        Ok((best, is_cut))
    }

    /// The messages or memories of the `limit` points nearest to a vector, and whether the index has
    /// more.
    async fn nearest(
        &self,
        selection: &Selection,
        dense: &[f32],
        spread: f32,
        limit: usize,
    ) -> Result<(Vec<Candidate>, bool), IndexError> {
        let search = Search {
            selection: selection.clone(),
            dense: Some(dense.to_vec()),
            lexical: None,
            limit,
        };
        let found = self.search_once(search).await?.dense;
        let is_cut = found.len() >= limit;
        Ok((best_passages(found, spread), is_cut))
    }

    async fn search_once(&self, search: Search) -> Result<Candidates, IndexError> {
        let started = Instant::now();
        let found = self.index.search(search).await;
        metrics::histogram!("recollect_index_search_seconds")
            .record(started.elapsed().as_secs_f64());
        found
    }

    /// How similar the embedding model finds unrelated texts. Without it, the relevance of matches
    /// is estimated by their words.
    async fn baseline(&self) -> Option<Baseline> {
        match self.embedder.as_ref()?.baseline().await {
            Ok(baseline) => baseline.cloned(),
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

//! Searches the index and ranks the candidates.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use memory_contract::{MessageId, TenantId};
use memory_store::{Caller, Scope, task};

use super::Shared;
use super::pending::{COUNTED, Pending};
use crate::error::RecallError;
use crate::index::{Candidates, IndexState, LexicalVector, Search, Selection};
use crate::query::{Degradation, DegradationReason, Freshness, MemoryQuery, Method, RecallQuery};
use crate::rank::{self, Ranked};
use crate::text;

/// How a query is put to the index, for messages and memories alike.
pub(super) struct Question {
    pub(super) method: Method,
    freshness: Freshness,
    max_wait: Duration,
}

/// What a question is searched by.
pub(super) struct QuestionTexts {
    /// The text that is embedded, with "I" for the names of speakers, which would attract what merely
    /// mentions them.
    pub(super) meaning: String,
    /// Its words, not weighed yet.
    pub(super) words: LexicalVector,
}

/// Ranked candidates that have not been read yet.
#[derive(Default)]
pub struct Ranking {
    pub(super) ranked: Vec<Ranked>,
    /// How they were found; `None`: nothing was searched.
    pub(super) method: Option<Method>,
    pub(super) degradations: Vec<Degradation>,
}

/// The index's answer to a question.
pub(super) struct Asked {
    pub(super) found: Result<Candidates, RecallError>,
    /// How the candidates are to be ranked: not by meaning if embedding failed.
    pub(super) method: Method,
    /// How the candidates were found: by word alone without a vector of the question or an
    /// answer of the index.
    pub(super) searched_by: Method,
    /// The words of the question, weighed; `None` for a search by meaning alone.
    pub(super) words: Option<LexicalVector>,
    pub(super) lag: Lag,
    pub(super) degradations: Vec<Degradation>,
}

/// What the index has not learned yet and the answer lacks.
#[derive(Clone, Copy)]
pub(super) enum Lag {
    /// Nothing.
    None,
    /// Changes up to the revision.
    Revision,
    /// As many changes of the scope, counted up to [`COUNTED`].
    Queue(u64),
}

/// Interval between two checks whether the index has reached a revision, if no
/// indexer in this process reports its progress.
const FRESHNESS_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The same with an indexer, whose progress ends the wait earlier. It is finite
/// because another process may index the change.
const INDEXER_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Minimum time between two reads of the index's status by queries.
const STATE_CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// An index that has been unavailable for so long, and does not answer now, is not waited
/// for.
const DOWN_AFTER: Duration = Duration::from_secs(2);
/// How long a query asks such an index whether it answers.
const PROBE_TIMEOUT: Duration = Duration::from_millis(200);
/// Matches that one search by word in Postgres returns at most.
pub(super) const TEXT_MATCHES: u32 = 100;

pub(crate) fn describe_metrics() {
    metrics::describe_histogram!(
        "recollect_index_search_seconds",
        metrics::Unit::Seconds,
        "Duration of one search of the index, by word or by meaning, without embedding the query and reading the matches."
    );
}

impl RecallQuery {
    pub(super) fn question(&self) -> Question {
        Question {
            method: self.method,
            freshness: self.freshness,
            max_wait: self.max_wait,
        }
    }
}

impl MemoryQuery {
    pub(super) fn question(&self) -> Question {
        Question {
            method: self.method,
            freshness: self.freshness,
            max_wait: self.max_wait,
        }
    }
}

impl Shared {
    /// Searches the index and ranks the candidates. Adds matches by word from Postgres
    /// if the index is unavailable, lagging or being rebuilt.
    pub(super) async fn find(
        &self,
        caller: &Caller,
        query: &RecallQuery,
    ) -> Result<Ranking, RecallError> {
        let scope = &query.scope;
        let mut ranking = Ranking::default();
        let names = self.names.within(&caller.tenant, scope).await;
        let selection = Selection::new(&caller.tenant, scope, &query.filter);
        let texts = QuestionTexts {
            meaning: text::in_first_person(&query.query, &names),
            words: text::lexical_query(&query.query, &names),
        };
        let Asked {
            found,
            method,
            searched_by,
            words,
            lag,
            degradations,
        } = {
            let pending = self.pending_messages(caller, query, &selection);
            self.ask(caller, &selection, &query.question(), texts, pending)
                .await?
        };
        ranking.degradations = degradations;
        ranking.method = Some(searched_by);
        let index_answers = found.is_ok();
        let shortfall = self.shortfall(&found, lag);
        let traits = rank::QueryTraits::new(&query.query, &names, &words.unwrap_or_default());
        ranking.ranked = rank::rank(
            found.unwrap_or_default(),
            method,
            self.config.ranking,
            &traits,
        );
        if let Some(degradation) = shortfall {
            ranking.degradations.push(degradation);
            self.add_text_matches(caller, query, scope, index_answers, &mut ranking)
                .await?;
        }
        Ok(ranking)
    }

    /// Searches the index by word while the question is embedded, then by meaning. Before
    /// both, it waits for the index to reach the revision, or reads the pending changes: one
    /// that is indexed meanwhile is in one of the two at least.
    pub(super) async fn ask(
        &self,
        caller: &Caller,
        selection: &Selection,
        question: &Question,
        texts: QuestionTexts,
        pending: impl Future<Output = Result<Pending, RecallError>>,
    ) -> Result<Asked, RecallError> {
        self.refresh_state(&caller.tenant);
        let limit = self.config.candidates;
        let search = |dense, lexical| {
            self.search_index(Search {
                selection: selection.clone(),
                dense,
                lexical,
                limit,
            })
        };
        let by_word = async {
            let wait = async {
                let reached = self.wait(caller, question).await;
                // Afterwards, so that they include what was waited for.
                (reached, self.word_weights.of(&caller.tenant).await)
            };
            let ((reached, weights), pending) = tokio::join!(wait, pending);
            let (reached, pending) = (reached?, pending?);
            let words = weights.weigh(texts.words);
            let found = match question.method {
                Method::Dense => Ok(Candidates::default()),
                Method::Hybrid | Method::Lexical => search(None, Some(words.clone())).await,
            };
            Ok::<_, RecallError>((reached, pending, words, found))
        };
        let embed = self.embed(question.method, &texts.meaning);
        let (embedded, by_word) = tokio::join!(embed, by_word);
        let (reached, mut pending, words, mut found) = by_word?;
        let mut degradations = Vec::new();
        let (dense, method) = match embedded {
            Ok(dense) => (dense, question.method),
            Err(degradation) => {
                degradations.push(degradation);
                // Only the search by word is left.
                match question.method {
                    Method::Hybrid => (None, Method::Hybrid),
                    Method::Dense | Method::Lexical => {
                        found = search(None, Some(words.clone())).await;
                        (None, Method::Lexical)
                    }
                }
            }
        };
        let lexical = (method != Method::Dense).then_some(words);
        if found.is_ok() && dense.is_some() {
            let by_meaning = search(dense.clone(), None).await;
            found = found.and_then(|found| {
                Ok(Candidates {
                    dense: by_meaning?.dense,
                    ..found
                })
            });
        }
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
        Ok(Asked {
            found,
            method,
            searched_by,
            words: lexical,
            lag: match pending.more {
                _ if reached.lagging => Lag::Revision,
                0 => Lag::None,
                more => Lag::Queue(more),
            },
            degradations,
        })
    }

    async fn search_index(&self, search: Search) -> Result<Candidates, RecallError> {
        let started = Instant::now();
        let found = self.index.search(search).await;
        metrics::histogram!("recollect_index_search_seconds")
            .record(started.elapsed().as_secs_f64());
        found
    }

    /// Embeds a question; `None` for a lexical one or without a model.
    async fn embed(&self, method: Method, meaning: &str) -> Result<Option<Vec<f32>>, Degradation> {
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
        let vector = self.inferences.query(embedder, meaning).await;
        vector.map(Some).map_err(|error| {
            tracing::warn!(%error, "embedding a query failed");
            unavailable("the query could not be embedded; matches are by keyword only")
        })
    }

    /// Waits until the index has reached the revision, at most `max_wait`, and no longer
    /// while the index is down.
    async fn wait(&self, caller: &Caller, question: &Question) -> Result<Reached, RecallError> {
        // Queries that do not wait notice an outage for those that do.
        self.outage();
        let Freshness::AtLeast(revision) = question.freshness else {
            return Ok(Reached::default());
        };
        let deadline = Instant::now() + question.max_wait;
        let mut indexer = self.indexer.clone();
        loop {
            let freshness = self.store.messages(caller).freshness(&revision).await?;
            let given_up = freshness.dead_letters > 0;
            if !freshness.pending {
                return Ok(Reached {
                    lagging: false,
                    given_up,
                });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_down(&caller.tenant).await {
                return Ok(Reached {
                    lagging: true,
                    given_up,
                });
            }
            match &mut indexer {
                Some(indexer) => indexer.progress(left.min(INDEXER_POLL_INTERVAL)).await,
                None => tokio::time::sleep(left.min(FRESHNESS_POLL_INTERVAL)).await,
            }
        }
    }

    /// For how long queries have found the index unavailable.
    fn outage(&self) -> Duration {
        let mut since = self
            .unavailable_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if self.index.last_state() != IndexState::Unavailable {
            *since = None;
            return Duration::ZERO;
        }
        since.get_or_insert_with(Instant::now).elapsed()
    }

    /// Whether the index has been unavailable for a while and does not answer now either, or
    /// has a permanent flaw.
    async fn is_down(&self, tenant: &TenantId) -> bool {
        if self.index.flaw().is_some() {
            return true;
        }
        if self.outage() < DOWN_AFTER {
            return false;
        }
        let status = tokio::time::timeout(PROBE_TIMEOUT, self.index.status(tenant)).await;
        status.map_or(IndexState::Unavailable, |status| status.state) == IndexState::Unavailable
    }

    /// Why the index's answer may lack matches that Postgres has; `None` if complete.
    pub(super) fn shortfall(
        &self,
        found: &Result<Candidates, RecallError>,
        lag: Lag,
    ) -> Option<Degradation> {
        let (reason, message) = match (found, lag) {
            (Err(RecallError::EmbedderStopped), _) => (
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
            (Ok(_), Lag::Queue(more)) => {
                let at_least = if more < COUNTED.into() { "" } else { "at least " };
                let message = format!(
                    "besides the newest changes, {at_least}{more} wait to be indexed; they were matched by word in the database"
                );
                (DegradationReason::IndexLagging, message)
            }
            (Ok(_), Lag::None) => return None,
        };
        Some(Degradation { reason, message })
    }

    /// Searches Postgres by word. If the index answered, an outage of Postgres costs
    /// these matches alone.
    async fn add_text_matches(
        &self,
        caller: &Caller,
        query: &RecallQuery,
        scope: &Scope,
        index_answers: bool,
        ranking: &mut Ranking,
    ) -> Result<(), RecallError> {
        let searched = self
            .store
            .messages(caller)
            .search_text(scope, &query.query, &query.filter, TEXT_MATCHES)
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

    /// Reads the index's status in the background, at most once in
    /// [`STATE_CHECK_INTERVAL`]: another process may be rebuilding the index.
    fn refresh_state(&self, tenant: &TenantId) {
        let mut checked = self
            .state_checked
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if checked.is_some_and(|checked| checked.elapsed() < STATE_CHECK_INTERVAL) {
            return;
        }
        *checked = Some(Instant::now());
        let (index, tenant) = (Arc::clone(&self.index), tenant.clone());
        task::spawn("index_state", async move { index.status(&tenant).await });
    }
}

/// Result of waiting for a revision.
#[derive(Default)]
struct Reached {
    /// The index had not reached it when the wait ended.
    lagging: bool,
    /// A change up to it is a dead letter.
    given_up: bool,
}

fn not_indexed() -> Degradation {
    Degradation {
        reason: DegradationReason::NotIndexed,
        message:
            "a change that the query has to see could not be indexed; ListDeadLetters lists it"
                .to_owned(),
    }
}

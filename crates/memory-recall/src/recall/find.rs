//! From a query to a ranking.

use std::str::FromStr;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use memory_contract::{MessageFilter, MessageId, TenantId, ThreadId};
use memory_store::{Revision, Scope as Bounds};

use super::Shared;
use crate::error::RecallError;
use crate::index::{Candidates, IndexState, Search, Selection};
use crate::query::{Degradation, DegradationReason, MemoryQuery, Method, RecallQuery, SearchQuery};
use crate::rank::{self, Ranked};
use crate::text;

/// What a search has to know.
pub(super) struct Question {
    pub(super) text: String,
    method: Method,
    filter: MessageFilter,
    revision: Option<Revision>,
    max_wait: Duration,
}

/// A ranking, and in which ways it is less than was asked for.
#[derive(Default)]
pub(super) struct Finding {
    pub(super) ranked: Vec<Ranked>,
    pub(super) degradations: Vec<Degradation>,
}

/// What the index answered.
pub(super) struct Asked {
    pub(super) found: Result<Candidates, RecallError>,
    /// How the candidates are to be ranked.
    pub(super) method: Method,
    /// Whether the index has not reached the revision.
    pub(super) lagging: bool,
    pub(super) degradations: Vec<Degradation>,
}

/// The pause between two looks at how far the index is, when nobody tells.
const LOOK: Duration = Duration::from_millis(20);
/// The pause between two looks at the state of an index that others rebuild.
const STATE_LOOK: Duration = Duration::from_secs(10);
/// Matches by word that the store is asked for.
pub(super) const TEXT_MATCHES: u32 = 100;

impl Question {
    pub(super) fn of_recall(query: &RecallQuery) -> Result<Self, RecallError> {
        Ok(Self {
            text: query.query.clone(),
            method: query.method,
            filter: query.filter.clone(),
            revision: revision(&query.at_least_as_fresh)?,
            max_wait: query.max_wait,
        })
    }

    pub(super) fn of_memories(query: &MemoryQuery) -> Result<Self, RecallError> {
        Ok(Self {
            text: query.query.clone(),
            method: query.method,
            filter: MessageFilter::default(),
            revision: revision(&query.at_least_as_fresh)?,
            max_wait: query.max_wait,
        })
    }

    pub(super) fn of_search(query: &SearchQuery) -> Result<Self, RecallError> {
        Ok(Self {
            text: query.query.clone(),
            method: query.method,
            filter: query.filter.clone(),
            revision: revision(&query.at_least_as_fresh)?,
            max_wait: query.max_wait,
        })
    }
}

impl Shared {
    /// Embeds the query, waits for the index where it has to, searches and
    /// ranks. The store answers by word for what the index cannot.
    pub(super) async fn find(
        &self,
        tenant: &TenantId,
        bounds: &Bounds,
        question: &Question,
    ) -> Result<Finding, RecallError> {
        if let Bounds::Thread(thread) = bounds
            && self.source.is_ephemeral(tenant, *thread)
        {
            return self.find_in_memory(tenant, bounds, question).await;
        }
        let names = self.names.within(tenant, bounds).await;
        let selection = Selection::new(tenant, bounds, &question.filter);
        let Asked {
            found,
            method,
            lagging,
            degradations,
        } = self.ask(tenant, selection, question, &names).await?;
        let mut finding = Finding {
            degradations,
            ..Finding::default()
        };
        let index_answers = found.is_ok();
        if let Some(degradation) = self.shortfall(&found, lagging) {
            finding.degradations.push(degradation);
            finding.ranked = rank_all(found.unwrap_or_default(), method, &question.text, &names);
            self.add_text_matches(tenant, bounds, question, index_answers, &mut finding)
                .await?;
        } else {
            finding.ranked = rank_all(found.unwrap_or_default(), method, &question.text, &names);
        }
        Ok(finding)
    }

    /// Asks the index: embeds the query, and waits for the index where it has to.
    pub(super) async fn ask(
        &self,
        tenant: &TenantId,
        selection: Selection,
        question: &Question,
        names: &Arc<Vec<String>>,
    ) -> Result<Asked, RecallError> {
        self.look_at_state(tenant);
        let mut degradations = Vec::new();
        let (embedded, reached) =
            tokio::join!(self.embed(question, names), self.wait(tenant, question));
        let reached = reached?;
        let (dense, method) = match embedded {
            Ok(dense) => (dense, question.method),
            Err(degradation) => {
                degradations.push(degradation);
                // Words are what is left, whatever was asked for.
                let hybrid = question.method == Method::Hybrid;
                (
                    None,
                    if hybrid {
                        Method::Hybrid
                    } else {
                        Method::Lexical
                    },
                )
            }
        };
        let lexical = (method != Method::Dense).then(|| text::lexical_query(&question.text, names));
        let search = Search {
            selection,
            dense,
            lexical,
            limit: self.config.candidates,
        };
        let started = Instant::now();
        let found = self.index.search(search).await;
        metrics::histogram!("recollect_index_search_seconds")
            .record(started.elapsed().as_secs_f64());
        if reached.given_up {
            degradations.push(not_indexed());
        }
        Ok(Asked {
            found,
            method,
            lagging: reached.lagging,
            degradations,
        })
    }

    /// A thread that the index does not know is matched by word alone, whatever
    /// was asked for; that is all it promises, so nothing is degraded.
    async fn find_in_memory(
        &self,
        tenant: &TenantId,
        bounds: &Bounds,
        question: &Question,
    ) -> Result<Finding, RecallError> {
        let mut finding = Finding::default();
        self.add_text_matches(tenant, bounds, question, false, &mut finding)
            .await?;
        Ok(finding)
    }

    /// Adds what the conversation at hand has, where the index does not know it.
    pub(super) async fn add_own_matches(
        &self,
        tenant: &TenantId,
        own: Option<ThreadId>,
        question: &Question,
        finding: &mut Finding,
    ) -> Result<(), RecallError> {
        match own {
            Some(thread) => {
                let bounds = Bounds::Thread(thread);
                self.add_text_matches(tenant, &bounds, question, true, finding)
                    .await
            }
            None => Ok(()),
        }
    }

    /// The query's vector, without the names of speakers in it. `None`: none is
    /// asked for, or the service runs without a model.
    async fn embed(
        &self,
        question: &Question,
        names: &Arc<Vec<String>>,
    ) -> Result<Option<Vec<f32>>, Degradation> {
        let unavailable = |message: &str| Degradation {
            reason: DegradationReason::EmbedderUnavailable,
            message: message.to_owned(),
        };
        let Some(embedder) = &self.embedder else {
            return match question.method {
                Method::Hybrid | Method::Lexical => Ok(None),
                Method::Dense => Err(unavailable(
                    "there is no embedding model; matches are by word alone",
                )),
            };
        };
        if question.method == Method::Lexical {
            return Ok(None);
        }
        let text = text::without_names(&question.text, names);
        let vector = self.inferences.query(embedder, &text).await;
        vector.map(Some).map_err(|error| {
            tracing::warn!(%error, "a query was not embedded");
            unavailable("the query could not be embedded; matches are by word alone")
        })
    }

    /// Waits until the index has seen the revision, but no longer than allowed.
    async fn wait(&self, tenant: &TenantId, question: &Question) -> Result<Reached, RecallError> {
        let Some(revision) = &question.revision else {
            return Ok(Reached::default());
        };
        let deadline = Instant::now() + question.max_wait;
        let mut indexer = self.indexer.clone();
        loop {
            let freshness = self.source.freshness(tenant, revision).await?;
            let given_up = freshness.dead_letters > 0;
            if !freshness.pending {
                return Ok(Reached {
                    lagging: false,
                    given_up,
                });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Reached {
                    lagging: true,
                    given_up,
                });
            }
            match &mut indexer {
                // Another process may do the work as well.
                Some(indexer) => indexer.moved(left.min(LOOK * 5)).await,
                None => tokio::time::sleep(left.min(LOOK)).await,
            }
        }
    }

    /// Why the index's answer is not enough, if it is not.
    pub(super) fn shortfall(
        &self,
        found: &Result<Candidates, RecallError>,
        lagging: bool,
    ) -> Option<Degradation> {
        let (reason, message) = match found {
            Err(RecallError::EmbedderStopped) => (
                DegradationReason::EmbedderUnavailable,
                "the embedding model is missing or cannot be loaded (`scripts/setup model` makes it on the server); matches come from the database, by word alone",
            ),
            Err(error) => {
                tracing::warn!(%error, "the index was not searched");
                let message =
                    "the index does not answer; matches come from the database, by word alone";
                (DegradationReason::IndexUnavailable, message)
            }
            Ok(_) if self.index.last_state() == IndexState::Rebuilding => (
                DegradationReason::IndexRebuilding,
                "the index is being rebuilt; what it lacks was matched by word in the database",
            ),
            Ok(_) if lagging => (
                DegradationReason::IndexLagging,
                "the index has not seen the revision yet; the newest messages were matched by word in the database",
            ),
            Ok(_) => return None,
        };
        Some(Degradation {
            reason,
            message: message.to_owned(),
        })
    }

    async fn add_text_matches(
        &self,
        tenant: &TenantId,
        bounds: &Bounds,
        question: &Question,
        index_answers: bool,
        finding: &mut Finding,
    ) -> Result<(), RecallError> {
        let searched = self
            .source
            .search_text(
                tenant,
                bounds,
                &question.text,
                &question.filter,
                TEXT_MATCHES,
            )
            .await;
        let matches = match searched {
            Ok(matches) => matches,
            Err(error) if index_answers && error.retryable() => {
                tracing::warn!(%error, "the database was not searched by word");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let matches: Vec<(MessageId, f32)> = matches
            .into_iter()
            .map(|found| (found.id, found.score))
            .collect();
        rank::add_text_matches(&mut finding.ranked, &matches);
        Ok(())
    }

    /// Asks the index now and then what it can do, beside the queries: another
    /// process may rebuild it.
    fn look_at_state(&self, tenant: &TenantId) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.is_some_and(|looked| looked.elapsed() < STATE_LOOK) {
            return;
        }
        *looked = Some(Instant::now());
        let (index, tenant) = (Arc::clone(&self.index), tenant.clone());
        tokio::spawn(async move { index.status(&tenant).await });
    }
}

/// How far the index is.
#[derive(Default)]
struct Reached {
    lagging: bool,
    given_up: bool,
}

fn rank_all(found: Candidates, method: Method, query: &str, names: &[String]) -> Vec<Ranked> {
    let speaker = match text::named(query, names).as_slice() {
        [one] => Some(*one),
        _ => None,
    };
    rank::rank(found, method, speaker)
}

fn not_indexed() -> Degradation {
    Degradation {
        reason: DegradationReason::NotIndexed,
        message: "a change that was to be seen could not be indexed; ListDeadLetters tells which"
            .to_owned(),
    }
}

fn revision(token: &str) -> Result<Option<Revision>, RecallError> {
    if token.is_empty() {
        return Ok(None);
    }
    Revision::from_str(token)
        .map(Some)
        .map_err(|error| RecallError::Config {
            key: "at_least_as_fresh",
            problem: error.to_string(),
        })
}

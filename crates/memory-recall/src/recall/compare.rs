//! Compares the index that serves with the next one, on real questions.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use memory_contract::{AppId, MessageFilter, MessageId, Role, UserId, limits};
use memory_embed::Embedder;
use memory_index::{IndexError, IndexState};
use memory_store::{Caller, Order, OwnerMessageQuery, Scope};
use memory_text::{is_question, meaning};
use tokio::time::timeout_at;

use super::searcher::Searcher;
use super::service::Recall;
use crate::error::RecallError;
use crate::query::{DegradationReason, RecallQuery};

/// Newest messages of users that are searched for questions, and how many of them are read
/// at a time.
const SAMPLED_FROM: usize = 10_000;
const PAGE: u32 = 500;
/// Bytes of content of a page.
const PAGE_BYTES: u32 = 2 << 20;

/// Questions that are put to the indexes concurrently: one is searched while another is embedded.
const LANES: usize = 2;

/// The questions on which two indexes are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareQuery {
    /// The app whose messages are searched.
    pub app: AppId,
    /// Only this user's messages; `None` for all users.
    pub user: Option<UserId>,
    /// The questions; empty: the newest ones among the messages of users.
    pub queries: Vec<String>,
    /// How many of these.
    pub sample: usize,
    /// Matches of each index to compare.
    pub top_k: usize,
}

/// Answers of two indexes to the same questions.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The index that serves.
    pub serving: ComparedIndex,
    /// The other one.
    pub next: ComparedIndex,
    /// How many questions there are.
    pub asked: usize,
    /// Those that were compared in time, in their order; sampled ones the newest first.
    pub queries: Vec<ComparedQuery>,
}

/// One of two compared indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedIndex {
    /// The collection's name.
    pub collection: String,
    /// The embedding model's name; empty: by words alone.
    pub model: String,
    /// Whether everything stored is in it, apart from changes that wait to be indexed.
    pub complete: bool,
}

/// The answers to one question.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedQuery {
    /// The question.
    pub query: String,
    /// The answer of the index that serves.
    pub serving: Answer,
    /// The answer of the other one.
    pub next: Answer,
}

/// The answer of one index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The matches, best first.
    pub messages: Vec<MessageId>,
    /// How long it took, embedding the question included.
    pub took: Duration,
}

impl ComparedQuery {
    /// The messages that both answers have, divided by those of the longer one; 1 if both
    /// are empty.
    pub fn overlap(&self) -> f32 {
        let (one, other) = (&self.serving.messages, &self.next.messages);
        let longer = one.len().max(other.len());
        if longer == 0 {
            return 1.0;
        }
        let known: HashSet<&MessageId> = one.iter().collect();
        let both = other.iter().filter(|id| known.contains(id)).count();
        both as f32 / longer as f32
    }
}

impl Recall {
    /// Puts the same questions to the index that serves and to the other one, until `until`.
    /// `None` if this process has no other one.
    ///
    /// # Errors
    /// [`RecallError::Store`], and those of an index that does not answer.
    pub async fn compare(
        &self,
        caller: &Caller,
        query: &CompareQuery,
        until: Instant,
    ) -> Result<Option<Comparison>, RecallError> {
        let Some(next) = &self.next else {
            return Ok(None);
        };
        let (serving, next) = match self.serving.get() {
            0 => (&self.first, next),
            _ => (next, &self.first),
        };
        let questions = match query.queries.is_empty() {
            true => serving.newest_questions(caller, query).await?,
            false => query.queries.clone(),
        };
        let mut comparison = Comparison {
            serving: serving.compared(caller).await?,
            next: next.compared(caller).await?,
            asked: questions.len(),
            queries: Vec::with_capacity(questions.len()),
        };
        let mut compared = stream::iter(questions.into_iter().enumerate())
            .map(|(place, question)| async move {
                let of_serving = serving.answer(caller, query, &question);
                let of_next = next.answer(caller, query, &question);
                // In turn, because the second of two equal searches finds what it reads in memory.
                let (serving, next) = if place.is_multiple_of(2) {
                    let first = of_serving.await?;
                    (first, of_next.await?)
                } else {
                    let first = of_next.await?;
                    (of_serving.await?, first)
                };
                Ok::<_, RecallError>(ComparedQuery {
                    query: question,
                    serving,
                    next,
                })
            })
            .buffered(LANES);
        while let Ok(Some(answered)) = timeout_at(until.into(), compared.next()).await {
            comparison.queries.push(answered?);
        }
        drop(compared);
        Ok(Some(comparison))
    }
}

impl Searcher {
    async fn compared(&self, caller: &Caller) -> Result<ComparedIndex, RecallError> {
        let status = self.index.status(&caller.tenant).await;
        let model = self.embedder.as_ref().map(Embedder::model);
        Ok(ComparedIndex {
            collection: self.index.schema().collection().to_owned(),
            model: model.map(|model| model.name.clone()).unwrap_or_default(),
            complete: status.state == IndexState::Ready,
        })
    }

    async fn answer(
        &self,
        caller: &Caller,
        compared: &CompareQuery,
        question: &str,
    ) -> Result<Answer, RecallError> {
        let scope = match &compared.user {
            Some(user) => Scope::User {
                app: compared.app.clone(),
                user: user.clone(),
            },
            None => Scope::App(compared.app.clone()),
        };
        let mut query = RecallQuery::new(None, scope, question);
        query.top_k = compared.top_k;
        let started = Instant::now();
        let found = self.search(caller, query).await?;
        let away = found.degradations.into_iter().find(|degradation| {
            matches!(
                degradation.reason,
                DegradationReason::IndexUnavailable | DegradationReason::EmbedderUnavailable
            )
        });
        if let Some(away) = away {
            return Err(RecallError::Index(IndexError::Unavailable {
                backend: self.index.backend(),
                source: away.message.into(),
            }));
        }
        Ok(Answer {
            messages: found.matches.iter().map(|one| one.message.id).collect(),
            took: started.elapsed(),
        })
    }

    /// The newest messages of users that end with a question mark, each at most as long as a
    /// query may be.
    async fn newest_questions(
        &self,
        caller: &Caller,
        compared: &CompareQuery,
    ) -> Result<Vec<String>, RecallError> {
        let mut query = OwnerMessageQuery {
            app: compared.app.clone(),
            user: compared.user.clone(),
            filter: MessageFilter {
                roles: vec![Role::User],
                ..MessageFilter::default()
            },
            order: Order::Descending,
            after: None,
            limit: PAGE,
            max_bytes: PAGE_BYTES,
        };
        let (mut questions, mut read) = (Vec::new(), 0);
        while read < SAMPLED_FROM {
            let page = self.store.messages(caller).list_messages_of(&query).await?;
            read += PAGE as usize;
            let asked = page.items.iter().filter(|one| is_question(one));
            questions.extend(asked.map(|one| {
                let question = meaning(one);
                question.chars().take(limits::QUERY_CHARS).collect()
            }));
            if questions.len() >= compared.sample || page.next.is_none() {
                break;
            }
            query.after = page.next;
        }
        questions.truncate(compared.sample);
        Ok(questions)
    }
}

//! Compares the index that serves with the next one: each question is searched in both.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use memory_contract::proto::{
    CompareIndexesRequest, CompareIndexesResponse, ComparedIndex, ComparedQuery,
};
use memory_contract::{
    AppId, Invalid, InvalidFields, MessageId, UserId, check,
    convert::exact_duration,
    limits,
    message::{MessageFilter, Role},
};
use memory_grpc::request::{Fields, wait_deadline};
use memory_grpc::{ApiError, admin_of};
use memory_index::{IndexError, IndexState};
use memory_recall::{DegradationReason, Recall, RecallError, RecallQuery};
use memory_store::{Caller, Order, OwnerMessageQuery, Scope};
use memory_text::{is_question, meaning};
use tokio::time::timeout_at;
use tonic::Request;

use super::{Admin, model_name};

/// Newest messages of users that are searched for questions, and how many of them are read
/// at a time.
const SAMPLED_FROM: usize = 10_000;
const PAGE: u32 = 500;
/// Bytes of content of a page.
const PAGE_BYTES: u32 = 2 << 20;

/// Questions that are searched concurrently: one is searched while another is embedded.
const CONCURRENT_QUESTIONS: usize = 2;

/// A validated request.
struct Comparison {
    /// The app whose messages are searched.
    app: AppId,
    /// Only this user's messages; `None` for all users.
    user: Option<UserId>,
    /// The questions; empty: the newest ones among the messages of users.
    queries: Vec<String>,
    /// The number of newest questions.
    sample: usize,
    /// Matches of each index to compare.
    top_k: usize,
}

impl Admin {
    pub(super) async fn comparison(
        &self,
        request: Request<CompareIndexesRequest>,
    ) -> Result<CompareIndexesResponse, ApiError> {
        let caller = admin_of(&request)?;
        let until = wait_deadline(&request);
        let comparison = comparison_from(request.into_inner())?;
        let both = self.recall.each().ok_or(ApiError::NoSecondIndex)?;
        let [serving, next] = &both;
        let questions = match comparison.queries.is_empty() {
            true => self.newest_questions(&caller, &comparison).await?,
            false => comparison.queries.clone(),
        };
        let mut response = CompareIndexesResponse {
            serving: Some(described(serving, &caller).await),
            next: Some(described(next, &caller).await),
            query_count: i32::try_from(questions.len()).unwrap_or(i32::MAX),
            ..CompareIndexesResponse::default()
        };
        let mut totals = [Duration::ZERO; 2];
        let mut compared = stream::iter(questions.into_iter().enumerate())
            .map(|(place, question)| compared(&both, &caller, &comparison, place, question))
            .buffered(CONCURRENT_QUESTIONS);
        while let Ok(Some(one)) = timeout_at(until.into(), compared.next()).await {
            let (query, took) = one?;
            response.mean_overlap += query.overlap;
            response.queries.push(query);
            totals[0] += took[0];
            totals[1] += took[1];
        }
        let count = u32::try_from(response.queries.len().max(1)).unwrap_or(u32::MAX);
        response.mean_overlap /= count as f32;
        response.mean_serving_duration = Some(exact_duration(totals[0] / count));
        response.mean_next_duration = Some(exact_duration(totals[1] / count));
        Ok(response)
    }

    /// The newest messages of users that end with a question mark, each at most as long as a
    /// query may be.
    async fn newest_questions(
        &self,
        caller: &Caller,
        comparison: &Comparison,
    ) -> Result<Vec<String>, ApiError> {
        let mut query = OwnerMessageQuery {
            app: comparison.app.clone(),
            user: comparison.user.clone(),
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
            questions.extend(asked.map(|one| -> String {
                let question = meaning(one);
                question.chars().take(limits::QUERY_CHARS).collect()
            }));
            if questions.len() >= comparison.sample || page.next.is_none() {
                break;
            }
            query.after = page.next;
        }
        questions.truncate(comparison.sample);
        Ok(questions)
    }
}

async fn described(recall: &Recall, caller: &Caller) -> ComparedIndex {
    let status = recall.index().status(&caller.tenant).await;
    ComparedIndex {
        collection: recall.index().schema().collection().to_owned(),
        embedding_model: model_name(recall),
        complete: status.state == IndexState::Ready,
    }
}

/// Searches a question in both indexes. Returns also how long each search took.
async fn compared(
    [serving, next]: &[Recall; 2],
    caller: &Caller,
    comparison: &Comparison,
    place: usize,
    question: String,
) -> Result<(ComparedQuery, [Duration; 2]), RecallError> {
    let of_serving = matches(serving, caller, comparison, &question);
    let of_next = matches(next, caller, comparison, &question);
    // In turn, because the second of two equal searches finds what it reads in memory.
    let ((serving, serving_took), (next, next_took)) = match place.is_multiple_of(2) {
        true => {
            let first = of_serving.await?;
            (first, of_next.await?)
        }
        false => {
            let first = of_next.await?;
            (of_serving.await?, first)
        }
    };
    let ids = |messages: &[MessageId]| messages.iter().map(ToString::to_string).collect();
    let query = ComparedQuery {
        query: question,
        serving_message_ids: ids(&serving),
        next_message_ids: ids(&next),
        overlap: overlap(&serving, &next),
        serving_duration: Some(exact_duration(serving_took)),
        next_duration: Some(exact_duration(next_took)),
    };
    Ok((query, [serving_took, next_took]))
}

/// The best matches of a question, best first, and how long the search took.
async fn matches(
    recall: &Recall,
    caller: &Caller,
    comparison: &Comparison,
    question: &str,
) -> Result<(Vec<MessageId>, Duration), RecallError> {
    let app = comparison.app.clone();
    let scope = match comparison.user.clone() {
        Some(user) => Scope::User { app, user },
        None => Scope::App(app),
    };
    let query = RecallQuery {
        top_k: comparison.top_k,
        ..RecallQuery::new(None, scope, question)
    };
    let started = Instant::now();
    let found = recall.search(caller, query).await?;
    let unavailable = found.degradations.into_iter().find(|degradation| {
        matches!(
            degradation.reason,
            DegradationReason::IndexUnavailable | DegradationReason::EmbedderUnavailable
        )
    });
    if let Some(unavailable) = unavailable {
        return Err(RecallError::Index(IndexError::Unavailable {
            backend: recall.index().backend(),
            source: unavailable.message.into(),
        }));
    }
    let messages = found.matches.iter().map(|one| one.message.id).collect();
    Ok((messages, started.elapsed()))
}

/// The messages that both lists have, divided by the length of the longer one; 1 if both are
/// empty.
fn overlap(one: &[MessageId], other: &[MessageId]) -> f32 {
    let longer = one.len().max(other.len());
    if longer == 0 {
        return 1.0;
    }
    let known: HashSet<&MessageId> = one.iter().collect();
    let both = other.iter().filter(|id| known.contains(id)).count();
    both as f32 / longer as f32
}

/// Validates a request.
///
/// # Errors
/// Every wrong field at once.
fn comparison_from(request: CompareIndexesRequest) -> Result<Comparison, InvalidFields> {
    let CompareIndexesRequest {
        app_id,
        user_id,
        queries,
        sample_size,
        top_k,
    } = request;
    let mut fields = Fields::default();
    let app = fields.take(check::required_text("app_id", app_id, limits::APP_ID_CHARS));
    let user = fields.take(check::text("user_id", user_id, limits::USER_ID_CHARS));
    let queries = fields.take(queries_from(queries));
    let (sample, most) = (limits::COMPARED_SAMPLE, limits::COMPARED_SAMPLE_MAX);
    let sample = fields.take(count_or("sample_size", sample_size, sample, most));
    let (best, most) = (limits::SEARCH_TOP_K, limits::TOP_K_MAX);
    let top_k = fields.take(count_or("top_k", top_k, best, most));
    fields.end()?;
    Ok(Comparison {
        app: AppId::new(app),
        user: (!user.is_empty()).then(|| UserId::new(user)),
        queries,
        sample,
        top_k,
    })
}

fn queries_from(queries: Vec<String>) -> Result<Vec<String>, InvalidFields> {
    let max = limits::COMPARED_QUERIES;
    if queries.len() > max {
        return Err(Invalid::new("queries", format!("must be at most {max} queries")).into());
    }
    let mut fields = Fields::default();
    let queries = queries.into_iter().enumerate();
    let queries = queries.map(|(index, query)| {
        let field = format!("queries[{index}]");
        fields.take(check::required_text(&field, query, limits::QUERY_CHARS))
    });
    let queries = queries.collect();
    fields.all(Some(queries))
}

/// Reads a number from 1 to `max`; `default` if it is unset.
fn count_or(field: &str, value: Option<i32>, default: i32, max: i32) -> Result<usize, Invalid> {
    let count = check::range_or(field, value, default, 1, max)?;
    Ok(usize::try_from(count).unwrap_or_default())
}

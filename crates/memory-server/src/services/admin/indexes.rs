//! Compares the index that serves with the next one.

use std::time::Duration;

use memory_contract::proto::{self, CompareIndexesRequest, CompareIndexesResponse};
use memory_contract::{
    AppId, Invalid, InvalidFields, MessageId, UserId, check, exact_duration, limits,
};
use memory_grpc::request::{Fields, wait_deadline};
use memory_grpc::{ApiError, admin_of};
use memory_recall::{CompareQuery, ComparedIndex, ComparedQuery, Comparison};
use tonic::Request;

use super::Admin;

impl Admin {
    pub(super) async fn comparison(
        &self,
        request: Request<CompareIndexesRequest>,
    ) -> Result<CompareIndexesResponse, ApiError> {
        let caller = admin_of(&request)?;
        let until = wait_deadline(&request);
        let query = compare_query(request.into_inner())?;
        let comparison = self.recall.compare(&caller, &query, until).await?;
        Ok(response(comparison.ok_or(ApiError::NoSecondIndex)?))
    }
}

/// Validates a request.
///
/// # Errors
/// Every wrong field at once.
fn compare_query(request: CompareIndexesRequest) -> Result<CompareQuery, InvalidFields> {
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
    Ok(CompareQuery {
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

fn response(comparison: Comparison) -> CompareIndexesResponse {
    let Comparison {
        serving,
        next,
        asked,
        queries,
    } = comparison;
    let mean = |took: fn(&ComparedQuery) -> Duration| {
        let total: Duration = queries.iter().map(took).sum();
        let count = u32::try_from(queries.len()).unwrap_or(u32::MAX);
        exact_duration(total / count.max(1))
    };
    let overlap: f32 = queries.iter().map(ComparedQuery::overlap).sum();
    CompareIndexesResponse {
        query_count: i32::try_from(asked).unwrap_or(i32::MAX),
        mean_overlap: overlap / queries.len().max(1) as f32,
        mean_serving_duration: Some(mean(|query| query.serving.took)),
        mean_next_duration: Some(mean(|query| query.next.took)),
        serving: Some(index(serving)),
        next: Some(index(next)),
        queries: queries.into_iter().map(compared).collect(),
    }
}

fn index(index: ComparedIndex) -> proto::ComparedIndex {
    let ComparedIndex {
        collection,
        model,
        complete,
    } = index;
    proto::ComparedIndex {
        collection,
        embedding_model: model,
        complete,
    }
}

fn compared(query: ComparedQuery) -> proto::ComparedQuery {
    let overlap = query.overlap();
    let ComparedQuery {
        query,
        serving,
        next,
    } = query;
    let ids = |messages: Vec<MessageId>| -> Vec<String> {
        messages.iter().map(ToString::to_string).collect()
    };
    proto::ComparedQuery {
        query,
        serving_message_ids: ids(serving.messages),
        next_message_ids: ids(next.messages),
        overlap,
        serving_duration: Some(exact_duration(serving.took)),
        next_duration: Some(exact_duration(next.took)),
    }
}

//! Recall of what answers a question.

use memory_contract::proto::{
    MemoryPolicy, QueryTime, RecallRequest, RecallResponse, SearchMethod, UserRef,
};
use prost_types::Timestamp;

use crate::plain::distinct;
use memory_datasets::{Question, evidence_id};

/// The request that asks a question over its user's conversation. `asked`: when; `None`: now.
pub fn request(
    app: &str,
    question: &Question,
    asked: Option<Timestamp>,
    method: SearchMethod,
    top_k: i32,
) -> RecallRequest {
    RecallRequest {
        target: Some(
            UserRef {
                app_id: app.to_owned(),
                user_id: question.user.clone(),
            }
            .into(),
        ),
        query: question.text.clone(),
        policy: Some(MemoryPolicy {
            top_k: Some(top_k),
            neighbors_before: Some(0),
            neighbors_after: Some(0),
            ..Default::default()
        }),
        method: method.into(),
        query_time: asked.map(|time| QueryTime {
            reference_time: Some(time),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// The ids of evidence in an answer, the best first, each once.
pub fn ranked(response: RecallResponse) -> Vec<String> {
    let mut matches: Vec<_> = response
        .messages
        .into_iter()
        .filter(|recalled| recalled.rank > 0)
        .collect();
    matches.sort_by_key(|recalled| recalled.rank);
    distinct(
        matches
            .into_iter()
            .filter_map(|recalled| evidence_id(&recalled.message?.metadata)),
    )
}

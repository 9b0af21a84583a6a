//! Reading what a briefing is composed of.

use memory_budget::{Budget, Cut, OversizedTurn, Tokenizer};
use memory_contract::proto::{BuildBriefingRequest, BuildBriefingResponse};
use memory_contract::{InvalidFields, TenantId, ThreadId, check, limits};
use memory_store::Progress;
use tonic::Request;
use tonic::metadata::MetadataMap;

use super::Plans;
use super::briefing::{Briefing, Material};
use super::log::task_name_from;
use crate::error::ApiError;
use crate::layers::tenant_of;
use crate::services::distilled::{Distilled, Record};
use crate::services::fields::Fields;
use crate::services::history::{bytes_of, tokenizer_from};
use crate::services::messages::PAGE_BYTES;
use crate::services::sessions::{Choice, required_choice};
use crate::services::tokens::counting;

/// Failures that are read at most.
const FAILURES: u32 = 1_000;

/// What to compose.
struct Wanted {
    choice: Choice,
    task: String,
    task_name: Option<String>,
    max_tokens: i32,
    tokenizer: Tokenizer,
}

impl Plans {
    pub(super) async fn build(
        &self,
        request: Request<BuildBriefingRequest>,
    ) -> Result<BuildBriefingResponse, ApiError> {
        let tenant = tenant_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let Wanted {
            choice,
            task,
            task_name,
            max_tokens,
            tokenizer,
        } = wanted(&metadata, request)?;
        let thread = self.thread(&tenant, choice).await?;
        let max_bytes = u32::try_from(PAGE_BYTES).unwrap_or(u32::MAX);
        let progress = async {
            let name = task_name.as_deref();
            let progress = self
                .store
                .progress(&tenant, thread, name, FAILURES, max_bytes);
            Ok(progress.await?)
        };
        // What is quoted takes more than this, so that these are turns enough.
        let budget = Budget {
            max_tokens,
            message_limit: limits::HISTORY_MESSAGES_MAX.unsigned_abs() as usize,
            oversized_turn: OversizedTurn::TruncateContent,
            tokenizer,
        };
        let (progress, (records, newest)) =
            tokio::try_join!(progress, self.conversation(&tenant, thread, budget))?;
        let Progress {
            plan,
            failures,
            more_failures,
            attempts,
        } = progress;
        let attempt = i32::try_from(attempts + 1).unwrap_or(i32::MAX);
        // Plans and failures count as large, rather than being measured.
        let large = match plan.is_some() || !failures.is_empty() {
            true => PAGE_BYTES,
            false => 0,
        };
        let distilled: usize = records.iter().map(|record| record.line.len()).sum();
        let bytes = task.len() + bytes_of(&newest) + distilled + large;
        let material = Material {
            task,
            plan: plan.map(|plan| plan.plan),
            failures,
            attempt,
            records,
            truncated: more_failures || newest.truncated || newest.content_truncated,
            conversation: newest.messages,
            tokenizer,
            max_tokens,
        };
        let Briefing {
            text,
            total_tokens,
            truncated,
        } = counting(bytes, tokenizer, || material.compose()).await??;
        Ok(BuildBriefingResponse {
            text,
            total_tokens,
            tokenizer: tokenizer.name().to_owned(),
            attempt,
            truncated,
        })
    }
}

impl Plans {
    /// What the conversation was distilled to, as the thread's mode says, and the
    /// newest turns after it.
    async fn conversation(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        budget: Budget,
    ) -> Result<(Vec<Record>, Cut), ApiError> {
        let store = &self.store;
        let policies = store.policies(tenant, thread).await?;
        let mode = policies.resolve().mode;
        let mut distilled = Distilled::read(store, tenant, thread, None, mode).await?;
        let newest = distilled.recent(store, tenant, budget).await?;
        Ok((std::mem::take(&mut distilled.records), newest))
    }
}

fn wanted(metadata: &MetadataMap, request: BuildBriefingRequest) -> Result<Wanted, InvalidFields> {
    let BuildBriefingRequest {
        thread_id,
        session,
        task,
        task_name,
        max_tokens,
        model,
    } = request;
    let mut fields = Fields::default();
    let choice = fields.get(required_choice(metadata, &thread_id, session));
    let task = fields.take(check::required_text(
        "task",
        task,
        limits::BRIEFING_TASK_CHARS,
    ));
    let task_name = fields.take(task_name_from("task_name", task_name));
    let max_tokens = match max_tokens {
        0 => limits::BRIEFING_TOKENS,
        max_tokens => fields.take(check::range(
            "max_tokens",
            max_tokens,
            limits::BRIEFING_TOKENS_MIN,
            limits::BRIEFING_TOKENS_MAX,
        )),
    };
    let tokenizer = fields.take(tokenizer_from(model));
    Ok(Wanted {
        choice: fields.all(choice)?,
        task,
        task_name,
        max_tokens,
        tokenizer,
    })
}

//! `GetHistory`: the exact history of one branch, cut to whole turns within a budget.

use memory_agent_contract::plan::EventQuery;
use memory_budget::Cut;
use memory_context::{read_history, render_history};
use memory_contract::proto::{self, AgentEvent, GetHistoryRequest, GetHistoryResponse};
use memory_contract::{ThreadId, check, limits};
use memory_grpc::request::{
    Fields, budget_from, formats_from, required_conversation_from, wait_deadline,
};
use memory_grpc::{ApiError, caller_of};
use memory_store::{Caller, StoreError};
use tonic::Request;

use super::Messages;
use crate::files::with_metadata;

impl Messages {
    pub(super) async fn history(
        &self,
        request: Request<GetHistoryRequest>,
    ) -> Result<GetHistoryResponse, ApiError> {
        let caller = caller_of(&request)?;
        let deadline = wait_deadline(&request);
        let (call, _, request) = request.into_parts();
        let GetHistoryRequest {
            thread,
            head_message_id,
            max_tokens,
            max_messages,
            oversized_turn,
            model,
            include_events,
            formats,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&call, thread));
        let head = fields.take(check::optional_message_name(
            "head_message_id",
            &head_message_id,
        ));
        let formats = fields.take(formats_from(formats));
        let budget = budget_from(&mut fields, max_tokens, max_messages, oversized_turn, model);
        let named = fields.all(named)?;
        let thread = match named.thread(&self.store, &caller).await {
            // A session without a thread has no messages yet.
            Err(ApiError::Store(StoreError::ThreadNotFound)) if head.is_none() => {
                return Ok(GetHistoryResponse {
                    tokenizer: budget.tokenizer.name().to_owned(),
                    ..Default::default()
                });
            }
            thread => thread?,
        };
        let store = &self.store;
        let (mut cut, files) = read_history(store, &caller, thread, head, budget).await?;
        let mut rendered = Vec::new();
        if !formats.is_empty() {
            let read = (cut, &files);
            (cut, rendered) =
                render_history(store, &caller, thread, read, budget, formats, deadline).await?;
        }
        let Cut {
            instructions,
            messages,
            total_tokens,
            truncated,
            content_truncated,
            omitted,
            needs_older: _,
        } = cut;
        let messages = instructions.into_iter().chain(messages);
        let messages: Vec<proto::Message> =
            messages.map(|one| with_metadata(one, &files)).collect();
        let events = match include_events {
            true => self.events_of(&caller, thread, &messages).await?,
            false => Vec::new(),
        };
        Ok(GetHistoryResponse {
            messages,
            rendered: rendered.into_iter().map(Into::into).collect(),
            events,
            total_tokens,
            truncated,
            content_truncated,
            omitted_message_count: omitted.count,
            omitted_token_count: omitted.tokens,
            tokenizer: budget.tokenizer.name().to_owned(),
        })
    }

    /// The newest events that belong to the messages, as many as an answer has room for.
    async fn events_of(
        &self,
        caller: &Caller,
        thread: ThreadId,
        messages: &[proto::Message],
    ) -> Result<Vec<AgentEvent>, ApiError> {
        let names: Vec<String> = messages
            .iter()
            .flat_map(|message| [&message.message_id, &message.external_id])
            .filter(|name| !name.is_empty())
            .cloned()
            .collect();
        let used: usize = messages.iter().map(prost::Message::encoded_len).sum();
        let room = limits::ANSWER_BYTES.saturating_sub(used);
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let query = EventQuery {
            messages: names,
            newest_first: true,
            ..EventQuery::of(thread, limits::HISTORY_EVENTS, room)
        };
        let newest = self.store.plans(caller).list_events(&query).await?.items;
        Ok(newest.into_iter().rev().map(Into::into).collect())
    }
}

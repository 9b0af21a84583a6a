//! The log of an agent's events.

use memory_agent_contract::plan::{AgentEvent, EventQuery, LoggedEvents, NewAgentEvent};
use memory_contract::{RequestId, ThreadId, limits};
use memory_database::{
    AppendError, Page, PlanError, StoreError, ThreadError,
    page::one_more,
    rows::{GET_THREAD, column, one_thread, only, unknown_status},
    words,
};
use memory_postgres::{Params, query};
use time::OffsetDateTime;
use tokio_postgres::Row;

use super::attempts::found;
use crate::PlanStore;

impl PlanStore<'_> {
    /// Adds events to the log of a thread, in one round trip: all or none. Numbers have no
    /// gaps. With a request id it is idempotent.
    ///
    /// # Errors
    /// `ThreadNotFound`, `AppendError::RequestReused`, `PlanError::EventLogFull`,
    /// `ThreadError::EphemeralFull`: nothing was stored. After `Unavailable` it may have
    /// been; a request id makes the retry safe.
    pub async fn append_events(
        self,
        thread: ThreadId,
        events: &[NewAgentEvent],
        request_id: Option<RequestId>,
    ) -> Result<LoggedEvents, StoreError> {
        let types: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        let data: Vec<&str> = events.iter().map(|event| event.json.as_str()).collect();
        let times: Vec<Option<OffsetDateTime>> = events.iter().map(|event| event.created).collect();
        let messages: Vec<Option<&str>> = events
            .iter()
            .map(|event| event.message.as_deref())
            .collect();
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &self.caller.actor,
            &thread.uuid(),
            &types,
            &data,
            &times,
            &messages,
            &limits::EVENTS,
            &self.store.ephemeral.byte_limit(),
            &request_id.map(RequestId::uuid),
            &request_id.map(|_| content_hash(thread, events)),
        ];
        let row = only(
            self.store
                .pool
                .call(self.caller, query!("agent_events/append"), params)
                .await?,
        )?;
        match column(&row, "status")? {
            status @ ("ok" | "replayed") => Ok(LoggedEvents {
                first: column(&row, "first_number")?,
                count: column(&row, "event_count")?,
                replayed: status == "replayed",
            }),
            "thread_not_found" => Err(StoreError::ThreadNotFound),
            "request_reused" => Err(StoreError::Append(AppendError::RequestReused)),
            "full" => Err(StoreError::Plan(PlanError::EventLogFull)),
            "ephemeral_full" => Err(StoreError::Thread(ThreadError::EphemeralFull)),
            other => Err(unknown_status(other)),
        }
    }

    /// Lists events of a thread; fewer than `limit` where more would be over `max_bytes`.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn list_events(
        self,
        query: &EventQuery,
    ) -> Result<Page<AgentEvent, i64>, StoreError> {
        let EventQuery {
            thread,
            types,
            start,
            end,
            messages,
            newest_first,
            after,
            limit,
            max_bytes,
        } = query;
        let (name, id) = (self.caller.tenant.as_str(), thread.uuid());
        let types = (!types.is_empty()).then_some(types);
        let messages = (!messages.is_empty()).then_some(messages);
        let first = if *newest_first { -i64::MAX } else { 0 };
        let of_thread: Params<'_> = &[&name, &id];
        let of_log: Params<'_> = &[
            &name,
            &id,
            &after.unwrap_or(first),
            &types,
            start,
            end,
            newest_first,
            &one_more(*limit),
            &i64::from(*max_bytes),
            &messages,
        ];
        let reads = [
            (GET_THREAD, of_thread),
            (query!("agent_events/list"), of_log),
        ];
        let results = self.store.pool.within_all(self.caller, &reads).await?;
        let [threads, rows] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        one_thread(threads)?;
        let mut items = events(rows)?;
        items.truncate(*limit as usize);
        let more = found(rows)? > items.len();
        let key = |event: &AgentEvent| {
            if *newest_first {
                -event.number
            } else {
                event.number
            }
        };
        Ok(Page {
            next: items.last().map(key).filter(|_| more),
            items,
        })
    }
}

/// A digest of the request's events, to tell a retry from another request.
fn content_hash(thread: ThreadId, events: &[NewAgentEvent]) -> Vec<u8> {
    let created = |event: &NewAgentEvent| event.created.map(|time| time.unix_timestamp_nanos());
    let parts = |event: &NewAgentEvent| {
        let NewAgentEvent {
            kind,
            json,
            message,
            ..
        } = event;
        [
            kind.clone(),
            json.clone(),
            format!("{:?} {message:?}", created(event)),
        ]
    };
    let texts: Vec<String> = events
        .iter()
        .flat_map(parts)
        .chain([thread.to_string()])
        .collect();
    words::digest(&texts.iter().map(String::as_str).collect::<Vec<_>>()).to_vec()
}

fn events(rows: &[Row]) -> Result<Vec<AgentEvent>, StoreError> {
    let event = |row: &Row| {
        Ok(AgentEvent {
            number: column(row, "number")?,
            kind: column(row, "type")?,
            json: column(row, "data")?,
            created: column(row, "happened_at")?,
            message: column(row, "message_name")?,
        })
    };
    rows.iter().map(event).collect()
}

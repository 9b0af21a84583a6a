//! The event service: the log of an agent's events.

use memory_agent_contract::{
    convert::events_from,
    plan::{EventQuery, LoggedEvents},
};
use memory_contract::proto::event_service_server::EventService;
use memory_contract::proto::{
    AppendEventsRequest, AppendEventsResponse, ListEventsRequest, ListEventsResponse,
};
use memory_contract::{
    Invalid, check,
    convert::{check_period, timestamp_of},
    limits,
    page::PageToken,
};
use memory_grpc::request::{
    Fields, descends, next_token, page_limit, request_id_from, required_conversation_from,
};
use memory_grpc::{ApiError, caller_of};
use memory_store::Store;
use prost::Message as _;
use tonic::{Request, Response, Status, async_trait};

use crate::storage_quota::{Amount, StorageQuotas};

/// Implements `EventService`.
#[derive(Clone)]
pub struct Events {
    pub(crate) store: Store,
    pub(crate) quotas: StorageQuotas,
}

#[async_trait]
impl EventService for Events {
    async fn append_events(
        &self,
        request: Request<AppendEventsRequest>,
    ) -> Result<Response<AppendEventsResponse>, Status> {
        Ok(Response::new(self.append(request).await?))
    }

    async fn list_events(
        &self,
        request: Request<ListEventsRequest>,
    ) -> Result<Response<ListEventsResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }
}

impl Events {
    /// Handles `AppendEvents`.
    pub async fn append(
        &self,
        request: Request<AppendEventsRequest>,
    ) -> Result<AppendEventsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let bytes = request.encoded_len();
        let AppendEventsRequest {
            thread,
            events,
            request_id,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&metadata, thread));
        let events = fields.get_all(events_from("events", events));
        let request_id = fields.take(request_id_from(&request_id));
        let (named, events) = fields.all(named.zip(events))?;
        let thread = named.thread(&self.store, &caller).await?;
        let _admitted = self
            .quotas
            .admit_request(
                &caller,
                Amount::of_request(0, bytes),
                ("events", request_id),
            )
            .await?;
        let LoggedEvents {
            first,
            count,
            replayed,
        } = self
            .store
            .plans(&caller)
            .append_events(thread, &events, request_id)
            .await?;
        Ok(AppendEventsResponse {
            first_number: first,
            event_count: count,
            replayed,
        })
    }

    async fn list(
        &self,
        request: Request<ListEventsRequest>,
    ) -> Result<ListEventsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let ListEventsRequest {
            thread,
            types,
            start_time,
            end_time,
            order_by,
            page_size,
            page_token,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&metadata, thread));
        let types = fields.take(types_from(types));
        let start = fields.take(timestamp_of("start_time", start_time));
        let end = fields.take(timestamp_of("end_time", end_time));
        fields.take(check_period(start, end));
        let newest_first = fields.take(descends("number", &order_by));
        let limit = fields.take(page_limit(page_size));
        let identity = (
            "events",
            caller.tenant.as_str(),
            format!("{named:?}"),
            types.clone(),
            format!("{start:?} {end:?}"),
            newest_first,
        );
        let after = fields.take(PageToken::key(&identity, &page_token));
        let named = fields.all(named)?;
        let thread = named.thread(&self.store, &caller).await?;
        let query = EventQuery {
            types,
            start,
            end,
            newest_first,
            after,
            ..EventQuery::of(thread, limit, limits::PAGE_BYTES)
        };
        let page = self.store.plans(&caller).list_events(&query).await?;
        Ok(ListEventsResponse {
            events: page.items.into_iter().map(Into::into).collect(),
            next_page_token: next_token(&identity, page.next),
        })
    }
}

fn types_from(types: Vec<String>) -> Result<Vec<String>, Invalid> {
    if types.len() > limits::FILTER_EVENT_TYPES {
        let problem = format!("must have at most {} entries", limits::FILTER_EVENT_TYPES);
        return Err(Invalid::new("types", problem));
    }
    let read = |(index, kind)| {
        check::required_text(&format!("types[{index}]"), kind, limits::EVENT_TYPE_CHARS)
    };
    types.into_iter().enumerate().map(read).collect()
}

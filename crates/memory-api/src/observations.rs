//! The observation service.

use memory_contract::proto::observation_service_server::ObservationService;
use memory_contract::proto::{self, GetObservationsRequest, GetObservationsResponse};
use memory_contract::{
    MessageId, check,
    convert::{text_origin, timestamp},
    limits,
};
use memory_grpc::request::{Fields, required_conversation_from};
use memory_grpc::{ApiError, caller_of};
use memory_store::{DistillState, Distillate, Standing, Store};
use tonic::{Request, Response, Status, async_trait};

use super::room::newest_within;

/// The most bytes of an observation in an answer besides its texts.
const FRAME_BYTES: usize = 256;

/// Implements `ObservationService`.
#[derive(Clone)]
pub struct Observations {
    pub(crate) store: Store,
}

#[async_trait]
impl ObservationService for Observations {
    async fn get_observations(
        &self,
        request: Request<GetObservationsRequest>,
    ) -> Result<Response<GetObservationsResponse>, Status> {
        Ok(Response::new(self.get(request).await?))
    }
}

impl Observations {
    async fn get(
        &self,
        request: Request<GetObservationsRequest>,
    ) -> Result<GetObservationsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, request) = request.into_parts();
        let GetObservationsRequest {
            thread,
            head_message_id,
            include_replaced,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&call, thread));
        let head = fields.take(check::optional_message_name(
            "head_message_id",
            &head_message_id,
        ));
        let thread = fields.all(named)?.thread(&self.store, &caller).await?;
        let state = self
            .store
            .distillates(&caller)
            .distill_state(thread, head.as_ref(), include_replaced)
            .await?;
        Ok(response(&state, include_replaced))
    }
}

fn response(state: &DistillState, include_replaced: bool) -> GetObservationsResponse {
    let holding = state.observations_that(Standing::Holds);
    let ready = state.observations_that(Standing::Ready);
    let replaced = match include_replaced {
        true => state.observations_that(Standing::Replaced),
        false => Vec::new(),
    };
    let tokens = holding.iter().map(|one| i64::from(one.tokens)).sum::<i64>();
    let raw = &state.unobserved;
    let messages = ready.iter().filter(|one| !one.is_reflection());
    let bytes = |one: &&Distillate| distillate_bytes(one);
    let (holding, left) = newest_within(&holding, limits::ANSWER_BYTES, bytes);
    let (replaced, _) = newest_within(&replaced, left, bytes);
    GetObservationsResponse {
        observations: holding.iter().map(|one| observation(one)).collect(),
        replaced: replaced.iter().map(|one| observation(one)).collect(),
        observation_tokens: i32::try_from(tokens).unwrap_or(i32::MAX),
        raw_message_count: raw.iter().map(|raw| raw.message_count).sum(),
        raw_message_tokens: raw.iter().map(|raw| raw.message_tokens).sum(),
        ready_message_tokens: messages.map(|one| one.message_tokens).sum(),
        last_error: state.last_error.clone(),
    }
}

/// An upper bound of the bytes of derived text in an answer.
pub(super) fn distillate_bytes(one: &Distillate) -> usize {
    one.text.len() + one.made_by.len() + FRAME_BYTES
}

fn observation(one: &Distillate) -> proto::Observation {
    let Distillate {
        kind: _,
        number,
        standing: _,
        end: _,
        after_depth: _,
        text,
        tokens,
        made_by,
        based_on: _,
        own_text: _,
        sets_aside: _,
        active: _,
        reflects: _,
        message_count,
        message_tokens,
        first,
        last,
        created,
    } = one;
    let (origin, made_by) = text_origin(made_by);
    let id = |id: &Option<MessageId>| id.map(|id| id.to_string()).unwrap_or_default();
    proto::Observation {
        number: *number,
        text: text.clone(),
        token_count: *tokens,
        reflection: one.is_reflection(),
        first_message_id: id(first),
        last_message_id: id(last),
        message_count: *message_count,
        message_tokens: *message_tokens,
        origin: origin.into(),
        made_by,
        create_time: Some(timestamp(*created)),
    }
}

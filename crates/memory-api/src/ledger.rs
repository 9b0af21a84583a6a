//! The ledger service: how derived text covers each message.

use memory_contract::proto::ledger_service_server::LedgerService;
use memory_contract::proto::{
    self, LedgerKind, ListLedgerRequest, ListLedgerResponse, VerifyThreadRequest,
    VerifyThreadResponse,
};
use memory_contract::{
    Invalid, check,
    convert::{text_origin, timestamp},
    limits,
    page::{PageToken, page_size as page_size_from},
};
use memory_grpc::request::{Fields, next_token, required_conversation_from};
use memory_grpc::{ApiError, caller_of};
use memory_store::{
    DistillKind, DistillState, Distillate, LedgerCount, LedgerFault, LedgerRange, LedgerState,
    Standing, Store,
};
use tonic::{Request, Response, Status, async_trait};

use super::observations::distillate_bytes;
use super::room::newest_within;

/// Implements `LedgerService`.
#[derive(Clone)]
pub struct Ledgers {
    pub(crate) store: Store,
}

#[async_trait]
impl LedgerService for Ledgers {
    async fn verify_thread(
        &self,
        request: Request<VerifyThreadRequest>,
    ) -> Result<Response<VerifyThreadResponse>, Status> {
        Ok(Response::new(self.verify(request).await?))
    }

    async fn list_ledger(
        &self,
        request: Request<ListLedgerRequest>,
    ) -> Result<Response<ListLedgerResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }
}

impl Ledgers {
    async fn verify(
        &self,
        request: Request<VerifyThreadRequest>,
    ) -> Result<VerifyThreadResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, VerifyThreadRequest { thread }) = request.into_parts();
        let named = required_conversation_from(&call, thread)?;
        let thread = named.thread(&self.store, &caller).await?;
        let ledger = self.store.distillates(&caller).ledger(thread, None).await?;
        // Slow for a thread with many branches.
        let response = move || {
            let faults = ledger.faults(limits::LEDGER_FAULTS);
            let counts = ledger.counts(limits::LEDGER_BRANCHES);
            VerifyThreadResponse {
                ok: faults.is_empty(),
                counts: counts.into_iter().map(count).collect(),
                faults: faults.into_iter().map(fault).collect(),
            }
        };
        Ok(tokio::task::spawn_blocking(response).await?)
    }

    async fn list(
        &self,
        request: Request<ListLedgerRequest>,
    ) -> Result<ListLedgerResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, request) = request.into_parts();
        let ListLedgerRequest {
            thread,
            kind,
            head_message_id,
            include_texts,
            page_size,
            page_token,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&call, thread));
        let kind = fields.get(kind_from(kind));
        let head = fields.take(check::optional_message_name(
            "head_message_id",
            &head_message_id,
        ));
        let limit = fields.take(page_size_from(page_size));
        let identity = (
            "ledger",
            caller.tenant.as_str(),
            format!("{named:?} {kind:?} {head:?}"),
        );
        let start = fields.take(PageToken::key(&identity, &page_token));
        let (named, kind) = fields.all(named.zip(kind))?;
        let thread = named.thread(&self.store, &caller).await?;
        let head = head.as_ref();
        let ledger = self.store.distillates(&caller).ledger(thread, head);
        let texts = async {
            match include_texts && start.is_none() {
                true => Ok(Some(
                    self.store
                        .distillates(&caller)
                        .distill_state(thread, head, false)
                        .await?,
                )),
                false => Ok(None),
            }
        };
        let (ledger, state) = tokio::try_join!(ledger, texts)?;
        let ranges = move || ledger.ranges(kind);
        let ranges = tokio::task::spawn_blocking(ranges).await?;
        let start = start.and_then(|start| usize::try_from(start).ok());
        let start = start.unwrap_or_default();
        let end = start.saturating_add(limit);
        let next = (end < ranges.len()).then(|| i64::try_from(end).unwrap_or(i64::MAX));
        Ok(ListLedgerResponse {
            ranges: ranges
                .into_iter()
                .skip(start)
                .take(limit)
                .map(range)
                .collect(),
            next_page_token: next_token(&identity, next),
            texts: state.map_or_else(Vec::new, |state| texts_of(&state, kind)),
        })
    }
}

/// The derived text of a context, the newest as far back as it fits.
fn texts_of(state: &DistillState, kind: DistillKind) -> Vec<proto::LedgerText> {
    let all = match kind {
        DistillKind::Summary => state.summary().into_iter().collect(),
        DistillKind::Observation => state.observations_that(Standing::Holds),
    };
    let (newest, _) = newest_within(&all, limits::LEDGER_TEXT_BYTES, |one| distillate_bytes(one));
    let text = |one: &&Distillate| {
        let (origin, made_by) = text_origin(&one.made_by);
        proto::LedgerText {
            number: one.number,
            text: one.text.clone(),
            token_count: one.tokens,
            origin: origin.into(),
            made_by,
            create_time: Some(timestamp(one.created)),
        }
    };
    newest.iter().map(text).collect()
}

fn kind_from(kind: i32) -> Result<DistillKind, Invalid> {
    match LedgerKind::try_from(kind) {
        Ok(LedgerKind::Summary) => Ok(DistillKind::Summary),
        Ok(LedgerKind::Observation) => Ok(DistillKind::Observation),
        Ok(LedgerKind::Unspecified) | Err(_) => Err(Invalid::new(
            "kind",
            "must be LEDGER_KIND_SUMMARY or LEDGER_KIND_OBSERVATION",
        )),
    }
}

fn kind(kind: DistillKind) -> i32 {
    match kind {
        DistillKind::Summary => LedgerKind::Summary,
        DistillKind::Observation => LedgerKind::Observation,
    }
    .into()
}

fn count(count: LedgerCount) -> proto::LedgerCount {
    let LedgerCount {
        kind: of,
        branch,
        head,
        active,
        messages,
        raw,
        summarized,
        observed,
        erased,
        set_aside,
    } = count;
    proto::LedgerCount {
        kind: kind(of),
        branch,
        head_message_id: head.map(|id| id.to_string()).unwrap_or_default(),
        active,
        message_count: messages,
        raw_count: raw,
        summarized_count: summarized,
        observed_count: observed,
        deleted_count: erased,
        set_aside_count: set_aside,
    }
}

fn fault(fault: LedgerFault) -> proto::LedgerFault {
    let LedgerFault {
        kind: of,
        branch,
        number,
        first_seq,
        last_seq,
        why,
    } = fault;
    proto::LedgerFault {
        kind: of.map_or(LedgerKind::Unspecified.into(), kind),
        branch,
        number,
        first_seq,
        last_seq,
        message: why,
    }
}

fn range(range: LedgerRange) -> proto::LedgerRange {
    let LedgerRange {
        state,
        number,
        first,
        last,
        messages,
        tokens,
    } = range;
    let state = match state {
        LedgerState::Raw => proto::LedgerState::Raw,
        LedgerState::Summarized => proto::LedgerState::Summarized,
        LedgerState::Observed => proto::LedgerState::Observed,
        LedgerState::Erased => proto::LedgerState::Deleted,
        LedgerState::SetAside => proto::LedgerState::SetAside,
    };
    proto::LedgerRange {
        state: state.into(),
        first_message_id: first.to_string(),
        last_message_id: last.to_string(),
        message_count: messages,
        token_count: tokens,
        number,
    }
}

//! The conversation that leads to a message, cut to a budget.

use memory_budget::{Budget, BudgetError, Cut, OversizedTurn, Tokenizer, cut};
use memory_contract::proto::{GetHistoryRequest, GetHistoryResponse, OversizedTurnPolicy};
use memory_contract::{
    Invalid, InvalidFields, Message, MessageId, TenantId, ThreadId, check, limits, message_bytes,
    message_bytes_at_most,
};
use memory_store::{History, HistoryQuery, Store};

use super::fields::Fields;
use super::files::KnownFiles;
use super::threads::thread_id_from;
use super::tokens::{INLINE_BYTES, size_of};
use crate::error::ApiError;

/// Reads of one history. Only another tokenizer than the stored one, and a newest
/// turn that is larger than the budget or longer than `message_limit`, need more
/// than the first.
const READS: u32 = 5;
/// The messages that the second read asks for at least, so that the last one
/// reaches the beginning of a turn of 100,000 messages however small
/// `message_limit` is. `max_tokens`, grown likewise, bounds what is read: 256
/// times the budget. The newest turn is kept only where its beginning was read.
const SECOND_READ: u32 = 2_000;
/// How much more each further read asks for.
const GROWTH: u32 = 4;

/// Reads and cuts a history.
pub(super) async fn read(
    store: &Store,
    tenant: &TenantId,
    request: GetHistoryRequest,
) -> Result<GetHistoryResponse, ApiError> {
    let Wanted {
        thread,
        head,
        budget,
    } = wanted(request)?;
    let cut = within_budget(store, tenant, thread, head, Tail::WHOLE, budget).await?;
    let (cut, known) = fitting(store, tenant, cut, budget).await?;
    let Cut {
        messages,
        total_tokens,
        truncated,
        content_truncated,
        needs_older: _,
    } = cut;
    Ok(GetHistoryResponse {
        messages: messages
            .into_iter()
            .map(|message| known.message(message))
            .collect(),
        total_tokens,
        truncated,
        content_truncated,
        tokenizer: budget.tokenizer.name().to_owned(),
    })
}

/// The newest part of a conversation, behind which nothing is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    /// Its messages are deeper than this.
    pub(super) after_depth: i32,
    /// How many they are.
    pub(super) messages: u32,
}

impl Tail {
    /// All of it.
    const WHOLE: Self = Self {
        after_depth: 0,
        messages: u32::MAX,
    };
}

/// The newest turns that lead to a message, as many as the budget and an answer
/// can hold, whatever is known of their files.
pub(super) async fn newest(
    store: &Store,
    tenant: &TenantId,
    thread: ThreadId,
    head: Option<MessageId>,
    budget: Budget,
) -> Result<Cut, ApiError> {
    newest_of(store, tenant, thread, head, Tail::WHOLE, budget).await
}

/// The same of the newest part of a conversation, as if that were all of it.
pub(super) async fn newest_of(
    store: &Store,
    tenant: &TenantId,
    thread: ThreadId,
    head: Option<MessageId>,
    tail: Tail,
    budget: Budget,
) -> Result<Cut, ApiError> {
    let cut = within_budget(store, tenant, thread, head, tail, budget).await?;
    within_answer(cut, budget).await
}

/// Cuts a conversation of which everything is there, however many bytes are left.
pub(super) async fn cut_whole(messages: Vec<Message>, budget: Budget) -> Result<Cut, ApiError> {
    Ok(cut_apart(messages, budget, true).await??)
}

/// Cuts further what would not fit into an answer with what is known of its files.
pub(super) async fn fitting(
    store: &Store,
    tenant: &TenantId,
    cut: Cut,
    budget: Budget,
) -> Result<(Cut, KnownFiles), ApiError> {
    // The newest messages are the last to be left out.
    let newest_first = cut.messages.iter().rev();
    let known = KnownFiles::of_messages(store, tenant, newest_first).await?;
    let fitting = move || {
        let bytes = |message: &Message| message_bytes(message) + known.bytes_of(&message.parts);
        let cut = within_bytes(cut, budget, limits::ANSWER_BYTES, bytes);
        cut.map(|cut| (cut, known))
    };
    Ok(tokio::task::spawn_blocking(fitting).await??)
}

/// Cuts further what would not fit into an answer with all that may be known of
/// its files.
async fn within_answer(cut: Cut, budget: Budget) -> Result<Cut, ApiError> {
    if bytes_of(&cut) <= limits::ANSWER_BYTES {
        return Ok(cut);
    }
    let fitting = move || within_bytes(cut, budget, limits::ANSWER_BYTES, message_bytes_at_most);
    Ok(tokio::task::spawn_blocking(fitting).await??)
}

/// Reads back from a message until the budget is full, and cuts.
async fn within_budget(
    store: &Store,
    tenant: &TenantId,
    thread: ThreadId,
    head: Option<MessageId>,
    tail: Tail,
    budget: Budget,
) -> Result<Cut, ApiError> {
    let limit = u32::try_from(budget.message_limit).unwrap_or(u32::MAX);
    let mut query = HistoryQuery {
        thread,
        head,
        max_tokens: i64::from(budget.max_tokens),
        limit: limit.min(tail.messages),
    };
    let mut read = 1;
    loop {
        let History {
            mut messages,
            older,
        } = store
            .history(tenant, &query)
            .await
            .map_err(|error| ApiError::from(error).naming("head_message_id"))?;
        messages.reverse();
        let read_count = messages.len();
        messages.retain(|message| message.depth > tail.after_depth);
        let older = older
            && messages.len() == read_count
            && u32::try_from(read_count).is_ok_and(|count| count < tail.messages);
        let last = read == READS || !older;
        match cut_apart(messages, budget, !older).await? {
            Ok(cut) if cut.needs_older && !last => {}
            Err(BudgetError::TurnTooLarge { whole: false, .. }) if !last => {}
            other => return Ok(other?),
        }
        read += 1;
        query.max_tokens = query.max_tokens.saturating_mul(i64::from(GROWTH));
        query.limit = query.limit.saturating_mul(GROWTH).max(SECOND_READ);
    }
}

/// The most bytes that what was kept takes in an answer.
pub(super) fn bytes_of(cut: &Cut) -> usize {
    cut.messages.iter().map(message_bytes_at_most).sum()
}

/// Cuts further what would not fit into an answer: few tokens may be many bytes,
/// such as white space or files.
pub(super) fn within_bytes(
    mut cut: Cut,
    budget: Budget,
    max_bytes: usize,
    bytes: impl Fn(&Message) -> usize,
) -> Result<Cut, BudgetError> {
    while cut.messages.iter().map(&bytes).sum::<usize>() > max_bytes {
        let smaller = Budget {
            max_tokens: cut.total_tokens / 2,
            oversized_turn: OversizedTurn::TruncateContent,
            ..budget
        };
        let shortened = cut.content_truncated;
        cut = memory_budget::cut(cut.messages, &smaller, false)?;
        cut.content_truncated |= shortened;
    }
    Ok(cut)
}

/// The budget of a history, from the fields of a request.
pub(super) fn budget_from(
    fields: &mut Fields,
    max_tokens: i32,
    message_limit: i32,
    oversized_turn: i32,
    model: String,
) -> Budget {
    let max_tokens = fields.take(check::range(
        "max_tokens",
        max_tokens,
        0,
        limits::BUDGET_TOKENS,
    ));
    let message_limit = fields.take(check::size(
        "message_limit",
        message_limit,
        limits::HISTORY_MESSAGES,
        limits::HISTORY_MESSAGES_MAX,
    ));
    let oversized_turn = fields.take(oversized_turn_from(oversized_turn));
    let tokenizer = fields.take(tokenizer_from(model));
    Budget {
        max_tokens: if max_tokens == 0 {
            limits::HISTORY_TOKENS
        } else {
            max_tokens
        },
        message_limit,
        oversized_turn,
        tokenizer,
    }
}

/// The tokenizer of the model that a request names.
pub(super) fn tokenizer_from(model: String) -> Result<Tokenizer, Invalid> {
    let model = check::text("model", model, limits::MODEL_CHARS)?;
    Ok(Tokenizer::for_model(&model).0)
}

struct Wanted {
    thread: ThreadId,
    head: Option<MessageId>,
    budget: Budget,
}

fn wanted(request: GetHistoryRequest) -> Result<Wanted, InvalidFields> {
    let GetHistoryRequest {
        thread_id,
        head_message_id,
        max_tokens,
        message_limit,
        oversized_turn,
        model,
    } = request;
    let mut fields = Fields::default();
    let thread = fields.get(thread_id_from(&thread_id));
    let head = fields.take(check::optional_uuid("head_message_id", &head_message_id));
    let budget = budget_from(
        &mut fields,
        max_tokens,
        message_limit,
        oversized_turn,
        model,
    );
    let thread = fields.all(thread)?;
    Ok(Wanted {
        thread,
        head: head.map(MessageId::from),
        budget,
    })
}

/// Reads what becomes of a turn that is too large.
pub(super) fn oversized_turn_from(policy: i32) -> Result<OversizedTurn, Invalid> {
    match OversizedTurnPolicy::try_from(policy) {
        Ok(OversizedTurnPolicy::Unspecified | OversizedTurnPolicy::TruncateContent) => {
            Ok(OversizedTurn::TruncateContent)
        }
        Ok(OversizedTurnPolicy::Drop) => Ok(OversizedTurn::Drop),
        Ok(OversizedTurnPolicy::Fail) => Ok(OversizedTurn::Fail),
        Err(_) => Err(Invalid::new(
            "oversized_turn",
            "must be OVERSIZED_TURN_POLICY_TRUNCATE_CONTENT, _DROP or _FAIL",
        )),
    }
}

/// Cuts, on a thread that may block where there is much to count.
async fn cut_apart(
    messages: Vec<Message>,
    budget: Budget,
    reaches_root: bool,
) -> Result<Result<Cut, BudgetError>, ApiError> {
    let counts = budget.tokenizer != Tokenizer::O200kBase
        || messages
            .iter()
            .map(|message| i64::from(message.tokens))
            .sum::<i64>()
            > i64::from(budget.max_tokens);
    let bytes: usize = messages.iter().map(|message| size_of(&message.parts)).sum();
    if !counts || (bytes <= INLINE_BYTES && budget.tokenizer == Tokenizer::O200kBase) {
        return Ok(cut(messages, &budget, reaches_root));
    }
    Ok(tokio::task::spawn_blocking(move || cut(messages, &budget, reaches_root)).await?)
}

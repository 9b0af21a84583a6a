//! Reads the path that leads to a message, cut to a budget of whole turns.

use std::time::Instant;

use memory_budget::{Amount, Budget, BudgetError, Cut, Tokenizer, cut_after};
use memory_contract::{
    MessageName, ThreadId, limits,
    message::{Message, Part, Role},
    size::{message_bytes, message_bytes_at_most},
};
use memory_formats::{Format, Labels, Rendered, Said};
use memory_store::{Caller, History, HistoryQuery, Store};

use crate::counting::{counting, size_of};
use crate::error::ContextError;
use crate::files::KnownFiles;
use crate::sending::Sending;

/// The most reads of one history. Only a tokenizer other than the stored one, and a
/// newest turn that is larger than the budget or longer than `message_limit`, need more
/// than one.
const READS: u32 = 5;
/// The least messages that the second read asks for, so that the last read reaches the
/// beginning of a turn of 100,000 messages even with a small `message_limit`.
/// `max_tokens` grows at the same rate and bounds what is read to 256 times the budget.
/// The newest turn is kept only if its beginning was read.
const SECOND_READ: u32 = 2_000;
/// The factor by which each further read asks for more.
const GROWTH: u32 = 4;

/// The newest part of a path; older messages are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    /// Messages at this depth and above are not part of it.
    pub(crate) after_depth: i32,
    pub(crate) amount: Amount,
    /// Whether derived text stands for the messages above.
    pub(crate) is_derived: bool,
}

/// The newest turns that lead to `head` (`None`: the thread's head), as many as fit into
/// the budget and, with the metadata of their files, into one answer.
///
/// # Errors
/// The thread or `head_message_id` is not stored, a turn is too large and the budget asks
/// to fail then, or the database fails.
pub async fn read_history(
    store: &Store,
    caller: &Caller,
    thread: ThreadId,
    head: Option<MessageName>,
    budget: Budget,
) -> Result<(Cut, KnownFiles), ContextError> {
    let cut = within_budget(store, caller, thread, head, None, budget).await?;
    fitting(store, caller, cut, budget).await
}

/// Like [`read_history`], for an answer that may have the largest file metadata.
pub(crate) async fn newest(
    store: &Store,
    caller: &Caller,
    thread: ThreadId,
    head: Option<MessageName>,
    budget: Budget,
) -> Result<Cut, ContextError> {
    let cut = within_budget(store, caller, thread, head, None, budget).await?;
    within_answer(cut, budget).await
}

/// Like [`newest`], of the tail of a path.
pub(crate) async fn newest_of(
    store: &Store,
    caller: &Caller,
    thread: ThreadId,
    head: Option<MessageName>,
    tail: Tail,
    budget: Budget,
) -> Result<Cut, ContextError> {
    let cut = within_budget(store, caller, thread, head, Some(tail), budget).await?;
    within_answer(cut, budget).await
}

/// The instructions of the path to `head`, and how much the rest of the path is.
pub(crate) async fn instructions_only(
    store: &Store,
    caller: &Caller,
    thread: ThreadId,
    head: Option<MessageName>,
    budget: Budget,
) -> Result<Cut, ContextError> {
    let nothing = HistoryQuery {
        thread,
        head,
        max_tokens: 0,
        limit: 0,
    };
    let path = store.messages(caller).history(&nothing).await;
    let path = path.map_err(|error| ContextError::naming(error, "head_message_id"))?;
    let (mut instructions, mut messages) = (path.instructions, path.messages);
    take_instructions(&mut instructions, &mut messages);
    let cut = cut_whole(instructions, Vec::new(), budget).await?;
    let all = Amount {
        count: path.path_messages,
        tokens: path.path_tokens,
    };
    let cut = cut.of_all(all);
    Ok(Cut {
        truncated: cut.omitted.count > 0,
        ..cut
    })
}

/// Cuts messages that reach back to the instructions, or to the beginning of a conversation
/// without any; bytes are not limited.
pub(crate) async fn cut_whole(
    instructions: Vec<Message>,
    messages: Vec<Message>,
    budget: Budget,
) -> Result<Cut, ContextError> {
    Ok(cut_apart(instructions, messages, budget, true).await??)
}

/// Cuts further what does not fit into one answer together with the metadata of its
/// files.
pub(crate) async fn fitting(
    store: &Store,
    caller: &Caller,
    cut: Cut,
    budget: Budget,
) -> Result<(Cut, KnownFiles), ContextError> {
    // The newest messages are left out last, so their files are looked up first.
    let newest_first = cut.all().rev();
    let known = KnownFiles::of_messages(store, caller, newest_first).await?;
    let fitting = move || {
        let bytes = |message: &Message| message_bytes(message) + known.bytes_of(&message.parts);
        let cut = within_bytes(cut, budget, limits::ANSWER_BYTES, bytes);
        cut.map(|cut| (cut, known))
    };
    Ok(tokio::task::spawn_blocking(fitting).await??)
}

/// Renders what [`read_history`] read in formats of providers, under the policy of the thread,
/// and cuts further what does not fit into one answer together with its renderings. Files
/// that object storage does not give before `deadline` are described in text.
///
/// # Errors
/// An unknown thread, and those of the database.
pub async fn render_history(
    store: &Store,
    caller: &Caller,
    thread: ThreadId,
    (mut cut, known): (Cut, &KnownFiles),
    budget: Budget,
    formats: Vec<Format>,
    deadline: Instant,
) -> Result<(Cut, Vec<Rendered>), ContextError> {
    let policy = store.policies(caller).policies(thread).await?.resolve();
    let newest_first = cut.all().rev().flat_map(|message| &message.parts);
    let files = newest_first.flat_map(Part::files);
    let sending =
        Sending::prepare(store, caller, &policy, &formats, known, files, deadline).await?;
    let rendering = move || {
        let labels = Labels::from_policy(&policy);
        loop {
            let said: Vec<Said<'_>> = cut.all().map(said).collect();
            let rendered = sending.render(&formats, &said, &labels);
            let bodies: usize = rendered.iter().map(|one| one.body.len()).sum();
            if bodies + bytes_of(&cut) <= limits::ANSWER_BYTES || cut.all().next().is_none() {
                return Ok::<_, BudgetError>((cut, rendered));
            }
            cut = cut.halved(&budget)?;
        }
    };
    Ok(tokio::task::spawn_blocking(rendering).await??)
}

fn said(message: &Message) -> Said<'_> {
    Said {
        role: message.role,
        name: &message.name,
        parts: &message.parts,
        is_prompt: false,
    }
}

/// Cuts further what may not fit into one answer with the largest file metadata.
async fn within_answer(cut: Cut, budget: Budget) -> Result<Cut, ContextError> {
    if bytes_of(&cut) <= limits::ANSWER_BYTES {
        return Ok(cut);
    }
    let fitting = move || within_bytes(cut, budget, limits::ANSWER_BYTES, message_bytes_at_most);
    Ok(tokio::task::spawn_blocking(fitting).await??)
}

/// Reads back from `head` until the budget is full, and cuts; without a tail, the whole
/// path.
async fn within_budget(
    store: &Store,
    caller: &Caller,
    thread: ThreadId,
    head: Option<MessageName>,
    tail: Option<Tail>,
    budget: Budget,
) -> Result<Cut, ContextError> {
    let of_tail = |tail: Tail| u32::try_from(tail.amount.count).unwrap_or(u32::MAX);
    let most = tail.map_or(u32::MAX, of_tail);
    let after_depth = tail.map_or(0, |tail| tail.after_depth);
    let limit = u32::try_from(budget.message_limit).unwrap_or(u32::MAX);
    let mut query = HistoryQuery {
        thread,
        head,
        max_tokens: i64::from(budget.max_tokens),
        limit: limit.min(most),
    };
    let mut read = 1;
    loop {
        let History {
            mut messages,
            mut instructions,
            older,
            path_messages,
            path_tokens,
        } = store
            .messages(caller)
            .history(&query)
            .await
            .map_err(|error| ContextError::naming(error, "head_message_id"))?;
        messages.reverse();
        let read_count = messages.len();
        let beyond_tail = messages.first().is_some_and(|one| one.depth <= after_depth);
        take_instructions(&mut instructions, &mut messages);
        let read_messages = instructions.len() + messages.len();
        let older = older && i64::try_from(read_messages).is_ok_and(|count| count < path_messages);
        messages.retain(|message| message.depth > after_depth);
        let older =
            older && !beyond_tail && u32::try_from(read_count).is_ok_and(|count| count < most);
        let mut path = Amount {
            count: path_messages,
            tokens: path_tokens,
        };
        if let Some(tail) = tail {
            let covered = |message: &&Message| message.depth <= after_depth;
            let covered = instructions.iter().filter(covered);
            path = tail
                .amount
                .plus(covered.map(|one| Amount::one(one.tokens)).sum());
            if tail.is_derived
                && !older
                && let Some(request) = request_of(store, caller, &query, &messages).await?
            {
                path = path.plus(Amount::one(request.tokens));
                messages.insert(0, request);
            }
        }
        let last = read == READS || !older;
        match cut_apart(instructions, messages, budget, !older).await? {
            Ok(cut) if cut.needs_older && !last => {}
            Err(BudgetError::TurnTooLarge { whole: false, .. }) if !last => {}
            other => return Ok(other?.of_all(path)),
        }
        read += 1;
        query.max_tokens = query.max_tokens.saturating_mul(i64::from(GROWTH));
        query.limit = query.limit.saturating_mul(GROWTH).max(SECOND_READ);
    }
}

/// Moves the instructions out of the messages of a path, both in the order of the conversation.
/// Without instructions the messages reach back to the root.
fn take_instructions(instructions: &mut Vec<Message>, messages: &mut Vec<Message>) {
    match instructions.last().map(|last| last.depth) {
        Some(last) => messages.retain(|message| message.depth > last),
        None => {
            let count = memory_store::instructions(messages.iter()).count();
            instructions.extend(messages.drain(..count));
        }
    }
}

/// The message of the user that opens the newest turn, if derived text covers it while the
/// messages of a tail belong to that turn.
async fn request_of(
    store: &Store,
    caller: &Caller,
    query: &HistoryQuery,
    tail: &[Message],
) -> Result<Option<Message>, ContextError> {
    if tail.is_empty() || tail.iter().any(|message| message.role == Role::User) {
        return Ok(None);
    }
    let messages = store.messages(caller);
    let newest = messages.newest_of_user(query.thread, query.head.as_ref());
    // A turn that began after the tail was read is not the tail's.
    let precedes = |request: &Message| request.depth < tail[0].depth;
    Ok(newest.await?.filter(precedes))
}

/// An upper bound of the bytes of a cut in an answer.
pub(crate) fn bytes_of(cut: &Cut) -> usize {
    cut.all().map(message_bytes_at_most).sum()
}

/// Cuts further until the messages fit into `max_bytes`, by halving the token budget: few
/// tokens may be many bytes, such as white space or files.
pub(crate) fn within_bytes(
    mut cut: Cut,
    budget: Budget,
    max_bytes: usize,
    bytes: impl Fn(&Message) -> usize,
) -> Result<Cut, BudgetError> {
    while cut.all().map(&bytes).sum::<usize>() > max_bytes {
        cut = cut.halved(&budget)?;
    }
    Ok(cut)
}

/// Cuts on a thread of the blocking pool if there is much to count.
async fn cut_apart(
    instructions: Vec<Message>,
    messages: Vec<Message>,
    budget: Budget,
    reaches_root: bool,
) -> Result<Result<Cut, BudgetError>, ContextError> {
    let all = || instructions.iter().chain(&messages);
    let stored: i64 = all().map(|one| i64::from(one.tokens)).sum();
    if budget.tokenizer == Tokenizer::O200kBase && stored <= i64::from(budget.max_tokens) {
        // The stored counts suffice.
        return Ok(cut_after(instructions, messages, &budget, reaches_root));
    }
    let bytes = all().map(|message| size_of(&message.parts)).sum();
    let cut = move || cut_after(instructions, messages, &budget, reaches_root);
    Ok(counting(bytes, budget.tokenizer, cut).await?)
}

//! Briefings: what a sub-agent has to know to work on a task, within a budget.

mod compose;
mod written;

use memory_budget::{Budget, Cut, OversizedTurn, Tokenizer};
use memory_contract::{ThreadId, limits};
use memory_store::{Caller, Progress, Store};

pub use self::written::{Briefing, BriefingCut, BriefingPart};

use self::compose::Content;
use crate::counting::counting;
use crate::derived::{DerivedHistory, DerivedText};
use crate::error::ContextError;
use crate::history::bytes_of;

/// The most failed attempts that are read.
const FAILURES: u32 = 1_000;

/// What to brief on.
#[derive(Clone, Debug)]
pub struct BriefingRequest {
    /// The conversation whose plan, attempts and messages are used.
    pub thread: ThreadId,
    /// The task, in the caller's own words; a briefing always contains all of it.
    pub task: String,
    /// Restricts attempts to those of this task; `None`: all attempts.
    pub task_name: Option<String>,
    /// The budget in tokens of `tokenizer`.
    pub max_tokens: i32,
    /// Counts the briefing.
    pub tokenizer: Tokenizer,
}

/// Builds a briefing: the task, the plan, failed attempts, and the conversation as its
/// thread's policy derives it, the most important first.
///
/// # Errors
/// The thread is not stored, the task alone is over the budget, or the database fails.
pub async fn build_briefing(
    store: &Store,
    caller: &Caller,
    request: BriefingRequest,
) -> Result<Briefing, ContextError> {
    let BriefingRequest {
        thread,
        task,
        task_name,
        max_tokens,
        tokenizer,
    } = request;
    let max_bytes = u32::try_from(limits::PAGE_BYTES).unwrap_or(u32::MAX);
    let progress = async {
        let name = task_name.as_deref();
        let progress = store
            .plans(caller)
            .progress(thread, name, FAILURES, max_bytes);
        Ok(progress.await?)
    };
    // Quoted, turns take more than this, so these are turns enough.
    let budget = Budget {
        max_tokens,
        message_limit: limits::HISTORY_MESSAGES_MAX.unsigned_abs() as usize,
        oversized_turn: OversizedTurn::TruncateContent,
        tokenizer,
    };
    let (progress, (records, newest)) =
        tokio::try_join!(progress, conversation(store, caller, thread, budget))?;
    let Progress {
        plan,
        failures,
        older_failures,
        attempts,
    } = progress;
    // Plans and failures count as large instead of being measured.
    let large = match plan.is_some() || !failures.is_empty() {
        true => limits::PAGE_BYTES,
        false => 0,
    };
    let derived: usize = records.iter().map(|record| record.line.len()).sum();
    let bytes = task.len() + bytes_of(&newest) + derived + large;
    let content = Content {
        task,
        plan: plan.map(|plan| plan.plan),
        failures,
        attempt: i32::try_from(attempts + 1).unwrap_or(i32::MAX),
        records,
        older_failures,
        older_messages: newest.omitted.count,
        content_truncated: newest.content_truncated,
        conversation: newest.all().cloned().collect(),
        tokenizer,
        max_tokens,
    };
    counting(bytes, tokenizer, || content.compose()).await?
}

/// The derived text of the conversation, and its newest turns.
async fn conversation(
    store: &Store,
    caller: &Caller,
    thread: ThreadId,
    budget: Budget,
) -> Result<(Vec<DerivedText>, Cut), ContextError> {
    let policies = store.policies(caller).policies(thread).await?;
    let mode = policies.resolve().mode;
    let mut history = DerivedHistory::read(store, caller, thread, None, mode).await?;
    let newest = history.recent(store, caller, budget).await?;
    Ok((std::mem::take(&mut history.records), newest))
}

//! The derived text of a conversation, and the messages that no derived text covers.

use std::collections::HashSet;

use memory_budget::{Amount, Budget, Cut};
use memory_contract::{
    MessageId, MessageName, ThreadId, json::json_line, message::Message, policy::MemoryMode,
};
use memory_store::{
    Caller, DistillKind, DistillState, Distillate, RangeQuery, Raw, Standing, Store,
};
use serde::Serialize;

use crate::error::ContextError;
use crate::history::{self, Tail};

/// The most uncovered ranges before the newest messages that are read, one query each.
const MAX_RANGES: usize = 8;
/// The most content that is read of such a range, in bytes.
const RANGE_BYTES: i64 = 4 * 1024 * 1024;

/// A summary, an observation or a reflection as an entry of a quotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DerivedText {
    /// Its number in the thread.
    pub(crate) number: i64,
    /// The text itself.
    pub(crate) text: String,
    /// The tokens of its text.
    pub(crate) tokens: i32,
    /// One line of JSON.
    pub(crate) line: String,
}

/// Derived text of the older part of a path, and the messages that it does not cover.
/// Both are of one snapshot.
#[derive(Debug)]
pub(crate) struct DerivedHistory {
    thread: ThreadId,
    /// The head in the snapshot; `None` in a thread without messages.
    head: Option<MessageId>,
    /// Summaries, observations and reflections, in the order of what they cover.
    pub(crate) records: Vec<DerivedText>,
    /// The newest messages, after all that is covered.
    tail: Raw,
    /// Whether it has any derived text.
    has_text: bool,
    /// Older ranges whose derived text was erased, the oldest first.
    uncovered: Vec<Raw>,
}

#[derive(Serialize)]
struct Line<'a> {
    record: &'a str,
    text: &'a str,
}

impl DerivedHistory {
    /// Reads the observations in observational mode, else the summary. One round trip,
    /// unless the working memory has just expired.
    pub(crate) async fn read(
        store: &Store,
        caller: &Caller,
        thread: ThreadId,
        head: Option<&MessageName>,
        mode: MemoryMode,
    ) -> Result<Self, ContextError> {
        let state = async || {
            let state = store
                .distillates(caller)
                .distill_state(thread, head, false)
                .await;
            state.map_err(|error| ContextError::naming(error, "head_message_id"))
        };
        let mut snapshot = state().await?;
        if snapshot.expired {
            store
                .working_memories(caller)
                .expire_working_memory(thread)
                .await?;
            snapshot = state().await?;
        }
        Ok(match mode {
            MemoryMode::Observational => Self::observed(thread, &snapshot),
            _ => Self::summarized(thread, &snapshot),
        })
    }

    fn summarized(thread: ThreadId, state: &DistillState) -> Self {
        let summary = state.summary().into_iter();
        // Messages that were only set aside have no text.
        let records: Vec<DerivedText> = summary
            .filter(|one| !one.text.is_empty())
            .map(DerivedText::of)
            .collect();
        Self {
            thread,
            head: state.head,
            has_text: !records.is_empty(),
            records,
            tail: state.unsummarized,
            uncovered: Vec::new(),
        }
    }

    fn observed(thread: ThreadId, state: &DistillState) -> Self {
        let end = state.path.first().map_or(0, |place| place.depth);
        let mut uncovered = state.unobserved.clone();
        let tail = uncovered.pop_if(|raw| raw.to_depth == end);
        uncovered.retain(|raw| raw.message_count > 0);
        let records = state.observations_that(Standing::Holds);
        let records: Vec<DerivedText> = records.into_iter().map(DerivedText::of).collect();
        Self {
            thread,
            head: state.head,
            has_text: !records.is_empty(),
            records,
            tail: tail.unwrap_or(Raw {
                after_depth: end,
                to_depth: end,
                ..Raw::default()
            }),
            uncovered,
        }
    }

    /// The messages that are not covered.
    pub(crate) fn raw(&self) -> Amount {
        let ranges = self.uncovered.iter().chain([&self.tail]);
        ranges.map(amount_of).sum()
    }

    /// The messages that are not covered, as many of the newest turns as fit.
    pub(crate) async fn recent(
        &self,
        store: &Store,
        caller: &Caller,
        budget: Budget,
    ) -> Result<Cut, ContextError> {
        let (recent, older) = tokio::try_join!(
            self.newest(store, caller, budget),
            self.older(store, caller, budget)
        )?;
        let (older, whole) = older;
        let all = self.raw().plus(self.also_covered(&recent));
        if recent.truncated || older.is_empty() {
            let cut = Cut {
                truncated: recent.truncated || !whole,
                ..recent
            };
            return Ok(cut.of_all(all));
        }
        let shown: HashSet<MessageId> = recent.all().map(|one| one.id).collect();
        let older = older.into_iter().filter(|one| !shown.contains(&one.id));
        let mut messages: Vec<Message> = older.chain(recent.messages).collect();
        messages.sort_by_key(|message| message.depth);
        let mut cut = history::cut_whole(recent.instructions, messages, budget).await?;
        cut.truncated |= !whole;
        cut.content_truncated |= recent.content_truncated;
        Ok(cut.of_all(all))
    }

    /// The messages that are shown in full although derived text covers them: instructions, and
    /// the message that opens the newest turn.
    fn also_covered(&self, recent: &Cut) -> Amount {
        let end = self.tail.after_depth;
        let covered = |message: &&Message| {
            let within =
                |raw: &Raw| raw.after_depth < message.depth && message.depth <= raw.to_depth;
            message.depth <= end && !self.uncovered.iter().any(within)
        };
        let covered = recent.all().filter(covered);
        covered.map(|one| Amount::one(one.tokens)).sum()
    }

    /// The newest turns of the tail. Without a tail, the instructions alone.
    async fn newest(
        &self,
        store: &Store,
        caller: &Caller,
        budget: Budget,
    ) -> Result<Cut, ContextError> {
        let tail = Tail {
            after_depth: self.tail.after_depth,
            amount: amount_of(&self.tail),
            is_derived: self.has_text,
        };
        let head = self.head.map(MessageName::from);
        history::newest_of(store, caller, self.thread, head, tail, budget).await
    }

    /// The messages of the older uncovered ranges, the oldest first, and whether these
    /// are all of them.
    async fn older(
        &self,
        store: &Store,
        caller: &Caller,
        budget: Budget,
    ) -> Result<(Vec<Message>, bool), ContextError> {
        let mut found: Vec<Vec<Message>> = Vec::new();
        let mut left = i64::from(budget.max_tokens);
        for raw in self.uncovered.iter().rev() {
            left = left.saturating_sub(raw.message_tokens);
            if left < 0 || found.len() == MAX_RANGES {
                return Ok((in_order(found), false));
            }
            let query = RangeQuery {
                thread: self.thread,
                head: self.head,
                after_depth: raw.after_depth,
                to_depth: raw.to_depth,
                max_messages: i32::try_from(budget.message_limit).unwrap_or(i32::MAX),
                max_tokens: i64::MAX,
                max_bytes: RANGE_BYTES,
            };
            let range = store.distillates(caller).read_range(&query).await?;
            if range.more {
                return Ok((in_order(found), false));
            }
            found.push(range.messages);
        }
        Ok((in_order(found), true))
    }
}

impl DerivedText {
    fn of(one: &Distillate) -> Self {
        let record = match one.kind {
            DistillKind::Summary => "summary",
            DistillKind::Observation if one.is_reflection() => "reflection",
            DistillKind::Observation => "observation",
        };
        Self {
            number: one.number,
            text: one.text.clone(),
            tokens: one.tokens,
            line: json_line(&Line {
                record,
                text: &one.text,
            }),
        }
    }
}

fn amount_of(raw: &Raw) -> Amount {
    Amount {
        count: raw.message_count,
        tokens: raw.message_tokens,
    }
}

fn in_order(newest_first: Vec<Vec<Message>>) -> Vec<Message> {
    newest_first.into_iter().rev().flatten().collect()
}

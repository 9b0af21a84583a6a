//! What a conversation was distilled to, and the messages that stand in full.

use memory_budget::{Budget, Cut};
use memory_contract::{MemoryMode, Message, MessageId, TenantId, ThreadId};
use memory_store::{DistillKind, DistillState, Distillate, Raw, Standing, Store, StretchQuery};
use serde::Serialize;

use super::history::{self, Tail};
use super::quote;
use crate::error::ApiError;

/// Stretches that erasures have freed, before the newest messages, of which a
/// reader is shown the newest. Each is a read of its own.
const FREED: usize = 8;
/// Content of a freed stretch, in bytes.
const FREED_BYTES: i64 = 4 * 1024 * 1024;

/// A summary, an observation or a reflection as a model is told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) number: i64,
    pub(super) line: String,
}

/// What stands for the older part of a path, and what stands in full. Both are of
/// one moment, and no message is in both.
#[derive(Debug)]
pub(super) struct Distilled {
    thread: ThreadId,
    /// The head of that moment; `None` where there is no message.
    head: Option<MessageId>,
    /// In the order of what they stand for.
    pub(super) records: Vec<Record>,
    /// The newest messages.
    tail: Raw,
    /// Older stretches that an erasure has freed, the oldest first.
    freed: Vec<Raw>,
}

#[derive(Serialize)]
struct Line<'a> {
    record: &'a str,
    text: &'a str,
}

impl Distilled {
    /// Reads it, in one round trip unless its time has just ended: the observations in the mode that has them,
    /// else the summary.
    pub(super) async fn read(
        store: &Store,
        tenant: &TenantId,
        thread: ThreadId,
        head: Option<MessageId>,
        mode: MemoryMode,
    ) -> Result<Self, ApiError> {
        let state = async || {
            let state = store.distill_state(tenant, thread, head, false).await;
            state.map_err(|error| ApiError::from(error).naming("head_message_id"))
        };
        let mut now = state().await?;
        if now.expired {
            store.expire_working_memory(tenant, thread).await?;
            now = state().await?;
        }
        let state = now;
        Ok(match mode {
            MemoryMode::Observational => Self::observed(thread, &state),
            _ => Self::summarized(thread, &state),
        })
    }

    fn summarized(thread: ThreadId, state: &DistillState) -> Self {
        let summary = state.summary().into_iter();
        Self {
            thread,
            head: state.head,
            // What was only set aside has no text.
            records: summary
                .filter(|one| !one.text.is_empty())
                .map(Record::of)
                .collect(),
            tail: state.unsummarized,
            freed: Vec::new(),
        }
    }

    fn observed(thread: ThreadId, state: &DistillState) -> Self {
        let end = state.path.first().map_or(0, |place| place.depth);
        let mut freed = state.unobserved.clone();
        let tail = freed.pop_if(|raw| raw.to_depth == end);
        freed.retain(|raw| raw.message_count > 0);
        let records = state.observations_that(Standing::Holds);
        Self {
            thread,
            head: state.head,
            records: records.into_iter().map(Record::of).collect(),
            tail: tail.unwrap_or_default(),
            freed,
        }
    }

    /// The size of the messages that stand in full, by the stored counts.
    pub(super) fn raw_tokens(&self) -> i64 {
        let freed = self.freed.iter().map(|raw| raw.message_tokens);
        freed.sum::<i64>().saturating_add(self.tail.message_tokens)
    }

    /// The messages that stand in full, as many of the newest as fit.
    pub(super) async fn recent(
        &self,
        store: &Store,
        tenant: &TenantId,
        budget: Budget,
    ) -> Result<Cut, ApiError> {
        if self.tail.message_count == 0 && self.freed.is_empty() {
            return Ok(Cut::default());
        }
        let (recent, freed) = tokio::try_join!(
            self.newest(store, tenant, budget),
            self.freed(store, tenant, budget)
        )?;
        let (mut messages, whole) = freed;
        if recent.truncated || messages.is_empty() {
            return Ok(Cut {
                truncated: recent.truncated || !whole,
                ..recent
            });
        }
        messages.extend(recent.messages);
        let mut cut = history::cut_whole(messages, budget).await?;
        cut.truncated |= !whole;
        cut.content_truncated |= recent.content_truncated;
        Ok(cut)
    }

    async fn newest(
        &self,
        store: &Store,
        tenant: &TenantId,
        budget: Budget,
    ) -> Result<Cut, ApiError> {
        if self.tail.message_count == 0 {
            return Ok(Cut::default());
        }
        let tail = Tail {
            after_depth: self.tail.after_depth,
            messages: u32::try_from(self.tail.message_count).unwrap_or(u32::MAX),
        };
        history::newest_of(store, tenant, self.thread, self.head, tail, budget).await
    }

    /// What erasures have freed, the oldest first, and whether that is all of it.
    async fn freed(
        &self,
        store: &Store,
        tenant: &TenantId,
        budget: Budget,
    ) -> Result<(Vec<Message>, bool), ApiError> {
        let mut found: Vec<Vec<Message>> = Vec::new();
        let mut left = i64::from(budget.max_tokens);
        for raw in self.freed.iter().rev() {
            left = left.saturating_sub(raw.message_tokens);
            if left < 0 || found.len() == FREED {
                return Ok((in_order(found), false));
            }
            let query = StretchQuery {
                thread: self.thread,
                head: self.head,
                after_depth: raw.after_depth,
                to_depth: raw.to_depth,
                max_messages: i32::try_from(budget.message_limit).unwrap_or(i32::MAX),
                max_tokens: i64::MAX,
                max_bytes: FREED_BYTES,
            };
            let stretch = store.read_stretch(tenant, &query).await?;
            if stretch.more {
                return Ok((in_order(found), false));
            }
            found.push(stretch.messages);
        }
        Ok((in_order(found), true))
    }
}

impl Record {
    fn of(one: &Distillate) -> Self {
        let record = match one.kind {
            DistillKind::Summary => "summary",
            DistillKind::Observation if one.is_reflection() => "reflection",
            DistillKind::Observation => "observation",
        };
        Self {
            number: one.number,
            line: quote::line(&Line {
                record,
                text: &one.text,
            }),
        }
    }
}

fn in_order(newest_first: Vec<Vec<Message>>) -> Vec<Message> {
    newest_first.into_iter().rev().flatten().collect()
}

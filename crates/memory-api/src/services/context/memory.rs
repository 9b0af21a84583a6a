//! Reading what is remembered.

use std::time::Instant;

use memory_budget::{Budget, BudgetError, Cut};
use memory_contract::proto::{Degradation, OmittedMessage};
use memory_contract::{
    MemoryMode, MemoryOwner, MemoryScope, Message, ResolvedPolicy, Role, Session, TenantId,
    ThreadId, limits,
};
use memory_recall::{FoundMemories, FoundMemory, Recall, RecallQuery, Recalled, RecalledMessage};
use memory_store::{HistoryQuery, Node, Scope, Store};

use super::distilled::Records;
use super::remembered::{add_degradations, remembered};
use super::request::{Wanted, query_of};
use crate::error::ApiError;
use crate::services::distilled::Distilled;
use crate::services::history;
use crate::services::nodes::{self, Dialogue};
use crate::services::recall_convert::{degradation, omission};
use crate::services::tokens::counting;

/// What is remembered, before it is put into blocks.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// What was distilled, in the modes that have it.
    pub(super) records: Option<Records>,
    /// The newest turns.
    pub(super) recent: Cut,
    /// What was found, in the order in which it was said. The newest turns may be
    /// among it, with their reasons.
    pub(super) found: Vec<RecalledMessage>,
    /// What is known of the user, the best match first.
    pub(super) memories: Vec<FoundMemory>,
    /// The dialogue of a node.
    pub(super) dialogue: Dialogue,
    pub(super) degradations: Vec<Degradation>,
    pub(super) omitted: Vec<OmittedMessage>,
}

/// Whose memory is read, and how much of it.
pub(super) struct Reading<'a> {
    pub(super) store: &'a Store,
    pub(super) recall: &'a Recall,
    pub(super) tenant: &'a TenantId,
    pub(super) thread: ThreadId,
    /// Which messages a search may find.
    pub(super) scope: Scope,
    /// Whose long-term memories there are.
    pub(super) owner: Option<&'a MemoryOwner>,
    pub(super) policy: &'a ResolvedPolicy,
    pub(super) wanted: &'a Wanted,
    /// The tokens that are left for it.
    pub(super) max_tokens: i32,
}

impl Memory {
    /// With what is known of the user.
    pub(super) fn with(mut self, known: FoundMemories) -> Self {
        self.memories = known.memories;
        let more = known.degradations.into_iter().map(degradation);
        add_degradations(&mut self.degradations, more);
        self
    }
}

impl Reading<'_> {
    /// Reads what the policy's mode asks for.
    pub(super) async fn read(&self) -> Result<Memory, ApiError> {
        match self.policy.mode {
            MemoryMode::None => Ok(Memory::default()),
            MemoryMode::Window => Ok(Memory {
                recent: self.newest(self.window()).await?,
                ..Memory::default()
            }),
            MemoryMode::Hybrid => self.hybrid().await,
            MemoryMode::Working | MemoryMode::Observational => self.distilled().await,
            MemoryMode::Node => Ok(Memory {
                dialogue: self.dialogue().await?,
                ..Memory::default()
            }),
        }
    }

    /// The newest turns, the best matches beside them, and what is known. All are
    /// read at the same time, unless the newest turns have to tell what to look
    /// for.
    async fn hybrid(&self) -> Result<Memory, ApiError> {
        let recent_window = self.policy.recent_window;
        let newest = self.newest(recent_window);
        if !self.wanted.query.is_empty() {
            let query = self.query(self.wanted.query.clone());
            let recalled = async {
                let rank = async { Ok(self.recall.rank(self.tenant, &query).await?) };
                let (recent, ranking) = tokio::try_join!(newest, rank)?;
                let shown = recent.messages.clone();
                let recalled =
                    self.recall
                        .complete_with_window(self.tenant, &query, ranking, shown);
                Ok(memory(recent, recalled.await?))
            };
            let (memory, known) = tokio::try_join!(recalled, self.known(&query.query))?;
            return Ok(memory.with(known));
        }
        let recent = newest.await?;
        let mut shown = recent.messages.clone();
        let question = match question_among(&shown) {
            Some(question) => question,
            // The question is no match of its own.
            None => match self.question().await? {
                Some(question) => {
                    let text = query_of(&question.parts);
                    shown.push(question);
                    text
                }
                None => String::new(),
            },
        };
        let query = self.query(question);
        let recalled = async {
            let ranking = self.recall.rank(self.tenant, &query).await?;
            let recalled = self
                .recall
                .complete_with_window(self.tenant, &query, ranking, shown);
            Ok(recalled.await?)
        };
        let (recalled, known) = tokio::try_join!(recalled, self.known(&query.query))?;
        Ok(memory(recent, recalled).with(known))
    }

    /// What was distilled, the messages that stand in full, and what is known.
    async fn distilled(&self) -> Result<Memory, ApiError> {
        let standing = self.standing();
        let ((records, recent), known) = if self.wanted.query.is_empty() {
            let (records, recent) = standing.await?;
            let question = match (self.owner, question_among(&recent.messages)) {
                (Some(_), Some(question)) => question,
                (Some(_), None) => {
                    let question = self.question().await?;
                    question.map_or_else(String::new, |question| query_of(&question.parts))
                }
                (None, _) => String::new(),
            };
            let known = self.known(&question).await?;
            ((records, recent), known)
        } else {
            tokio::try_join!(standing, self.known(&self.wanted.query))?
        };
        let memory = Memory {
            records: Some(records),
            recent,
            ..Memory::default()
        };
        Ok(memory.with(known))
    }

    /// What was distilled, as much as fits, and the messages that stand in full.
    async fn standing(&self) -> Result<(Records, Cut), ApiError> {
        let (store, wanted) = (self.store, self.wanted);
        let (tenant, thread, mode) = (self.tenant, self.thread, self.policy.mode);
        let mut distilled = Distilled::read(store, tenant, thread, wanted.head, mode).await?;
        let records = std::mem::take(&mut distilled.records);
        let bytes = records.iter().map(|record| record.line.len()).sum();
        let (raw, tokenizer, max_tokens) =
            (distilled.raw_tokens(), wanted.tokenizer, self.max_tokens);
        let fit = move || Records::fit(thread, records, raw, tokenizer, max_tokens);
        let records = counting(bytes, tokenizer, fit).await?;
        let max_tokens = self.max_tokens - records.tokens();
        let budget = self.budget(limits::WINDOW_MAX.unsigned_abs(), max_tokens);
        let recent = distilled.recent(store, tenant, budget).await;
        Ok((
            records,
            recent.map_err(|error| self.of_the_whole(error, max_tokens))?,
        ))
    }

    /// What is known of the user that matches a text.
    async fn known(&self, text: &str) -> Result<FoundMemories, ApiError> {
        let (policy, wanted) = (self.policy, self.wanted);
        remembered(self.recall, self.tenant, self.owner, policy, wanted, text).await
    }

    fn query(&self, text: String) -> RecallQuery {
        let (thread, scope) = (Some(self.thread), self.scope.clone());
        query(self.policy, self.wanted, thread, scope, text)
    }

    async fn newest(&self, message_limit: u32) -> Result<Cut, ApiError> {
        if message_limit == 0 {
            self.check_head().await?;
            return Ok(Cut::default());
        }
        let wanted = self.wanted;
        let budget = self.budget(message_limit, self.max_tokens);
        history::newest(self.store, self.tenant, self.thread, wanted.head, budget)
            .await
            .map_err(|error| self.of_the_whole(error, self.max_tokens))
    }

    /// Whether the named head is there, where nothing is read back from it.
    async fn check_head(&self) -> Result<(), ApiError> {
        let Some(head) = self.wanted.head else {
            return Ok(());
        };
        let found = self.store.get_message(self.tenant, self.thread, head).await;
        found
            .map(drop)
            .map_err(|error| ApiError::from(error).naming("head_message_id"))
    }

    /// The newest message of the user, where no window shows it.
    async fn question(&self) -> Result<Option<Message>, ApiError> {
        let newest_turn = HistoryQuery {
            thread: self.thread,
            head: self.wanted.head,
            max_tokens: 0,
            limit: limits::HISTORY_MESSAGES_MAX.unsigned_abs(),
        };
        let turn = self.store.history(self.tenant, &newest_turn).await;
        let turn = turn.map_err(|error| ApiError::from(error).naming("head_message_id"))?;
        let mut newest_first = turn.messages.into_iter();
        Ok(newest_first.find(|message| message.role == Role::User))
    }

    async fn dialogue(&self) -> Result<Dialogue, ApiError> {
        let wanted = self.wanted;
        let node = Node {
            thread: self.thread,
            id: wanted.node_id.clone(),
        };
        let dialogue = nodes::dialogue(
            self.store,
            self.tenant,
            &node,
            &wanted.current_message_id,
            self.budget(self.window(), self.max_tokens),
        )
        .await
        .map_err(|error| self.of_the_whole(error, self.max_tokens))?;
        debug_assert!(dialogue.total_tokens <= self.max_tokens, "over the budget");
        Ok(dialogue)
    }

    fn budget(&self, message_limit: u32, max_tokens: i32) -> Budget {
        Budget {
            max_tokens,
            message_limit: message_limit as usize,
            oversized_turn: self.wanted.oversized_turn,
            tokenizer: self.wanted.tokenizer,
        }
    }

    fn window(&self) -> u32 {
        let all = limits::HISTORY_MESSAGES_MAX.unsigned_abs();
        self.policy.window().unwrap_or(all)
    }

    /// The budget that would do is one for the whole context, of which so many
    /// tokens were left.
    fn of_the_whole(&self, error: ApiError, left: i32) -> ApiError {
        match error {
            ApiError::Budget(BudgetError::TurnTooLarge {
                needed_tokens,
                needed_messages,
                max_tokens: _,
                message_limit,
                whole,
            }) => {
                let taken = self.wanted.max_tokens - left;
                ApiError::Budget(BudgetError::TurnTooLarge {
                    needed_tokens: needed_tokens.saturating_add(taken),
                    needed_messages,
                    max_tokens: self.wanted.max_tokens,
                    message_limit,
                    whole,
                })
            }
            other => other,
        }
    }
}

/// What the user asked last, among messages in the order in which they were said.
fn question_among(messages: &[Message]) -> Option<String> {
    let question = messages
        .iter()
        .rfind(|message| message.role == Role::User)?;
    Some(query_of(&question.parts))
}

/// What a conversation that has not begun yet finds in others, where the policy's
/// scope goes beyond it.
pub(super) async fn of_others(
    recall: &Recall,
    tenant: &TenantId,
    session: &Session,
    policy: &ResolvedPolicy,
    wanted: &Wanted,
) -> Result<Memory, ApiError> {
    let scope = match policy.scope {
        MemoryScope::User if !session.user.is_empty() => Scope::User {
            app: session.app.clone(),
            user: session.user.clone(),
        },
        MemoryScope::App => Scope::App(session.app.clone()),
        MemoryScope::User | MemoryScope::Thread => return Ok(Memory::default()),
    };
    if policy.mode != MemoryMode::Hybrid {
        return Ok(Memory::default());
    }
    let query = query(policy, wanted, None, scope, wanted.query.clone());
    let ranking = recall.rank(tenant, &query).await?;
    let recalled = recall
        .complete_with_window(tenant, &query, ranking, Vec::new())
        .await?;
    Ok(memory(Cut::default(), recalled))
}

fn query(
    policy: &ResolvedPolicy,
    wanted: &Wanted,
    thread: Option<ThreadId>,
    scope: Scope,
    text: String,
) -> RecallQuery {
    RecallQuery {
        thread,
        scope,
        head: wanted.head,
        query: text,
        recent_window: policy.recent_window as usize,
        top_k: policy.top_k as usize,
        neighbors_before: policy.neighbors_before as usize,
        neighbors_after: policy.neighbors_after as usize,
        filter: wanted.filter.clone(),
        // The quotations are cut, not what they quote.
        max_tokens: None,
        tokenizer: wanted.tokenizer,
        min_score: policy.min_score,
        method: wanted.method,
        at_least_as_fresh: wanted.at_least_as_fresh,
        max_wait: wanted.wait_until.saturating_duration_since(Instant::now()),
        all_branches: wanted.all_branches,
        explain: true,
    }
}

fn memory(recent: Cut, recalled: Recalled) -> Memory {
    let Recalled {
        messages,
        total_tokens: _,
        degradations,
        omitted,
    } = recalled;
    Memory {
        recent,
        found: messages,
        degradations: degradations.into_iter().map(degradation).collect(),
        omitted: omitted.into_iter().map(omission).collect(),
        ..Memory::default()
    }
}

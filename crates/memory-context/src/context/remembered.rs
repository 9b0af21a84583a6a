//! Reads what a conversation remembers, as the mode of its policy says.

use std::time::Instant;

use memory_agent_contract::plan::NewPlan;
use memory_budget::{Amount, Budget, Cut};
use memory_contract::{
    ThreadId, limits,
    memory::MemoryOwner,
    message::{Message, Role},
    policy::{MemoryMode, ResolvedPolicy},
};
use memory_recall::{
    Degradation, FoundMemories, FoundMemory, Method, NamedTime, Omission, Ranking, Reason, Recall,
    RecallQuery, Recalled, RecalledMessage,
};
use memory_store::{Caller, Node, PlanError, Scope, Space, Store, StoreError};

use super::derived::DerivedShare;
use super::gist::Gist;
use super::memories::matching_memories;
use super::request::{ContextRequest, query_of};
use crate::counting::counting;
use crate::derived::DerivedHistory;
use crate::dialogue::{Dialogue, dialogue};
use crate::error::ContextError;
use crate::history;
use crate::profile::Facts;

/// What a conversation remembers, before it is made into blocks.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    /// Derived text; `None` in the modes without it.
    pub(super) derived: Option<DerivedShare>,
    /// The newest turns.
    pub(super) recent: Cut,
    /// Messages that a search found, the oldest first, with the newest turns among them.
    pub(super) found: Vec<RecalledMessage>,
    /// What the search was for.
    pub(super) question: String,
    /// Long-term memories, the best match first.
    pub(super) memories: Vec<FoundMemory>,
    /// What holds of the user, for the profile.
    pub(super) facts: Facts,
    /// The dialogue of a node.
    pub(super) dialogue: Dialogue,
    /// The plan of an agent.
    pub(super) plan: Option<NewPlan>,
    /// How messages and memories were matched; `None`: nothing was searched.
    pub(super) method: Option<Method>,
    /// Messages and memories in the scope of the search that wait to be indexed.
    pub(super) pending: u64,
    /// The past times that the query names.
    pub(super) named_times: Vec<NamedTime>,
    /// The parts that were degraded, each reason once.
    pub(super) degradations: Vec<Degradation>,
    /// Messages that the search left out.
    pub(super) omitted: Vec<Omission>,
    /// Messages that the search found and that exceed the size of an answer.
    pub(super) not_fitting: Amount,
}

/// Reads what one thread remembers.
pub(super) struct Reader<'a> {
    pub(super) store: &'a Store,
    pub(super) recall: &'a Recall,
    pub(super) caller: &'a Caller,
    pub(super) thread: ThreadId,
    /// The messages that a search may find.
    pub(super) scope: Scope,
    /// The owner of long-term memories; `None` if there are none.
    pub(super) owner: Option<&'a MemoryOwner>,
    /// The memory space that is searched; `None`: the app alone.
    pub(super) space: Option<&'a Space>,
    pub(super) policy: &'a ResolvedPolicy,
    pub(super) request: &'a ContextRequest,
    /// The tokens of the whole context.
    pub(super) whole_budget: i32,
    /// The tokens that system prompt, input and the profile leave.
    pub(super) max_tokens: i32,
    /// The end of reads of object storage.
    pub(super) deadline: Instant,
}

impl Remembered {
    /// Adds long-term memories.
    pub(super) fn with(mut self, known: FoundMemories) -> Self {
        self.memories = known.memories;
        self.method = self.method.or(known.method);
        self.pending = self.pending.saturating_add(known.pending);
        for degradation in known.degradations {
            let mut reasons = self.degradations.iter().map(|one| one.reason);
            if !reasons.any(|reason| reason == degradation.reason) {
                self.degradations.push(degradation);
            }
        }
        self
    }
}

impl Reader<'_> {
    /// Reads what the mode asks for.
    pub(super) async fn read(&self) -> Result<Remembered, ContextError> {
        match self.policy.mode {
            MemoryMode::None => Ok(Remembered::default()),
            MemoryMode::Window => Ok(Remembered {
                recent: self.newest(self.window()).await?,
                ..Remembered::default()
            }),
            MemoryMode::Hybrid => self.hybrid().await,
            MemoryMode::Working => self.derived().await,
            MemoryMode::Observational => {
                let (remembered, plan) = tokio::try_join!(self.derived(), self.plan())?;
                Ok(Remembered { plan, ..remembered })
            }
            MemoryMode::Node => Ok(Remembered {
                dialogue: self.dialogue().await?,
                ..Remembered::default()
            }),
        }
    }

    /// The newest turns, the messages that match, and long-term memories.
    async fn hybrid(&self) -> Result<Remembered, ContextError> {
        let history = async { Ok((None, self.newest(self.policy.recent_window).await?)) };
        self.with_matches(history, true).await
    }

    /// Derived text, the messages that it does not cover, the messages that match beyond both, and
    /// long-term memories.
    async fn derived(&self) -> Result<Remembered, ContextError> {
        let history = async {
            let (derived, recent) = self.derived_history().await?;
            Ok((Some(derived), recent))
        };
        let searches = self.owner.is_some() || self.policy.top_k > 0;
        self.with_matches(history, searches).await
    }

    /// Adds the messages that match and long-term memories. All are read at the same time,
    /// unless the question has to be found among the newest turns; without `searches` it is not
    /// looked for there.
    async fn with_matches(
        &self,
        history: impl Future<Output = Result<(Option<DerivedShare>, Cut), ContextError>>,
        searches: bool,
    ) -> Result<Remembered, ContextError> {
        if !self.request.query.is_empty() {
            let query = self.query(self.request.query.clone());
            let recalled = async {
                let rank = async { Ok(self.recall.rank(self.caller, &query).await?) };
                let ((derived, recent), ranking) = tokio::try_join!(history, rank)?;
                let shown = recent.all().cloned().collect();
                self.complete(&query, ranking, derived, recent, shown).await
            };
            let (memory, known) = tokio::try_join!(recalled, self.known(&query.query))?;
            return Ok(memory.with(known));
        }
        let (derived, recent) = history.await?;
        let mut shown = recent.all().cloned().collect();
        let question = match searches {
            true => self.question_of(&mut shown).await?,
            false => String::new(),
        };
        let query = self.query(question);
        let recalled = async {
            let ranking = self.recall.rank(self.caller, &query).await?;
            self.complete(&query, ranking, derived, recent, shown).await
        };
        let (memory, known) = tokio::try_join!(recalled, self.known(&query.query))?;
        Ok(memory.with(known))
    }

    /// Adds the matches that neither the messages in full nor the derived text contain.
    async fn complete(
        &self,
        query: &RecallQuery,
        ranking: Ranking,
        derived: Option<DerivedShare>,
        recent: Cut,
        shown: Vec<Message>,
    ) -> Result<Remembered, ContextError> {
        let (recall, caller) = (self.recall, self.caller);
        let recalled = match &derived {
            None => {
                recall
                    .complete_with_window(caller, query, ranking, shown)
                    .await?
            }
            Some(derived) => {
                let gist = Gist::of(derived.texts());
                let adds = |message: &Message| !gist.has_all_of(&message.parts);
                recall
                    .complete_beyond(caller, query, ranking, &shown, adds)
                    .await?
            }
        };
        Ok(Remembered {
            derived,
            ..remembered(recent, recalled, query)
        })
    }

    /// The plan of the thread, if it has one.
    async fn plan(&self) -> Result<Option<NewPlan>, ContextError> {
        match self.store.plans(self.caller).get_plan(self.thread).await {
            Ok(stored) => Ok(Some(stored.plan)),
            Err(StoreError::Plan(PlanError::NotFound)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Derived text, as much as fits, and the messages that it does not cover.
    async fn derived_history(&self) -> Result<(DerivedShare, Cut), ContextError> {
        let (store, request) = (self.store, self.request);
        let (caller, thread, mode) = (self.caller, self.thread, self.policy.mode);
        let mut history =
            DerivedHistory::read(store, caller, thread, request.head.as_ref(), mode).await?;
        let records = std::mem::take(&mut history.records);
        let bytes = records.iter().map(|record| record.line.len()).sum();
        let (raw, tokenizer, max_tokens) =
            (history.raw().tokens, request.tokenizer, self.max_tokens);
        let fit = move || DerivedShare::fit(thread, records, raw, tokenizer, max_tokens);
        let derived = counting(bytes, tokenizer, fit).await?;
        let max_tokens = self.max_tokens - derived.tokens();
        let budget = self.budget(limits::CONTEXT_MESSAGES, max_tokens);
        let recent = history.recent(store, caller, budget).await;
        Ok((
            derived,
            recent.map_err(|error| self.of_the_whole(error, max_tokens))?,
        ))
    }

    /// The long-term memories that match a text.
    async fn known(&self, text: &str) -> Result<FoundMemories, ContextError> {
        let (policy, request) = (self.policy, self.request);
        let (owner, space) = (self.owner, self.space);
        matching_memories(
            self.recall,
            self.caller,
            owner,
            space,
            policy,
            request,
            text,
        )
        .await
    }

    fn query(&self, text: String) -> RecallQuery {
        let (thread, scope) = (Some(self.thread), self.scope.clone());
        recall_query(self.policy, self.request, thread, scope, text)
    }

    async fn newest(&self, message_limit: u32) -> Result<Cut, ContextError> {
        if message_limit == 0 {
            return self.nothing_recent().await;
        }
        let budget = self.budget(message_limit, self.max_tokens);
        history::newest(
            self.store,
            self.caller,
            self.thread,
            self.request.head.clone(),
            budget,
        )
        .await
        .map_err(|error| self.of_the_whole(error, self.max_tokens))
    }

    /// A recent window of the instructions alone, which counts the messages that it lacks. Fails
    /// if the head that the request names is not stored.
    async fn nothing_recent(&self) -> Result<Cut, ContextError> {
        let (store, caller, thread) = (self.store, self.caller, self.thread);
        let head = self.request.head.clone();
        let budget = self.budget(0, self.max_tokens);
        history::instructions_only(store, caller, thread, head, budget).await
    }

    /// Fails if the head that the request names is not stored, where no window reads it.
    async fn check_head(&self) -> Result<(), ContextError> {
        let Some(head) = self.request.head.clone() else {
            return Ok(());
        };
        let found = self
            .store
            .messages(self.caller)
            .get_message(self.thread, head)
            .await;
        found
            .map(drop)
            .map_err(|error| ContextError::naming(error, "head_message_id"))
    }

    /// The text of the newest message of the user; empty if there is none. A message that
    /// is not among those shown is added to them, so that it does not match itself.
    async fn question_of(&self, shown: &mut Vec<Message>) -> Result<String, ContextError> {
        let newest = shown.iter().rfind(|message| message.role == Role::User);
        if let Some(question) = newest {
            return Ok(query_of(&question.parts));
        }
        let messages = self.store.messages(self.caller);
        let head = self.request.head.as_ref();
        let Some(question) = messages.newest_of_user(self.thread, head).await? else {
            return Ok(String::new());
        };
        let text = query_of(&question.parts);
        shown.push(question);
        Ok(text)
    }

    async fn dialogue(&self) -> Result<Dialogue, ContextError> {
        let request = self.request;
        let node = Node {
            thread: self.thread,
            id: request.node_id.clone(),
        };
        let current = match (&request.head, request.current_message_id.as_str()) {
            (Some(head), "") => {
                self.check_head().await?;
                head.as_str()
            }
            (_, current) => current,
        };
        let dialogue = dialogue(
            self.store,
            self.caller,
            &node,
            current,
            self.budget(self.window(), self.max_tokens),
            self.deadline,
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
            oversized_turn: self.request.oversized_turn,
            tokenizer: self.request.tokenizer,
        }
    }

    fn window(&self) -> u32 {
        let all = limits::HISTORY_MESSAGES_MAX.unsigned_abs();
        self.policy.window().unwrap_or(all)
    }

    /// An error about `left` tokens as one about the budget of the whole context.
    fn of_the_whole(&self, error: ContextError, left: i32) -> ContextError {
        match error {
            ContextError::Budget(error) => {
                ContextError::Budget(error.beside(self.whole_budget - left))
            }
            other => other,
        }
    }
}

/// What a session without a thread finds in other conversations, if the scope of the
/// policy goes beyond its own.
pub(super) async fn recall_beyond(
    recall: &Recall,
    caller: &Caller,
    scope: Option<Scope>,
    policy: &ResolvedPolicy,
    request: &ContextRequest,
) -> Result<Remembered, ContextError> {
    let Some(scope) = scope else {
        return Ok(Remembered::default());
    };
    match policy.mode {
        MemoryMode::None | MemoryMode::Window | MemoryMode::Node => {
            return Ok(Remembered::default());
        }
        MemoryMode::Hybrid | MemoryMode::Working | MemoryMode::Observational => {}
    }
    let query = recall_query(policy, request, None, scope, request.query.clone());
    let ranking = recall.rank(caller, &query).await?;
    let recalled = recall
        .complete_with_window(caller, &query, ranking, Vec::new())
        .await?;
    Ok(remembered(Cut::default(), recalled, &query))
}

fn recall_query(
    policy: &ResolvedPolicy,
    request: &ContextRequest,
    thread: Option<ThreadId>,
    scope: Scope,
    text: String,
) -> RecallQuery {
    RecallQuery {
        head: request.head.clone(),
        clock: Some(request.clock.clone()),
        filter: request.filter.clone(),
        tokenizer: request.tokenizer,
        method: request.method,
        freshness: request.freshness,
        max_wait: request.wait_until.saturating_duration_since(Instant::now()),
        all_branches: request.all_branches,
        omissions: match request.explain {
            true => limits::CONTEXT_OMITTED_MATCHES,
            false => 0,
        },
        min_score: policy.min_score.in_context(),
        // No budget: the quotations are fitted later, to the tokens that the other blocks leave.
        ..RecallQuery::under(policy, thread, scope, text)
    }
}

fn remembered(recent: Cut, recalled: Recalled, query: &RecallQuery) -> Remembered {
    let Recalled {
        messages,
        total_tokens: _,
        method,
        named_times,
        pending,
        degradations,
        omitted,
        cuts,
    } = recalled;
    // What is shown anyway does not count.
    let cuts = cuts.iter().filter(|cut| cut.reason != Reason::Recent);
    Remembered {
        not_fitting: cuts.map(|cut| cut.omitted).sum(),
        recent,
        found: messages,
        question: query.query.clone(),
        method,
        named_times,
        pending,
        degradations,
        omitted,
        ..Remembered::default()
    }
}

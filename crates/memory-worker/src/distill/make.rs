//! Shared by the steps of distilling: reads messages, and calls the distiller.

use memory_budget::Tokenizer;
use memory_contract::message::Message;
use memory_distill::{DistillError, Distilled, DistilledBy, Method, SourceMessage};
use memory_store::{
    DistillKind, DistillState, Generations, MessageRange, Place, RangeQuery, StoreError,
};
use metrics::{counter, describe_counter};

use super::failure::Failure;
use super::run::DistillRun;

/// Messages read at a time, at most.
const MAX_MESSAGES: i32 = 2_000;
/// Bytes of messages read at a time, at most.
const MAX_BYTES: i64 = 8 << 20;
/// Commits of one step that may be rejected as stale before the thread is left alone for
/// a moment.
pub(super) const MAX_STALE_COMMITS: usize = 3;
/// Summaries or observations that are stored in one run, so that a long thread does not keep others waiting.
pub(super) const MAX_COMMITS: usize = 8;

/// A derived text.
pub(super) struct DerivedText {
    pub(super) text: String,
    /// Its size in tokens of `o200k_base`.
    pub(super) tokens: i32,
    /// `extractive`, or the model.
    pub(super) by: String,
}

impl DistillRun<'_> {
    /// The derived text of the path to the head.
    pub(super) async fn state(&self) -> Result<DistillState, StoreError> {
        let Self { caller, thread, .. } = self;
        let store = &self.with.store;
        store
            .distillates(caller)
            .distill_state(thread.id, None, false)
            .await
    }

    /// Messages of the path of a state, the oldest first: at most `max_tokens`, and
    /// never more than [`MAX_MESSAGES`]. `None` if the generation of `kind` has changed
    /// since `state` was read.
    pub(super) async fn read(
        &self,
        state: &DistillState,
        kind: DistillKind,
        after_depth: i32,
        to_depth: i32,
        max_tokens: i64,
    ) -> Result<Option<MessageRange>, StoreError> {
        let query = RangeQuery {
            thread: self.thread.id,
            head: state.head,
            after_depth,
            to_depth,
            max_messages: MAX_MESSAGES,
            max_tokens,
            max_bytes: MAX_BYTES,
        };
        let range = self
            .with
            .store
            .distillates(self.caller)
            .read_range(&query)
            .await?;
        let generation = |of: Generations| match kind {
            DistillKind::Summary => of.summaries,
            DistillKind::Observation => of.observations,
        };
        let same = generation(range.generations) == generation(state.generations);
        Ok(same.then_some(range))
    }

    /// A summary of a previous one and of messages; never empty.
    pub(super) async fn summarize(
        &self,
        previous: &str,
        messages: &[SourceMessage],
        max_tokens: i32,
    ) -> Result<DerivedText, Failure> {
        let ask = async |method| {
            let distiller = &self.with.distiller;
            distiller
                .summarize(&self.caller.tenant, method, previous, messages, max_tokens)
                .await
        };
        let made = self.or_extractive(ask(self.method).await)?;
        let made = match made {
            Some(made) => made,
            None => ask(Method::Extractive).await?,
        };
        Ok(DerivedText::from_distilled(made, || match previous {
            "" => without_text(messages),
            previous => previous.to_owned(),
        }))
    }

    /// An observation of messages; never empty.
    pub(super) async fn observe(
        &self,
        messages: &[SourceMessage],
        max_tokens: i32,
    ) -> Result<DerivedText, Failure> {
        let ask = async |method| {
            let distiller = &self.with.distiller;
            distiller
                .observe(&self.caller.tenant, method, messages, max_tokens)
                .await
        };
        let made = match self.or_extractive(ask(self.method).await)? {
            Some(made) => made,
            None => ask(Method::Extractive).await?,
        };
        Ok(DerivedText::from_distilled(made, || without_text(messages)))
    }

    /// Whether a model observes.
    pub(super) fn asks_observer(&self) -> bool {
        let model = self.with.distiller.observer_model();
        self.method == Method::Model && model.is_some()
    }

    /// A reflection: the essence of observations; never empty.
    pub(super) async fn reflect(
        &self,
        observations: &str,
        max_tokens: i32,
    ) -> Result<DerivedText, Failure> {
        let ask = async |method| {
            let distiller = &self.with.distiller;
            distiller
                .reflect(&self.caller.tenant, method, observations, max_tokens)
                .await
        };
        let made = match self.or_extractive(ask(self.method).await)? {
            Some(made) => made,
            None => ask(Method::Extractive).await?,
        };
        let start = || Tokenizer::O200kBase.prefix(observations, max_tokens);
        Ok(DerivedText::from_distilled(made, || start().to_owned()))
    }

    /// Counts a text that was stored.
    pub(super) fn stored(&self, kind: &'static str, by: &str) {
        counter!("recollect_distilled_total", "kind" => kind, "made_by" => by.to_owned())
            .increment(1);
    }

    /// The result, or `None` if the tenant's token budget for the day is spent: retrying
    /// does not help, so the extractive distiller does the work. Other errors pass; the
    /// attempts with the model are counted.
    fn or_extractive<T>(&self, made: Result<T, DistillError>) -> Result<Option<T>, DistillError> {
        match made {
            Err(error) if error.is_spent() => Ok(None),
            made => made.map(Some),
        }
    }
}

impl DerivedText {
    /// The distilled text, or `instead` if the distiller found nothing to keep.
    fn from_distilled(distilled: Distilled<String>, instead: impl Fn() -> String) -> Self {
        let Distilled { value, by } = distilled;
        let text = match value.trim() {
            "" => instead(),
            _ => value,
        };
        Self {
            tokens: Tokenizer::O200kBase.count(&text),
            text,
            by: match by {
                DistilledBy::Model(model) => model,
                DistilledBy::Extractive => "extractive".to_owned(),
            },
        }
    }
}

/// The place of a message in the thread.
pub(super) fn place(message: &Message) -> Place {
    Place {
        branch: message.branch,
        depth: message.depth,
    }
}

/// The placeholder for messages without text.
fn without_text(messages: &[SourceMessage]) -> String {
    match messages.len() {
        1 => "1 message without words".to_owned(),
        count => format!("{count} messages without words"),
    }
}

pub(super) fn describe_metrics() {
    describe_counter!(
        "recollect_distilled_total",
        "Derived texts stored, by kind and by the model that made them (or `extractive`)."
    );
}

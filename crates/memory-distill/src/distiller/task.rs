//! Inputs and results of the tasks.

use memory_contract::policy::ExtractionStrategy;
use memory_kinds::{Kinds, NeverKept};

use crate::{Fact, KnownFact, SourceMessage};

/// The method to distill with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The model configured for the task, or the extractive distiller without one.
    Model,
    /// The extractive distiller, as the fallback after failed calls of the model.
    Extractive,
}

/// The author of a distilled text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DistilledBy {
    /// The model of this name.
    Model(String),
    /// The extractive distiller.
    Extractive,
}

/// A result of distilling, with its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distilled<T> {
    /// The text or the facts.
    pub value: T,
    /// The model, or the extractive distiller.
    pub by: DistilledBy,
}

/// Facts extracted from messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// The accepted facts, each with its evidence.
    pub facts: Vec<Fact>,
    /// Counts of the rejected facts.
    pub dropped: Dropped,
}

/// Counts of facts that were rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Facts that cite no message of the user whose facts they are, or one of another user, and
    /// facts that in a conversation of several are in the words of others.
    pub without_evidence: usize,
    /// Facts without text, or with more than [`FACT_CHARS`](crate::FACT_CHARS) characters.
    pub too_long_or_empty: usize,
    /// Facts with the same text as another one.
    pub duplicates: usize,
    /// Facts of an unknown kind, and facts whose attributes do not fit their kind, also when the
    /// model was asked again.
    pub invalid: usize,
    /// Facts with what the app never keeps.
    pub forbidden: usize,
}

/// The input of an extraction.
#[derive(Clone, Copy, Debug)]
pub struct Extraction<'a> {
    /// Which facts to extract.
    pub strategy: ExtractionStrategy,
    /// The app's instructions, for [`ExtractionStrategy::Custom`].
    pub instructions: &'a str,
    /// The app's own kinds, which only a model knows.
    pub kinds: &'a Kinds,
    /// What no fact may have.
    pub never_keep: &'a NeverKept,
    /// Whose facts to extract: the user whom this user's own messages name
    /// ([`Message::said_by`](memory_contract::message::Message::said_by)). A fact needs one of them
    /// as evidence. What other users, models and tools say is context alone.
    pub owner: &'a str,
    /// The messages, in order. Those with injected memory are skipped.
    pub messages: &'a [SourceMessage],
    /// Known facts, the most relevant first. For [`ExtractionStrategy::Summary`] these are
    /// the previous summaries, the newest first; the new summary continues and supersedes
    /// them.
    pub known: &'a [KnownFact],
}

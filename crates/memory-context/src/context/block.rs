//! Blocks of a context.

use std::sync::OnceLock;

use memory_budget::Tokenizer;
use memory_contract::{
    MemoryId, ThreadId,
    message::{Message, Part, Role},
};
use memory_formats::Said;
use memory_recall::{OmissionReason, Reason};
use time::OffsetDateTime;

/// What a block contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// The system prompt.
    System,
    /// The stored system messages that begin the conversation.
    Instructions,
    /// The quoted profile of the user.
    Profile,
    /// Quoted summaries, observations and reflections.
    Derived,
    /// Quoted long-term memories.
    Memories,
    /// Quoted messages that a search found.
    Recalled,
    /// The newest messages.
    Recent,
    /// The dialogue of a node.
    Node,
    /// The quoted plan of an agent.
    Plan,
    /// The current input of the user.
    Input,
}

/// A part of a context.
#[derive(Clone, Debug)]
pub struct Block {
    /// What it contains.
    pub kind: BlockKind,
    /// Its messages, in their order.
    pub messages: Vec<ContextMessage>,
    /// What it was made of, in the order of the text; empty for system prompt and input.
    pub sources: Vec<BlockSource>,
    /// Whether older messages were left out.
    pub truncated: bool,
    /// Whether texts were shortened.
    pub content_truncated: bool,
    /// See [`Block::hash`].
    pub(super) hash: OnceLock<String>,
}

/// A message as a model is given it.
#[derive(Clone, Debug)]
pub struct ContextMessage {
    /// The speaker's role.
    pub role: Role,
    /// The speaker's name; empty for none.
    pub name: String,
    /// The content.
    pub parts: Vec<Part>,
    /// The stored message that it is; `None` for one that is made for the context.
    pub stored: Option<StoredMessage>,
    /// Its size by the tokenizer of the request.
    pub tokens: i32,
}

/// The identity of a stored message, of a thread or of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMessage {
    /// A UUID in a thread; in a node's memory any string.
    pub id: String,
    /// When it was said.
    pub created: OffsetDateTime,
}

/// The identity of something stored that blocks are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceId {
    /// A message of a thread or of a node.
    Message(String),
    /// A long-term memory.
    Memory(MemoryId),
    /// A summary, observation or reflection, by its number in the thread.
    Derived(i64),
}

/// What a block was made of.
#[derive(Clone, Debug)]
pub struct BlockSource {
    /// The message, memory or derived text.
    pub id: SourceId,
    /// The thread it belongs to.
    pub thread: Option<ThreadId>,
    /// Why a message or memory is there.
    pub reasons: Vec<Reason>,
    /// The rank of a match, from 1; else 0.
    pub rank: u32,
    /// The score of a match, 0 to 1; else 0.
    pub score: f32,
}

/// Something stored that was left out of a context.
#[derive(Clone, Debug)]
pub struct Omission {
    /// The block that it would be in.
    pub kind: BlockKind,
    /// The message, memory or derived text.
    pub id: SourceId,
    /// Why it was left out.
    pub reason: OmissionReason,
    /// The score of a match, 0 to 1; else 0.
    pub score: f32,
}

impl ContextMessage {
    /// A message that is made for the context.
    pub(super) fn new(role: Role, name: String, parts: Vec<Part>, tokenizer: Tokenizer) -> Self {
        Self {
            tokens: tokenizer.count_known_message(&name, &parts),
            role,
            name,
            parts,
            stored: None,
        }
    }

    /// The message for a format.
    pub(super) fn said(&self) -> Said<'_> {
        Said {
            role: self.role,
            name: &self.name,
            parts: &self.parts,
            is_prompt: self.role == Role::System && self.stored.is_none(),
        }
    }

    /// A stored message. Its stored count is used where the tokenizer is the same.
    pub(super) fn stored(message: Message, tokenizer: Tokenizer) -> Self {
        let tokens = tokenizer.recount_message(message.tokens, &message.name, &message.parts);
        Self {
            role: message.role,
            name: message.name,
            parts: message.parts,
            stored: Some(StoredMessage {
                id: message.id.to_string(),
                created: message.created,
            }),
            tokens,
        }
    }
}

impl BlockSource {
    /// The memory, if it is one.
    pub(super) fn memory(&self) -> Option<MemoryId> {
        match self.id {
            SourceId::Memory(id) => Some(id),
            SourceId::Message(_) | SourceId::Derived(_) => None,
        }
    }

    /// Something that is there for other reasons than a match.
    pub(super) fn new(id: SourceId, thread: ThreadId, reasons: Vec<Reason>) -> Self {
        Self {
            id,
            thread: Some(thread),
            reasons,
            rank: 0,
            score: 0.0,
        }
    }
}

impl Block {
    /// A block of one message that is made for the context.
    pub(super) fn of(kind: BlockKind, message: ContextMessage) -> Self {
        Self {
            kind,
            messages: vec![message],
            sources: Vec::new(),
            truncated: false,
            content_truncated: false,
            hash: OnceLock::new(),
        }
    }

    /// The size of its messages.
    pub fn tokens(&self) -> i32 {
        tokens_of(&self.messages)
    }
}

/// The size of messages together.
pub(super) fn tokens_of(messages: &[ContextMessage]) -> i32 {
    messages
        .iter()
        .fold(0, |sum, message| sum.saturating_add(message.tokens))
}

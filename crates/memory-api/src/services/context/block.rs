//! Blocks of a context before they are sent.

use memory_budget::Tokenizer;
use memory_contract::proto::{self, ContextBlockKind};
use memory_contract::{Message, Part, ResolvedPolicy, Role, ThreadId, timestamp};
use memory_recall::Reason;

use super::hash;
use crate::services::recall_convert::reason;

/// A message as a model is given it.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) role: Role,
    pub(super) name: String,
    pub(super) parts: Vec<Part>,
    /// The stored message that it is; `None` for one that is not stored as such.
    pub(super) stored: Option<Stored>,
    pub(super) tokens: i32,
}

/// Where a message comes from.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) id: String,
    pub(super) created: Option<prost_types::Timestamp>,
}

/// What a block was made of: a stored message, a memory, or a summary or
/// observation.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    /// Empty for anything but a message.
    pub(super) message: String,
    /// Empty for anything but a memory.
    pub(super) memory: String,
    /// 0 for anything but a summary or observation.
    pub(super) number: i64,
    pub(super) thread: Option<ThreadId>,
    pub(super) reasons: Vec<Reason>,
    pub(super) rank: u32,
    pub(super) score: f32,
}

/// A stretch of a context.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) kind: ContextBlockKind,
    pub(super) messages: Vec<Said>,
    pub(super) sources: Vec<Source>,
    pub(super) truncated: bool,
    pub(super) content_truncated: bool,
}

/// What stands for the speakers where a conversation is written as text.
#[derive(Clone, Debug)]
pub(super) struct Labels {
    user: String,
    assistant: String,
}

impl Said {
    /// A message that is not stored as such.
    pub(super) fn new(role: Role, name: String, parts: Vec<Part>, tokenizer: Tokenizer) -> Self {
        Self {
            tokens: tokenizer.count_message(&name, &parts),
            role,
            name,
            parts,
            stored: None,
        }
    }

    /// A stored message. Its own count is believed where the tokenizer is the
    /// store's.
    pub(super) fn stored(message: Message, tokenizer: Tokenizer) -> Self {
        let tokens = match tokenizer {
            Tokenizer::O200kBase => message.tokens,
            other => other.count_message(&message.name, &message.parts),
        };
        Self {
            role: message.role,
            name: message.name,
            parts: message.parts,
            stored: Some(Stored {
                id: message.id.to_string(),
                created: Some(timestamp(message.created)),
            }),
            tokens,
        }
    }
}

impl Source {
    /// A message of the recent window.
    pub(super) fn recent(message: String, thread: ThreadId, reasons: Vec<Reason>) -> Self {
        Self {
            message,
            thread: Some(thread),
            reasons,
            ..Self::default()
        }
    }
}

impl Block {
    /// A block of one message that is not stored as such.
    pub(super) fn of(kind: ContextBlockKind, said: Said) -> Self {
        Self {
            kind,
            messages: vec![said],
            sources: Vec::new(),
            truncated: false,
            content_truncated: false,
        }
    }

    pub(super) fn tokens(&self) -> i32 {
        tokens_of(&self.messages)
    }
}

/// The size of messages together.
pub(super) fn tokens_of(messages: &[Said]) -> i32 {
    messages
        .iter()
        .fold(0, |sum, said| sum.saturating_add(said.tokens))
}

impl Labels {
    pub(super) fn of(policy: &ResolvedPolicy) -> Self {
        Self {
            user: policy.user_label.clone(),
            assistant: policy.assistant_label.clone(),
        }
    }

    pub(super) fn user(&self) -> &str {
        &self.user
    }

    pub(super) fn assistant(&self) -> &str {
        &self.assistant
    }

    /// Policies name two roles; the others have names of their own.
    pub(super) fn role(&self, role: Role) -> &str {
        match role {
            Role::User => &self.user,
            Role::Assistant => &self.assistant,
            Role::System => "System",
            Role::Tool => "Tool",
        }
    }
}

impl From<Block> for proto::ContextBlock {
    fn from(block: Block) -> Self {
        let token_count = block.tokens();
        let hash = hash::of_messages(&block.messages);
        let Block {
            kind,
            messages,
            sources,
            truncated,
            content_truncated,
        } = block;
        Self {
            kind: kind.into(),
            messages: messages.into_iter().map(Into::into).collect(),
            token_count,
            hash,
            sources: sources.into_iter().map(Into::into).collect(),
            truncated,
            content_truncated,
        }
    }
}

impl From<Said> for proto::ContextMessage {
    fn from(said: Said) -> Self {
        let Said {
            role,
            name,
            parts,
            stored,
            tokens,
        } = said;
        let (message_id, create_time) = match stored {
            Some(Stored { id, created }) => (id, created),
            None => (String::new(), None),
        };
        Self {
            role: proto::Role::from(role).into(),
            name,
            parts: parts.into_iter().map(proto::Part::from).collect(),
            message_id,
            token_count: tokens,
            create_time,
        }
    }
}

impl From<Source> for proto::ContextSource {
    fn from(source: Source) -> Self {
        let Source {
            message,
            memory,
            number,
            thread,
            reasons,
            rank,
            score,
        } = source;
        Self {
            message_id: message,
            memory_id: memory,
            number,
            thread_id: thread.map(|id| id.to_string()).unwrap_or_default(),
            reasons: reasons.into_iter().map(reason).collect(),
            rank: i32::try_from(rank).unwrap_or(i32::MAX),
            score,
        }
    }
}

//! Records that wait to be stored together.
//!
//! Where a batch ends depends only on the records of its thread, so that importing them
//! again makes the same requests.

use memory_contract::proto::record::Kind;
use memory_contract::proto::{AgentEvent, Memory, MessageInput};
use prost::Message as _;

/// Messages or events of a batch: far below the limit of a request, so that progress shows.
const BATCH: usize = 100;
/// Bytes of a batch; the limit of a request is 3 MiB.
const BATCH_BYTES: usize = 2 * 1024 * 1024;
/// Memories of a batch; of the longest ones, these are less than 3 MiB.
const MEMORIES: usize = 50;

/// A message that waits.
#[derive(Debug)]
pub(super) struct WaitingMessage {
    pub(super) position: i64,
    pub(super) input: MessageInput,
    /// Whether it was its thread's head.
    pub(super) is_head: bool,
}

#[derive(Debug, Default)]
pub(super) enum Waiting {
    #[default]
    Nothing,
    Messages {
        messages: Vec<WaitingMessage>,
        bytes: usize,
    },
    Events {
        events: Vec<(i64, AgentEvent)>,
        bytes: usize,
    },
    /// Of one user, or of an app.
    Memories(Vec<(i64, Memory)>),
}

impl Waiting {
    /// Whether a record can wait with those that wait.
    pub(super) fn takes(&self, kind: &Kind) -> bool {
        let room = |count: usize, bytes: usize, more: usize| {
            count < BATCH && bytes + more + 64 <= BATCH_BYTES
        };
        match (self, kind) {
            (Self::Nothing, _) => true,
            (Self::Messages { messages, bytes }, Kind::Message(message)) => {
                room(messages.len(), *bytes, message.encoded_len())
            }
            (Self::Events { events, bytes }, Kind::Event(event)) => {
                room(events.len(), *bytes, event.encoded_len())
            }
            (Self::Memories(memories), Kind::Memory(memory)) => {
                memories.len() < MEMORIES
                    && memories.first().is_none_or(|(_, first)| {
                        (&first.app_id, &first.user_id) == (&memory.app_id, &memory.user_id)
                    })
            }
            _ => false,
        }
    }

    /// The position of the first record that waits.
    pub(super) fn first(&self) -> Option<i64> {
        match self {
            Self::Nothing => None,
            Self::Messages { messages, .. } => messages.first().map(|one| one.position),
            Self::Events { events, .. } => events.first().map(|(position, _)| *position),
            Self::Memories(memories) => memories.first().map(|(position, _)| *position),
        }
    }

    pub(super) fn push_message(&mut self, message: WaitingMessage) {
        let more = message.input.encoded_len() + 64;
        match self {
            Self::Messages { messages, bytes } => {
                messages.push(message);
                *bytes += more;
            }
            _ => {
                *self = Self::Messages {
                    messages: vec![message],
                    bytes: more,
                }
            }
        }
    }

    pub(super) fn push_event(&mut self, position: i64, event: AgentEvent) {
        let more = event.encoded_len() + 64;
        match self {
            Self::Events { events, bytes } => {
                events.push((position, event));
                *bytes += more;
            }
            _ => {
                *self = Self::Events {
                    events: vec![(position, event)],
                    bytes: more,
                }
            }
        }
    }

    pub(super) fn push_memory(&mut self, position: i64, memory: Memory) {
        match self {
            Self::Memories(memories) => memories.push((position, memory)),
            _ => *self = Self::Memories(vec![(position, memory)]),
        }
    }
}

//! Makes a context of what was read: fitted into the budget and into one answer. Pure.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use memory_agent_contract::node::NodeMessage;
use memory_budget::{Amount, Budget, Cut, Size};
use memory_contract::{
    MemoryId, MessageId, ThreadId, limits,
    message::{Message, Part, Role},
    policy::ResolvedPolicy,
    size::message_bytes,
};
use memory_formats::{Format, Labels, Said};
use memory_recall::{Omission as RecallOmission, Reason};

use super::block::{
    Block, BlockKind, BlockSource, ContextMessage, Omission, SourceId, StoredMessage, tokens_of,
};
use super::compiled::Context;
use super::cut::cuts;
use super::derived::DerivedShare;
use super::hash;
use super::memories::quote_memories;
use super::planned::quote_plan;
use super::profile::quote_profile;
use super::prompt::Prompt;
use super::quoted::Quoted;
use super::recalled::quote_recalled;
use super::remembered::Remembered;
use crate::counting::size_of;
use crate::dialogue::parts_of;
use crate::error::ContextError;
use crate::files::KnownFiles;
use crate::history::{bytes_of, within_bytes};
use crate::sending::Sending;

/// If less room than this, in bytes, is left for what is remembered, the prompt is what
/// is too long.
const MIN_ROOM: usize = 1_024;

/// The content of a context.
pub(super) struct Assembly {
    pub(super) prompt: Prompt,
    /// The thread; `None` for a session without one.
    pub(super) thread: Option<ThreadId>,
    pub(super) remembered: Remembered,
    /// The metadata of the files that prompt and messages refer to.
    pub(super) files: KnownFiles,
    /// How these files reach a model.
    pub(super) sending: Sending,
    pub(super) policy: ResolvedPolicy,
    /// What the prompt leaves, and how it is counted.
    pub(super) budget: Budget,
    pub(super) max_tokens: i32,
    /// The tokens that are kept free for the profile.
    pub(super) profile_room: i32,
    /// The most tokens of memories and matches.
    pub(super) most_found: i32,
    pub(super) formats: Vec<Format>,
}

impl Assembly {
    /// The approximate size of the text that assembling counts, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let Remembered {
            derived,
            recent,
            found,
            memories,
            facts,
            dialogue,
            plan,
            ..
        } = &self.remembered;
        let found = found.iter().map(|one| size_of(&one.message.parts));
        let memories = memories.iter().map(|one| one.memory.text.len());
        let dialogue = dialogue.messages.iter().map(|one| one.content.len());
        let others = found.chain(memories).chain(dialogue);
        let derived = derived.as_ref().map_or(0, DerivedShare::bytes);
        // A plan counts as large instead of being measured.
        let plan = plan.as_ref().map_or(0, |_| limits::PAGE_BYTES);
        others.sum::<usize>() + facts.bytes() + derived + bytes_of(recent) + plan
    }

    /// Assembles the context and makes an answer of it. What is remembered is shortened
    /// until `answer` takes it.
    pub(super) fn answer<A>(
        self,
        answer: impl Fn(Context, &KnownFiles) -> Option<A>,
    ) -> Result<A, ContextError> {
        // Each format repeats the blocks, but often all of it fits.
        let mut room = limits::ANSWER_BYTES;
        let mut divisor = 1 + self.formats.len();
        loop {
            if let Some(answer) = answer(self.context(room)?, &self.files) {
                return Ok(answer);
            }
            if room < MIN_ROOM {
                return Err(ContextError::PromptTooLong {
                    needed_tokens: self.prompt.tokens,
                });
            }
            room /= divisor.max(2);
            divisor = 2;
        }
    }

    /// A context whose remembered blocks take about `room` bytes.
    fn context(&self, room: usize) -> Result<Context, ContextError> {
        let tokenizer = self.budget.tokenizer;
        let labels = Labels::from_policy(&self.policy);
        let mut left = Size {
            tokens: self.budget.max_tokens,
            bytes: room,
        };
        let derived = self.derived(room);
        left = left.minus(size_in(&derived.block));
        let Recent {
            instructions,
            recent,
            omitted: not_recent,
        } = self.recent(left.bytes)?;
        left = left.minus(size_in(&instructions)).minus(size_in(&recent));
        let profile = self.profile(left);
        left = left.minus(size_in(&profile));
        let (node, not_of_node) = self.node(room);
        let plan = self.remembered.plan.as_ref();
        let plan = plan.and_then(|plan| quote_plan(plan, tokenizer, left));
        left = left.minus(size_in(&plan));
        left.tokens = left.tokens.min(self.most_found);
        let sources = profile.iter().flat_map(|profile| &profile.sources);
        let shown: HashSet<MemoryId> = sources.filter_map(BlockSource::memory).collect();
        let memories = quote_memories(&self.remembered.memories, &shown, tokenizer, left);
        left = left.minus(size_in(&memories.block));
        let recalled = {
            let Remembered {
                found, question, ..
            } = &self.remembered;
            quote_recalled(found, question, &labels, tokenizer, left)
        };
        let found = [memories.block, recalled.block];
        // With derived text, recent messages only grow at their end, so they change less
        // between calls than what is found, which depends on the query.
        let (first, last) = match self.remembered.derived {
            Some(_) => ([None, None], found),
            None => (found, [None, None]),
        };
        let blocks = [self.prompt.system.clone(), instructions, profile]
            .into_iter()
            .chain([derived.block])
            .chain(first)
            .chain([recent, node, plan])
            .chain(last)
            .chain([self.prompt.input.clone()]);
        let blocks: Vec<Block> = blocks.flatten().collect();
        let omitted = derived.omitted.into_iter().chain(memories.omitted);
        let omitted = omitted.chain(recalled.omitted);
        let omitted = omitted.chain(self.remembered.omitted.iter().map(not_recalled));
        let cuts = cuts([
            (BlockKind::Derived, derived.lacking),
            (BlockKind::Memories, memories.lacking),
            (
                BlockKind::Recalled,
                recalled.lacking.plus(self.remembered.not_fitting),
            ),
            (BlockKind::Recent, not_recent),
            (BlockKind::Node, not_of_node),
        ]);
        let mut context = Context {
            max_tokens: self.max_tokens,
            cuts,
            total_tokens: blocks.iter().map(Block::tokens).sum(),
            tokenizer,
            policy: self.policy.clone(),
            omitted: omitted.take(limits::OMITTED).collect(),
            method: self.remembered.method,
            named_times: self.remembered.named_times.clone(),
            pending: self.remembered.pending,
            degradations: self.remembered.degradations.clone(),
            rendered: Vec::new(),
            hash: hash::of_blocks(blocks.iter().map(Block::hash)),
            blocks,
        };
        debug_assert!(context.total_tokens <= self.max_tokens, "over the budget");
        let blocks = &context.blocks;
        let messages = blocks.iter().flat_map(|block| &block.messages);
        let said: Vec<Said<'_>> = messages.map(ContextMessage::said).collect();
        context.rendered = self.sending.render(&self.formats, &said, &labels);
        Ok(context)
    }

    /// The profile, in the room that is kept free for it.
    fn profile(&self, left: Size) -> Option<Block> {
        let room = Size {
            tokens: self.profile_room.min(left.tokens),
            ..left
        };
        quote_profile(&self.remembered.facts, self.budget.tokenizer, room)
    }

    /// Derived text leaves at least half of the room to messages.
    fn derived(&self, room: usize) -> Quoted {
        let derived = self.remembered.derived.as_ref();
        derived.map_or_else(Quoted::default, |derived| derived.quote(room / 2))
    }

    /// The instructions and the newest messages.
    fn recent(&self, room: usize) -> Result<Recent, ContextError> {
        let Some(thread) = self.thread else {
            return Ok(Recent::default());
        };
        let recent = self.remembered.recent.clone();
        let Cut {
            instructions,
            messages,
            total_tokens: _,
            truncated,
            content_truncated,
            omitted,
            needs_older: _,
        } = within_bytes(recent, self.budget, room, |message| {
            message_bytes(message) + self.files.bytes_of(&message.parts)
        })?;
        let reasons: HashMap<MessageId, &Vec<Reason>> = self
            .remembered
            .found
            .iter()
            .map(|one| (one.message.id, &one.reasons))
            .collect();
        let source = |message: &Message| {
            let reasons = reasons.get(&message.id).copied().cloned();
            let reasons = reasons.unwrap_or_else(|| vec![Reason::Recent]);
            BlockSource::new(SourceId::Message(message.id.to_string()), thread, reasons)
        };
        let stored = |message| ContextMessage::stored(message, self.budget.tokenizer);
        let block = |kind, messages: Vec<Message>| {
            (!messages.is_empty()).then(|| Block {
                kind,
                sources: messages.iter().map(source).collect(),
                messages: messages.into_iter().map(stored).collect(),
                truncated: false,
                content_truncated: false,
                hash: OnceLock::new(),
            })
        };
        Ok(Recent {
            instructions: block(BlockKind::Instructions, instructions),
            recent: block(BlockKind::Recent, messages).map(|recent| Block {
                truncated,
                content_truncated,
                ..recent
            }),
            omitted,
        })
    }

    /// The dialogue of the node, and how much of it is missing.
    fn node(&self, room: usize) -> (Option<Block>, Amount) {
        let dialogue = &self.remembered.dialogue;
        let Some(thread) = self.thread else {
            return (None, Amount::default());
        };
        let mut omitted = dialogue.omitted;
        let messages = dialogue.messages.iter();
        let mut messages: Vec<ContextMessage> =
            messages.map(|message| self.of_node(message)).collect();
        let mut truncated = dialogue.truncated;
        while tokens_of(&messages) > self.budget.max_tokens || self.bytes_of(&messages) > room {
            let later = messages.iter().skip(1);
            let turn = later.take_while(|one| one.role != Role::User).count() + 1;
            let left_out = messages.drain(..turn);
            let left_out = left_out.map(|message| Amount::one(message.tokens));
            omitted = omitted.plus(left_out.sum());
            truncated = true;
        }
        let sources = messages
            .iter()
            .filter_map(|message| message.stored.as_ref());
        let source = |stored: &StoredMessage| {
            let id = SourceId::Message(stored.id.clone());
            BlockSource::new(id, thread, vec![Reason::Recent])
        };
        let sources = sources.map(source).collect();
        let block = (!messages.is_empty()).then_some(Block {
            kind: BlockKind::Node,
            messages,
            sources,
            truncated,
            content_truncated: dialogue.content_truncated,
            hash: OnceLock::new(),
        });
        (block, omitted)
    }

    fn of_node(&self, message: &NodeMessage) -> ContextMessage {
        let mut parts = parts_of(message.content.clone(), message.files.clone());
        if parts.is_empty() {
            // A text that was shortened to nothing.
            parts.push(Part::text(""));
        }
        let role = match message.role {
            Role::Assistant => Role::Assistant,
            Role::User | Role::System | Role::Tool => Role::User,
        };
        let stored = StoredMessage {
            id: message.id.clone(),
            created: message.created,
        };
        ContextMessage {
            stored: Some(stored),
            ..ContextMessage::new(role, String::new(), parts, self.budget.tokenizer)
        }
    }

    /// The approximate size of a node's messages with the metadata of their files, in
    /// bytes.
    fn bytes_of(&self, messages: &[ContextMessage]) -> usize {
        let bytes = |parts: &[Part]| size_of(parts) + self.files.bytes_of(parts);
        messages.iter().map(|message| bytes(&message.parts)).sum()
    }
}

/// What is shown of the conversation in full.
#[derive(Default)]
struct Recent {
    instructions: Option<Block>,
    recent: Option<Block>,
    /// The messages that are not shown.
    omitted: Amount,
}

/// The tokens and the approximate bytes of a block.
fn size_in(block: &Option<Block>) -> Size {
    block.as_ref().map_or_else(Size::default, |block| Size {
        tokens: block.tokens(),
        bytes: block.messages.iter().map(|one| size_of(&one.parts)).sum(),
    })
}

fn not_recalled(omission: &RecallOmission) -> Omission {
    let RecallOmission {
        message,
        reason,
        score,
    } = omission;
    Omission {
        kind: BlockKind::Recalled,
        id: SourceId::Message(message.to_string()),
        reason: *reason,
        score: *score,
    }
}

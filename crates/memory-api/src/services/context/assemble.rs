//! From what was read to an answer that fits: into the budget, and into what a
//! client takes. Pure.

use std::collections::HashMap;

use memory_budget::{Budget, Cut};
use memory_contract::proto::{
    BuildContextResponse, ContextBlock, ContextBlockKind, ContextFormat, ContextOmission, FileRef,
    OmittedMessage, part,
};
use memory_contract::{
    MessageId, NodeMessage, Part, ResolvedPolicy, Role, ThreadId, limits, message_bytes, timestamp,
};
use memory_recall::Reason;
use prost::Message as _;

use super::block::{Block, Labels, Said, Source, Stored, tokens_of};
use super::distilled::Records;
use super::hash;
use super::memory::Memory;
use super::prompt::Prompt;
use super::recalled::{Quoted, Quoting};
use super::render;
use crate::error::ApiError;
use crate::services::files::KnownFiles;
use crate::services::history::{bytes_of, within_bytes};
use crate::services::tokens::size_of;

/// Less room than this for what is remembered is none: what is too long then is
/// the prompt.
const LEAST_ROOM: usize = 1_024;

/// All that a context is made of.
pub(super) struct Material {
    pub(super) prompt: Prompt,
    /// The conversation; `None` where there is none yet.
    pub(super) thread: Option<ThreadId>,
    pub(super) memory: Memory,
    /// What is known of the files that prompt and memory refer to.
    pub(super) known: KnownFiles,
    pub(super) policy: ResolvedPolicy,
    /// What is left for memory, and how it is counted.
    pub(super) budget: Budget,
    pub(super) max_tokens: i32,
    pub(super) formats: Vec<ContextFormat>,
}

impl Material {
    /// Text that is counted, about, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let found = self.memory.found.iter();
        let found: usize = found.map(|one| size_of(&one.message.parts)).sum();
        let records = self.memory.records.iter();
        let records: usize = records.map(Records::bytes).sum();
        let known = self.memory.memories.iter();
        let known: usize = known.map(|one| one.memory.text.len()).sum();
        let dialogue = self.memory.dialogue.messages.iter();
        found
            + records
            + known
            + bytes_of(&self.memory.recent)
            + dialogue.map(|one| one.content.len()).sum::<usize>()
    }

    /// Puts the blocks together and writes them in the formats asked for. What is
    /// remembered is cut further where the answer would be too long.
    ///
    /// # Errors
    /// A prompt that alone makes the answer too long.
    pub(super) fn assemble(self) -> Result<BuildContextResponse, ApiError> {
        let mut room = limits::ANSWER_BYTES / (1 + self.formats.len());
        loop {
            let answer = self.answer(room)?;
            if answer.encoded_len() <= limits::ANSWER_BYTES {
                return Ok(answer);
            }
            if room < LEAST_ROOM {
                return Err(ApiError::ContextTooLong {
                    needed_tokens: self.prompt.tokens,
                });
            }
            room /= 2;
        }
    }

    fn answer(&self, room: usize) -> Result<BuildContextResponse, ApiError> {
        let labels = Labels::of(&self.policy);
        let Quoted {
            block: distilled,
            omitted: undistilled,
        } = self.distilled(room);
        let recent = self.recent(room.saturating_sub(bytes_in(&distilled)))?;
        let node = self.node(room);
        let taken = |block: &Option<Block>| block.as_ref().map_or(0, Block::tokens);
        let mut quoting = Quoting {
            labels: &labels,
            tokenizer: self.budget.tokenizer,
            max_tokens: self.budget.max_tokens - taken(&distilled) - taken(&recent),
            max_bytes: room.saturating_sub(bytes_in(&distilled) + bytes_in(&recent)),
        };
        let Quoted {
            block: memories,
            omitted: forgone,
        } = quoting.quote_memories(&self.memory.memories);
        quoting.max_tokens -= taken(&memories);
        quoting.max_bytes = quoting.max_bytes.saturating_sub(bytes_in(&memories));
        let Quoted {
            block: recalled,
            omitted,
        } = quoting.quote(&self.memory.found);
        // Recent messages that only grow at their end change less than what
        // matches the question.
        let (first, last) = match self.memory.records.is_some() && self.prompt.input.is_some() {
            true => (None, memories),
            false => (memories, None),
        };
        let blocks: Vec<Block> = [
            self.prompt.system.clone(),
            distilled,
            first,
            recalled,
            recent,
            node,
            last,
            self.prompt.input.clone(),
        ]
        .into_iter()
        .flatten()
        .collect();
        let mut answer = BuildContextResponse {
            total_tokens: blocks.iter().map(Block::tokens).sum(),
            tokenizer: self.budget.tokenizer.name().to_owned(),
            effective_policy: Some(self.policy.clone().into()),
            omitted: undistilled
                .into_iter()
                .chain(forgone)
                .chain(omitted)
                .chain(self.memory.omitted.iter().map(left_out))
                .take(limits::OMITTED)
                .collect(),
            degradations: self.memory.degradations.clone(),
            ..BuildContextResponse::default()
        };
        debug_assert!(answer.total_tokens <= self.max_tokens, "over the budget");
        let messages: Vec<&Said> = blocks.iter().flat_map(|block| &block.messages).collect();
        for format in &self.formats {
            match format {
                ContextFormat::Unspecified => {}
                ContextFormat::OpenaiChat => answer.openai_messages = render::openai(&messages),
                ContextFormat::AnthropicMessages => {
                    answer.anthropic = Some(render::anthropic(&messages, &labels));
                }
                ContextFormat::Text => answer.text = render::text(&messages, &labels),
            }
        }
        answer.blocks = blocks.into_iter().map(ContextBlock::from).collect();
        answer.hash = hash::of_blocks(&answer.blocks);
        references(&mut answer).for_each(|reference| self.known.put(reference));
        Ok(answer)
    }

    /// What was distilled leaves at least half of the room to messages.
    fn distilled(&self, room: usize) -> Quoted {
        let records = self.memory.records.as_ref();
        records.map_or_else(Quoted::default, |records| records.quote(room / 2))
    }

    fn recent(&self, room: usize) -> Result<Option<Block>, ApiError> {
        let (Some(thread), false) = (self.thread, self.memory.recent.messages.is_empty()) else {
            return Ok(None);
        };
        let Cut {
            messages,
            total_tokens: _,
            truncated,
            content_truncated,
            needs_older: _,
        } = within_bytes(self.memory.recent.clone(), self.budget, room, |message| {
            message_bytes(message) + self.known.bytes_of(&message.parts)
        })?;
        let reasons: HashMap<MessageId, &Vec<Reason>> = self
            .memory
            .found
            .iter()
            .map(|one| (one.message.id, &one.reasons))
            .collect();
        let sources = messages.iter().map(|message| {
            let reasons = reasons.get(&message.id).copied().cloned();
            let reasons = reasons.unwrap_or_else(|| vec![Reason::Recent]);
            Source::recent(message.id.to_string(), thread, reasons)
        });
        let sources: Vec<Source> = sources.collect();
        let said = |message| Said::stored(message, self.budget.tokenizer);
        Ok((!messages.is_empty()).then(|| Block {
            kind: ContextBlockKind::Recent,
            messages: messages.into_iter().map(said).collect(),
            sources,
            truncated,
            content_truncated,
        }))
    }

    fn node(&self, room: usize) -> Option<Block> {
        let (Some(thread), false) = (self.thread, self.memory.dialogue.messages.is_empty()) else {
            return None;
        };
        let dialogue = &self.memory.dialogue;
        let mut said = dialogue
            .messages
            .iter()
            .map(|message| self.of_node(message))
            .collect::<Vec<Said>>();
        let mut truncated = dialogue.truncated;
        while tokens_of(&said) > self.budget.max_tokens || self.bytes_of(&said) > room {
            let later = said.iter().skip(1);
            let turn = later.take_while(|said| said.role != Role::User).count() + 1;
            said.drain(..turn);
            truncated = true;
        }
        let sources = said.iter().filter_map(|said| said.stored.as_ref());
        let source =
            |stored: &Stored| Source::recent(stored.id.clone(), thread, vec![Reason::Recent]);
        let sources: Vec<Source> = sources.map(source).collect();
        (!said.is_empty()).then_some(Block {
            kind: ContextBlockKind::Node,
            messages: said,
            sources,
            truncated,
            content_truncated: dialogue.content_truncated,
        })
    }

    fn of_node(&self, message: &NodeMessage) -> Said {
        let text = Some(&message.content).filter(|text| !text.is_empty());
        let files = message.files.iter().cloned().map(Part::File);
        let mut parts: Vec<Part> = text.cloned().map(Part::Text).into_iter().collect();
        parts.extend(files);
        if parts.is_empty() {
            // Nothing is left of a text that was shortened.
            parts.push(Part::Text(String::new()));
        }
        let role = match message.role {
            Role::Assistant => Role::Assistant,
            Role::User | Role::System | Role::Tool => Role::User,
        };
        let stored = Stored {
            id: message.id.clone(),
            created: Some(timestamp(message.created)),
        };
        Said {
            stored: Some(stored),
            ..Said::new(role, String::new(), parts, self.budget.tokenizer)
        }
    }

    /// About the bytes of a node's messages with what is known of their files.
    fn bytes_of(&self, said: &[Said]) -> usize {
        let bytes = |said: &Said| size_of(&said.parts) + self.known.bytes_of(&said.parts);
        said.iter().map(bytes).sum()
    }
}

/// About the bytes of a block.
fn bytes_in(block: &Option<Block>) -> usize {
    let messages = block.iter().flat_map(|block| &block.messages);
    messages.map(|said| size_of(&said.parts)).sum()
}

/// The references to files in the messages of an answer.
fn references(answer: &mut BuildContextResponse) -> impl Iterator<Item = &mut FileRef> {
    let messages = answer
        .blocks
        .iter_mut()
        .flat_map(|block| &mut block.messages);
    let parts = messages.flat_map(|message| &mut message.parts);
    parts.filter_map(|part| match &mut part.content {
        Some(part::Content::File(file)) => Some(file),
        _ => None,
    })
}

fn left_out(omitted: &OmittedMessage) -> ContextOmission {
    let OmittedMessage {
        message_id,
        reason,
        score,
    } = omitted;
    ContextOmission {
        kind: ContextBlockKind::Recalled.into(),
        message_id: message_id.clone(),
        reason: *reason,
        score: *score,
        ..ContextOmission::default()
    }
}

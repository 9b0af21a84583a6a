//! Derived text, quoted in one message.

use memory_budget::{Size, Tokenizer};
use memory_contract::{ThreadId, limits};

use super::block::{Block, BlockKind, BlockSource, SourceId};
use super::quoted::{Quotation, Quoted};
use crate::counting::size_of;
use crate::derived::DerivedText;
use crate::quote::Frame;

/// The derived text of a conversation, as much as fits into its share of the budget.
#[derive(Clone, Debug)]
pub(super) struct DerivedShare {
    thread: ThreadId,
    /// In the order of what they cover.
    records: Vec<DerivedText>,
    tokenizer: Tokenizer,
    /// The share, the frame included.
    max_tokens: i32,
    /// Those that fit into it.
    fitting: Quoted,
}

impl DerivedShare {
    /// Fits records into a budget that is also for uncovered messages of `raw_tokens`. If
    /// not all of both fit, records get half of the budget.
    ///
    /// It is half, and not what the messages leave: that would shrink with each message
    /// and change the beginning of the context every time.
    pub(super) fn fit(
        thread: ThreadId,
        records: Vec<DerivedText>,
        raw_tokens: i64,
        tokenizer: Tokenizer,
        max_tokens: i32,
    ) -> Self {
        let mut share = Self {
            thread,
            records,
            tokenizer,
            max_tokens,
            fitting: Quoted::default(),
        };
        share.fitting = share.quoted(limits::ANSWER_BYTES);
        let (half, needed) = (max_tokens / 2, share.tokens());
        let all_fit = share.fitting.omitted.is_empty()
            && i64::from(needed).saturating_add(raw_tokens) <= i64::from(max_tokens);
        if needed > half && !all_fit {
            share.max_tokens = half;
            share.fitting = share.quoted(limits::ANSWER_BYTES);
        }
        share
    }

    /// The tokens that it takes of the budget.
    pub(super) fn tokens(&self) -> i32 {
        self.fitting.block.as_ref().map_or(0, Block::tokens)
    }

    /// The texts that fit into its share.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let sources = self.fitting.block.iter().flat_map(|block| &block.sources);
        let numbers: Vec<&SourceId> = sources.map(|source| &source.id).collect();
        let records = self.records.iter();
        let fitting = records.filter(move |one| numbers.contains(&&SourceId::Derived(one.number)));
        fitting.map(|one| one.text.as_str())
    }

    /// The size of all records, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.records.iter().map(|one| one.line.len()).sum()
    }

    /// The block, shortened if it exceeds `max_bytes`.
    pub(super) fn quote(&self, max_bytes: usize) -> Quoted {
        let messages = self.fitting.block.iter().flat_map(|block| &block.messages);
        let bytes: usize = messages.map(|message| size_of(&message.parts)).sum();
        match bytes <= max_bytes {
            true => self.fitting.clone(),
            false => self.quoted(max_bytes),
        }
    }

    /// The newest records that fit, without a gap.
    fn quoted(&self, max_bytes: usize) -> Quoted {
        let room = Size {
            tokens: self.max_tokens,
            bytes: max_bytes,
        };
        let mut quotation =
            Quotation::new(BlockKind::Derived, Frame::DERIVED, self.tokenizer, room);
        let newest_first = || (0..self.records.len()).rev();
        for place in newest_first() {
            if !quotation.add(place, || self.records[place].line.clone()) {
                break;
            }
        }
        let tokens = |place: usize| self.records[place].tokens;
        quotation.finish(newest_first(), tokens, |place| {
            let id = SourceId::Derived(self.records[place].number);
            BlockSource::new(id, self.thread, Vec::new())
        })
    }
}

#[cfg(test)]
mod tests;

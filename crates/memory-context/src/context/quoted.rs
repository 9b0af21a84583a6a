//! Blocks of quotations, fitted to the room that is left.

use memory_budget::{Amount, FRAME_TOKENS, Size, Tokenizer};
use memory_contract::message::{Part, Role};
use memory_recall::OmissionReason;

use super::block::{Block, BlockKind, BlockSource, ContextMessage, Omission};
use crate::fit::{Finished, Layout, Sheet};
use crate::quote::Frame;

/// A block of quotations, and what did not fit into it.
#[derive(Clone, Debug, Default)]
pub(super) struct Quoted {
    pub(super) block: Option<Block>,
    /// The most important first.
    pub(super) omitted: Vec<Omission>,
    /// How much they are.
    pub(super) lacking: Amount,
}

/// The entries of a block that is being filled.
pub(super) struct Quotation {
    kind: BlockKind,
    sheet: Sheet<Frame>,
}

impl Layout for Frame {
    type Section = ();

    fn title(&self) -> String {
        format!("{}\n", self.text())
    }

    fn opening(&self, (): (), _first: bool) -> String {
        String::new()
    }

    fn finish(&self, text: &mut String) {
        text.pop();
    }
}

impl Quotation {
    /// A block without entries; `room` limits the message that it becomes.
    pub(super) fn new(kind: BlockKind, frame: Frame, tokenizer: Tokenizer, room: Size) -> Self {
        let limit = Size {
            tokens: room.tokens.saturating_sub(FRAME_TOKENS),
            bytes: room.bytes,
        };
        Self {
            kind,
            sheet: Sheet::new(frame, tokenizer, limit),
        }
    }

    /// Adds an entry at a place if it fits. Entries are in the order of their places.
    pub(super) fn add(&mut self, place: usize, line: impl FnOnce() -> String) -> bool {
        !self.sheet.is_full() && self.sheet.write((), vec![(place, line())])
    }

    /// The block. Of the `candidates`, places with the most important first, those
    /// without an entry are omitted. `tokens` is the size of what a place quotes, and
    /// `source` describes its entry.
    pub(super) fn finish(
        self,
        candidates: impl IntoIterator<Item = usize>,
        tokens: impl Fn(usize) -> i32,
        source: impl Fn(usize) -> BlockSource,
    ) -> Quoted {
        let kind = self.kind;
        let Finished {
            text,
            tokens: text_tokens,
            lines,
            shortened: _,
        } = self.sheet.finish();
        let has = |place: usize| lines.contains_key(&((), place));
        let mut lacking = Amount::default();
        let mut omitted = Vec::new();
        for place in candidates.into_iter().filter(|&place| !has(place)) {
            let BlockSource { id, score, .. } = source(place);
            lacking = lacking.plus(Amount::one(tokens(place)));
            omitted.push(Omission {
                kind,
                id,
                reason: OmissionReason::Budget,
                score,
            });
        }
        let message = ContextMessage {
            role: Role::User,
            name: String::new(),
            parts: vec![Part::text(text)],
            stored: None,
            tokens: text_tokens.saturating_add(FRAME_TOKENS),
        };
        let sources = lines.keys().map(|((), place)| source(*place)).collect();
        let block = (!lines.is_empty()).then(|| Block {
            sources,
            ..Block::of(kind, message)
        });
        Quoted {
            block,
            omitted,
            lacking,
        }
    }
}

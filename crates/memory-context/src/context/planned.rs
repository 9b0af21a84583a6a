//! The plan of an agent, quoted in one message.

use memory_agent_contract::plan::NewPlan;
use memory_budget::{FRAME_TOKENS, Size, Tokenizer};
use memory_contract::message::{Part, Role};

use super::block::{Block, BlockKind, ContextMessage};
use crate::fit::{Finished, Sheet};
use crate::plan::write_plan;
use crate::quote::Frame;

/// Quotes the goal and as many steps as fit, open ones first; `None` if not even the goal
/// fits.
pub(super) fn quote_plan(plan: &NewPlan, tokenizer: Tokenizer, room: Size) -> Option<Block> {
    let limit = Size {
        tokens: room.tokens.saturating_sub(FRAME_TOKENS),
        bytes: room.bytes,
    };
    let mut sheet = Sheet::new(Frame::PLAN, tokenizer, limit);
    let whole = write_plan(plan, |place, line| {
        !sheet.is_full() && sheet.write((), vec![(place, line)])
    });
    let Finished {
        text,
        tokens,
        lines,
        shortened,
    } = sheet.finish();
    let message = ContextMessage {
        role: Role::User,
        name: String::new(),
        parts: vec![Part::text(text)],
        stored: None,
        tokens: tokens.saturating_add(FRAME_TOKENS),
    };
    (!lines.is_empty()).then(|| Block {
        truncated: !whole || shortened,
        ..Block::of(BlockKind::Plan, message)
    })
}

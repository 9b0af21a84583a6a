//! The profile of the user, quoted in one message.

use memory_budget::{FRAME_TOKENS, Size, Tokenizer};
use memory_contract::{
    memory::{MemoryOwner, MemoryTimes},
    message::{Part, Role},
    policy::{MemoryMode, ResolvedPolicy},
};
use memory_store::{Caller, MemoryOwners, Space, Store};

use super::block::{Block, BlockKind, BlockSource, ContextMessage, SourceId};
use super::memories::line;
use crate::error::ContextError;
use crate::fit::{Finished, Sheet};
use crate::profile::{Fact, Facts};
use crate::quote::Frame;

/// The profile takes at most this part of the budget: a quarter.
const BUDGET_PARTS: i32 = 4;

/// The tokens that are kept free for the profile: those that the policy asks for, of at most a
/// quarter of the budget, and half of what system prompt and input leave. 0 without a profile.
///
/// They do not depend on what was said, so that the profile is the same in each turn.
pub(super) fn profile_room(
    policy: &ResolvedPolicy,
    owner: Option<&MemoryOwner>,
    whole_budget: i32,
    left: i32,
) -> i32 {
    let has_profile = match policy.mode {
        MemoryMode::None | MemoryMode::Node => false,
        MemoryMode::Window
        | MemoryMode::Hybrid
        | MemoryMode::Working
        | MemoryMode::Observational => owner.is_some(),
    };
    let asked = i32::try_from(policy.profile_tokens).unwrap_or(i32::MAX);
    match has_profile {
        true => asked.min(whole_budget / BUDGET_PARTS).min(left / 2),
        false => 0,
    }
}

/// Reads what holds of the owner, or held at some times, in the app or in all apps of a space;
/// nothing where no room is kept for it.
pub(super) async fn known_facts(
    store: &Store,
    caller: &Caller,
    owner: Option<&MemoryOwner>,
    space: Option<&Space>,
    times: MemoryTimes,
    room: i32,
) -> Result<Facts, ContextError> {
    let Some(owner) = owner.filter(|_| room > 0) else {
        return Ok(Facts::default());
    };
    let owners = MemoryOwners::User(owner.clone()).within(space.cloned());
    Ok(Facts::read(store, caller, &owners, times).await?)
}

/// Quotes as many facts as fit, the most important first; `None` if there are none.
pub(super) fn quote_profile(facts: &Facts, tokenizer: Tokenizer, room: Size) -> Option<Block> {
    if facts.in_order().is_empty() {
        return None;
    }
    let limit = Size {
        tokens: room.tokens.saturating_sub(FRAME_TOKENS),
        bytes: room.bytes,
    };
    let mut sheet = Sheet::new(Frame::PROFILE, tokenizer, limit);
    for (place, fact) in facts.by_importance() {
        let line = line(fact.valid_from, fact.event, &fact.text);
        sheet.write((), vec![(place, line)]);
    }
    let Finished {
        text,
        tokens,
        lines,
        shortened: _,
    } = sheet.finish();
    let quoted = lines.keys().map(|((), place)| &facts.in_order()[*place]);
    let sources = quoted.flat_map(sources).collect();
    let message = ContextMessage {
        role: Role::User,
        name: String::new(),
        parts: vec![Part::text(text)],
        stored: None,
        tokens: tokens.saturating_add(FRAME_TOKENS),
    };
    (!lines.is_empty()).then(|| Block {
        sources,
        ..Block::of(BlockKind::Profile, message)
    })
}

/// The memories that state a fact.
fn sources(fact: &Fact) -> impl Iterator<Item = BlockSource> {
    fact.memories.iter().map(|(id, thread)| BlockSource {
        id: SourceId::Memory(*id),
        thread: *thread,
        reasons: Vec::new(),
        rank: 0,
        score: 0.0,
    })
}

//! Long-term memories, quoted in one message.

use std::collections::HashSet;
use std::time::Instant;

use memory_budget::{Size, Tokenizer};
use memory_contract::{
    MemoryId,
    json::{json_line, to_the_second},
    memory::{MemoryFilter, MemoryOwner},
    policy::ResolvedPolicy,
};
use memory_recall::{FoundMemories, FoundMemory, MemoryQuery, Reason, Recall};
use memory_store::{Caller, MemoryOwners, Space};
use serde::Serialize;
use time::OffsetDateTime;

use super::block::{BlockKind, BlockSource, SourceId};
use super::quoted::{Quotation, Quoted};
use super::request::ContextRequest;
use crate::error::ContextError;
use crate::quote::Frame;

#[derive(Serialize)]
struct MemoryEntry<'a> {
    /// The day since when it holds.
    since: String,
    /// When it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    text: &'a str,
}

/// Finds the memories of a user, in the app or in all apps of a space, that match a text; none without an owner, and in modes
/// without memories.
pub(super) async fn matching_memories(
    recall: &Recall,
    caller: &Caller,
    owner: Option<&MemoryOwner>,
    space: Option<&Space>,
    policy: &ResolvedPolicy,
    request: &ContextRequest,
    text: &str,
) -> Result<FoundMemories, ContextError> {
    let limit = policy.memories_top_k as usize;
    let Some(owner) = owner.filter(|_| limit > 0 && policy.mode.searches()) else {
        return Ok(FoundMemories::default());
    };
    let query = MemoryQuery {
        owners: MemoryOwners::User(owner.clone()).within(space.cloned()),
        query: text.to_owned(),
        limit,
        filter: MemoryFilter {
            times: request.memory_times,
            ..MemoryFilter::default()
        },
        method: request.method,
        min_score: 0.0,
        freshness: request.freshness,
        max_wait: request.wait_until.saturating_duration_since(Instant::now()),
    };
    Ok(recall.memories(caller, &query).await?)
}

/// Quotes as many memories as fit, the best match first, without those that are `shown`
/// already. They are in the order in which they were stored, so that the same memories found
/// by another query give the same bytes.
pub(super) fn quote_memories(
    found: &[FoundMemory],
    shown: &HashSet<MemoryId>,
    tokenizer: Tokenizer,
    room: Size,
) -> Quoted {
    let mut by_age: Vec<usize> = (0..found.len()).collect();
    by_age.sort_by_key(|&rank| found[rank].memory.ordinal);
    let mut places = vec![0; found.len()];
    for (place, rank) in by_age.iter().enumerate() {
        places[*rank] = place;
    }
    let mut quotation = Quotation::new(BlockKind::Memories, Frame::MEMORIES, tokenizer, room);
    let new = |rank: &usize| !shown.contains(&found[*rank].memory.id);
    let new: Vec<usize> = (0..found.len()).filter(new).collect();
    for &rank in &new {
        let memory = &found[rank].memory;
        let quoted = || line(memory.valid_from, memory.event, &memory.text);
        quotation.add(places[rank], quoted);
    }
    let tokens = |place: usize| Tokenizer::O200kBase.count(&found[by_age[place]].memory.text);
    let candidates = new.iter().map(|&rank| places[rank]);
    quotation.finish(candidates, tokens, |place| {
        let rank = by_age[place];
        source(rank, &found[rank])
    })
}

fn source(rank: usize, found: &FoundMemory) -> BlockSource {
    BlockSource {
        id: SourceId::Memory(found.memory.id),
        thread: found.memory.thread,
        reasons: vec![Reason::Match],
        rank: u32::try_from(rank + 1).unwrap_or(u32::MAX),
        score: found.score,
    }
}

/// The quotation of a memory.
pub(super) fn line(
    valid_from: OffsetDateTime,
    event: Option<OffsetDateTime>,
    text: &str,
) -> String {
    json_line(&MemoryEntry {
        since: valid_from.date().to_string(),
        time: event.map(to_the_second),
        text,
    })
}

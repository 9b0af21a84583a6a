//! Messages that a search found, quoted in one message.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use memory_budget::{Size, Tokenizer};
use memory_contract::MessageId;
use memory_formats::Labels;
use memory_recall::{Reason, RecalledMessage};

use super::block::{BlockKind, BlockSource, SourceId};
use super::quoted::{Quotation, Quoted};
use crate::quote::{self, Frame};

/// Quotes as many as fit: matches, the best first; then the neighbors of those that are
/// quoted. They stand in the order of `found`, which is that of time. Messages of the
/// recent window are skipped. Of a long match that does not fit, what answers the question
/// is quoted.
pub(super) fn quote_recalled(
    found: &[RecalledMessage],
    question: &str,
    labels: &Labels,
    tokenizer: Tokenizer,
    room: Size,
) -> Quoted {
    let candidates = by_priority(found);
    let mut quotation = Quotation::new(BlockKind::Recalled, Frame::RECALLED, tokenizer, room);
    let mut quoted: HashSet<MessageId> = HashSet::new();
    let mut excerpts: Vec<(MessageId, i32)> = Vec::new();
    for &place in &candidates {
        let RecalledMessage {
            message,
            rank,
            passage,
            neighbor_of,
            ..
        } = &found[place];
        let stands = *rank > 0 || neighbor_of.iter().any(|id| quoted.contains(id));
        let role = labels.role(message.role);
        if !stands {
            continue;
        }
        if quotation.add(place, || quote::message(message, role)) {
            quoted.insert(message.id);
        } else if *rank > 0
            && let Some(line) = quote::excerpt_of(message, role, question, passage.as_deref())
        {
            let left_out = message.tokens - Tokenizer::O200kBase.count(&line);
            if quotation.add(place, || line) {
                quoted.insert(message.id);
                excerpts.push((message.id, left_out));
            }
        }
    }
    let tokens = |place: usize| found[place].message.tokens;
    let mut quoted = quotation.finish(candidates, tokens, |place| source(&found[place]));
    if let Some(block) = &mut quoted.block {
        let stands = |id: MessageId| {
            let id = SourceId::Message(id.to_string());
            block.sources.iter().any(|source| source.id == id)
        };
        excerpts.retain(|(id, _)| stands(*id));
        let left_out = excerpts.iter().map(|(_, tokens)| i64::from(*tokens));
        quoted.lacking.tokens += left_out.map(|tokens| tokens.max(0)).sum::<i64>();
        block.content_truncated = !excerpts.is_empty();
    }
    quoted
}

fn source(found: &RecalledMessage) -> BlockSource {
    BlockSource {
        id: SourceId::Message(found.message.id.to_string()),
        thread: Some(found.message.thread),
        reasons: found.reasons.clone(),
        rank: found.rank,
        score: found.score,
    }
}

/// The places of what the recent window does not show, the most important first.
fn by_priority(found: &[RecalledMessage]) -> Vec<usize> {
    let matches: HashMap<MessageId, (u32, i64)> = found
        .iter()
        .filter(|one| one.rank > 0)
        .map(|one| (one.message.id, (one.rank, one.message.seq)))
        .collect();
    let mut places: Vec<usize> = (0..found.len())
        .filter(|&place| !found[place].reasons.contains(&Reason::Recent))
        .collect();
    places.sort_by_key(|&place| {
        let one = &found[place];
        let nearest = one
            .neighbor_of
            .iter()
            .filter_map(|id| matches.get(id))
            .map(|(rank, seq)| (*rank, one.message.seq.abs_diff(*seq)))
            .min();
        let (rank, distance) = match one.rank {
            0 => nearest.unwrap_or((u32::MAX, u64::MAX)),
            rank => (rank, 0),
        };
        (Reverse(one.rank > 0), rank, distance, place)
    });
    places
}

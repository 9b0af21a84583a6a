//! Merges window, matches and neighbors into one answer. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use memory_budget::{Amount, Room, Size, Tokenizer};
use memory_contract::{Message, MessageId, Part, Role, limits, message_bytes_at_most};
use memory_store::{Hydrated, Neighbor};

use crate::query::{Omission, OmissionReason, Reason, RecallCut, RecalledMessage};
use crate::rank::Ranked;

/// A message that was selected as a match.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Match {
    pub(crate) found: Hydrated,
    pub(crate) ranked: Ranked,
}

/// The parts of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct MergeInput {
    /// The recent window, in order of seq.
    pub(crate) window: Vec<Message>,
    /// Place of the window's thread in the order of creation of threads.
    pub(crate) window_ordinal: i64,
    /// The matches, best first.
    pub(crate) matches: Vec<Match>,
    /// The neighbors of the matches.
    pub(crate) neighbors: Vec<Neighbor>,
}

/// A merged answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Merged {
    pub(crate) messages: Vec<RecalledMessage>,
    pub(crate) total_tokens: usize,
    pub(crate) omitted: Vec<Omission>,
    /// What did not fit.
    pub(crate) cuts: Vec<RecallCut>,
}

/// Role, name and content of a message. Messages with equal content are duplicates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Content {
    role: Role,
    name: String,
    parts: String,
}

impl Content {
    pub(crate) fn of(message: &Message) -> Self {
        let parts = match message.parts.as_slice() {
            [
                Part {
                    content: memory_contract::Content::Text(text),
                    ..
                },
            ] => format!("t{text}"),
            parts => serde_json::to_string(parts).unwrap_or_else(|_| message.id.to_string()),
        };
        Self {
            role: message.role,
            name: message.name.clone(),
            parts,
        }
    }
}

/// Merges the pieces: without duplicates by id and content, within the budget, ordered
/// by thread and seq. The budget is spent in this order: the window, newest first; the
/// matches, best first; the neighbors, those of better matches and then nearer ones
/// first.
pub(crate) fn merge(pieces: MergeInput, max_tokens: Option<usize>, tokenizer: Tokenizer) -> Merged {
    let mut entries = Entries::default();
    for message in pieces.window.into_iter().rev() {
        entries.add(message, pieces.window_ordinal, Reason::Recent);
    }
    let mut ranks = HashMap::new();
    for (rank, Match { found, ranked }) in (1_u32..).zip(pieces.matches) {
        if let Some(entry) = entries.add(found.message, found.thread_ordinal, Reason::Match) {
            ranks.insert(ranked.id, rank);
            entry.set_rank(rank, &ranked);
        }
    }
    let mut neighbors = pieces.neighbors;
    neighbors.retain(|neighbor| ranks.contains_key(&neighbor.anchor));
    neighbors.sort_by_key(|neighbor| {
        (
            ranks[&neighbor.anchor],
            neighbor.offset.abs(),
            neighbor.offset,
        )
    });
    for Neighbor {
        anchor,
        offset: _,
        message,
        thread_ordinal,
    } in neighbors
    {
        if let Some(entry) = entries.add(message, thread_ordinal, Reason::Neighbor) {
            entry.neighbor_of.push(anchor);
        }
    }
    entries.cut(max_tokens, tokenizer)
}

/// The bytes of a message in an answer, at most: what is known of its files is added later.
pub(crate) fn bytes_of(message: &Message) -> Size {
    Size::of_bytes(message_bytes_at_most(message))
}

/// What did not fit: the reason for each message, and its stored tokens.
pub(crate) fn cuts(messages: impl IntoIterator<Item = (Reason, i32)>) -> Vec<RecallCut> {
    let mut omitted: BTreeMap<Reason, Amount> = BTreeMap::new();
    for (reason, tokens) in messages {
        let of_reason = omitted.entry(reason).or_default();
        *of_reason = of_reason.plus(Amount::one(tokens));
    }
    let omitted = omitted.into_iter();
    omitted
        .map(|(reason, omitted)| RecallCut { reason, omitted })
        .collect()
}

/// The answer under construction, in the order in which the budget is spent.
#[derive(Default)]
struct Entries {
    list: Vec<(RecalledMessage, i64)>,
    places: HashMap<MessageId, usize>,
    contents: HashSet<Content>,
    omitted: Vec<Omission>,
}

impl Entries {
    /// Adds a message, or a reason to one that is present; `None` for a duplicate of
    /// another message. The window keeps its duplicates.
    fn add(
        &mut self,
        message: Message,
        ordinal: i64,
        reason: Reason,
    ) -> Option<&mut RecalledMessage> {
        let id = message.id;
        let place = match self.places.get(&id) {
            Some(&place) => place,
            None => {
                let new = self.contents.insert(Content::of(&message));
                if !new && reason != Reason::Recent {
                    self.leave_out(id, OmissionReason::Duplicate, 0.0);
                    return None;
                }
                self.places.insert(id, self.list.len());
                self.list.push((RecalledMessage::new(message), ordinal));
                self.list.len() - 1
            }
        };
        let entry = &mut self.list[place].0;
        if !entry.reasons.contains(&reason) {
            entry.reasons.push(reason);
        }
        Some(entry)
    }

    fn leave_out(&mut self, message: MessageId, reason: OmissionReason, score: f32) {
        if self
            .omitted
            .iter()
            .all(|omission| omission.message != message)
        {
            self.omitted.push(Omission {
                message,
                reason,
                score,
            });
        }
    }

    fn cut(mut self, max_tokens: Option<usize>, tokenizer: Tokenizer) -> Merged {
        let mut room = Room::new(Size {
            tokens: max_tokens.map_or(i32::MAX, |max| i32::try_from(max).unwrap_or(i32::MAX)),
            bytes: limits::ANSWER_BYTES,
        });
        let sizes: Vec<Size> = self
            .list
            .iter()
            .map(|(RecalledMessage { message, .. }, _)| Size {
                tokens: tokenizer.recount_message(message.tokens, &message.name, &message.parts),
                ..bytes_of(message)
            })
            .collect();
        let (mut kept, gone): (HashSet<usize>, HashSet<usize>) =
            (0..sizes.len()).partition(|&place| room.take(sizes[place]));
        let mut total = room.taken().tokens;
        let first_reason = |(entry, _): &(RecalledMessage, i64)| entry.reasons.first().copied();
        let reasons: Vec<Option<Reason>> = self.list.iter().map(first_reason).collect();
        let gone: HashSet<MessageId> = gone
            .into_iter()
            .map(|place| self.list[place].0.message.id)
            .collect();
        // Drop the neighbors of omitted matches.
        for (place, (entry, _)) in self.list.iter_mut().enumerate() {
            let was_neighbor = !entry.neighbor_of.is_empty();
            entry.neighbor_of.retain(|anchor| !gone.contains(anchor));
            if was_neighbor && entry.neighbor_of.is_empty() {
                entry.reasons.retain(|reason| *reason != Reason::Neighbor);
                if entry.reasons.is_empty() && kept.remove(&place) {
                    total -= sizes[place].tokens;
                }
            }
        }
        let mut messages = Vec::with_capacity(kept.len());
        let mut omitted = Vec::new();
        for (place, (entry, ordinal)) in self.list.drain(..).enumerate() {
            if kept.contains(&place) {
                messages.push((entry, ordinal));
            } else {
                omitted.push((entry, reasons[place]));
            }
        }
        let cuts = cuts(
            omitted
                .iter()
                .filter_map(|(entry, reason)| Some(((*reason)?, entry.message.tokens))),
        );
        for (RecalledMessage { message, score, .. }, _) in omitted {
            self.leave_out(message.id, OmissionReason::Budget, score);
        }
        messages.sort_by_key(|(entry, ordinal)| (*ordinal, entry.message.seq));
        Merged {
            messages: messages.into_iter().map(|(entry, _)| entry).collect(),
            total_tokens: usize::try_from(total).unwrap_or_default(),
            omitted: self.omitted,
            cuts,
        }
    }
}

impl RecalledMessage {
    fn new(message: Message) -> Self {
        Self {
            message,
            reasons: Vec::new(),
            rank: 0,
            score: 0.0,
            dense_score: None,
            lexical_score: None,
            neighbor_of: Vec::new(),
        }
    }

    /// A match without other reasons.
    pub(crate) fn of_match(rank: u32, found: Match) -> Self {
        let mut message = Self::new(found.found.message);
        message.reasons.push(Reason::Match);
        message.set_rank(rank, &found.ranked);
        message
    }

    fn set_rank(&mut self, rank: u32, ranked: &Ranked) {
        self.rank = rank;
        self.score = ranked.score;
        self.dense_score = ranked.dense;
        self.lexical_score = ranked.lexical;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use time::OffsetDateTime;
    use uuid::Uuid;

    use super::*;

    /// A message of one thread; every seventh has the same content.
    fn message(seq: u8) -> Message {
        Message {
            id: Uuid::from_u128(u128::from(seq)).into(),
            external_id: String::new(),
            thread: Uuid::from_u128(1).into(),
            parent: None,
            seq: i64::from(seq),
            branch: 1,
            depth: i32::from(seq),
            role: Role::User,
            name: String::new(),
            parts: vec![Part::text(if seq.is_multiple_of(7) {
                "yes".to_owned()
            } else {
                seq.to_string()
            })],
            metadata: serde_json::Map::new(),
            tokens: i32::from(seq % 13) + 4,
            created: OffsetDateTime::UNIX_EPOCH,
        }
    }

    fn pieces() -> impl Strategy<Value = MergeInput> {
        let window = (100_u8..120, 0_u8..8);
        let matches = prop::collection::btree_set(1_u8..99, 0..8);
        (window, matches, 0_u8..4, 0_u8..4).prop_map(|((from, count), seqs, before, after)| {
            let mut pieces = MergeInput {
                window: (from..from + count).map(message).collect(),
                window_ordinal: 1,
                ..MergeInput::default()
            };
            let mut said = HashSet::new();
            for seq in seqs {
                let found = Hydrated {
                    message: message(seq),
                    thread_ordinal: 1,
                    active: true,
                };
                if !said.insert(Content::of(&found.message)) {
                    continue;
                }
                let id = found.message.id;
                for offset in (-i32::from(before)..=i32::from(after)).filter(|offset| *offset != 0)
                {
                    let Ok(beside) = u8::try_from(i32::from(seq) + offset) else {
                        continue;
                    };
                    pieces.neighbors.push(Neighbor {
                        anchor: id,
                        offset,
                        message: message(beside),
                        thread_ordinal: 1,
                    });
                }
                let ranked = Ranked {
                    id,
                    score: 0.5,
                    dense: None,
                    lexical: Some(1.0),
                };
                pieces.matches.push(Match { found, ranked });
            }
            pieces
        })
    }

    #[test]
    fn an_answer_has_no_more_bytes_than_a_client_takes() {
        let long = |seq| Message {
            parts: vec![Part::text("x".repeat(1 << 20))],
            ..message(seq)
        };
        let pieces = MergeInput {
            window: (1..=5).map(long).collect(),
            ..MergeInput::default()
        };
        let merged = merge(pieces, None, Tokenizer::O200kBase);
        let kept: Vec<i64> = merged.messages.iter().map(|one| one.message.seq).collect();
        assert_eq!(kept, [3, 4, 5]);
        assert_eq!(merged.total_tokens, 7 + 8 + 9);
        assert_eq!(merged.omitted.len(), 2);
        let budget = |one: &Omission| one.reason == OmissionReason::Budget;
        assert!(merged.omitted.iter().all(budget));
        let cut = RecallCut {
            reason: Reason::Recent,
            omitted: Amount {
                count: 2,
                tokens: 5 + 6,
            },
        };
        assert_eq!(merged.cuts, [cut]);
    }

    proptest! {
        #[test]
        fn never_over_budget_never_twice_always_in_order(
            pieces in pieces(),
            budget in prop::option::of(0_usize..200),
        ) {
            let merged = merge(pieces.clone(), budget, Tokenizer::O200kBase);
            let sum: i32 = merged.messages.iter().map(|one| one.message.tokens).sum();
            prop_assert_eq!(merged.total_tokens, sum as usize);
            prop_assert!(budget.is_none_or(|budget| merged.total_tokens <= budget));
            prop_assert!(merged.messages.is_sorted_by(|left, right| left.message.seq < right.message.seq));
            let window: HashSet<MessageId> = pieces.window.iter().map(|message| message.id).collect();
            let contents: Vec<Content> = merged
                .messages
                .iter()
                .filter(|one| !window.contains(&one.message.id))
                .map(|one| Content::of(&one.message))
                .collect();
            let unique: HashSet<&Content> = contents.iter().collect();
            prop_assert_eq!(unique.len(), contents.len());
        }

        #[test]
        fn each_message_has_a_reason_and_each_neighbor_its_match(
            pieces in pieces(),
            budget in prop::option::of(0_usize..200),
        ) {
            let merged = merge(pieces, budget, Tokenizer::O200kBase);
            let matches: HashSet<MessageId> =
                merged.messages.iter().filter(|one| one.rank > 0).map(|one| one.message.id).collect();
            for one in &merged.messages {
                prop_assert!(!one.reasons.is_empty());
                prop_assert_eq!(one.reasons.contains(&Reason::Match), one.rank > 0);
                prop_assert_eq!(one.reasons.contains(&Reason::Neighbor), !one.neighbor_of.is_empty());
                prop_assert!(one.neighbor_of.iter().all(|anchor| matches.contains(anchor)));
            }
        }

        #[test]
        fn each_piece_is_returned_or_omitted(pieces in pieces(), budget in prop::option::of(0_usize..200)) {
            let mut all: HashSet<MessageId> = pieces.window.iter().map(|message| message.id).collect();
            all.extend(pieces.matches.iter().map(|one| one.ranked.id));
            let neighbors = pieces.neighbors.clone();
            let merged = merge(pieces, budget, Tokenizer::O200kBase);
            // Neighbors of a match that is a duplicate are dropped.
            let stood_for = |anchor: MessageId| {
                let twin = |one: &Omission| one.message == anchor && one.reason == OmissionReason::Duplicate;
                merged.omitted.iter().any(twin)
            };
            let beside = neighbors.iter().filter(|one| !stood_for(one.anchor));
            all.extend(beside.map(|one| one.message.id));
            let mut seen: HashSet<MessageId> = merged.messages.iter().map(|one| one.message.id).collect();
            prop_assert!(merged.omitted.iter().all(|omission| seen.insert(omission.message)));
            prop_assert_eq!(seen, all);
            let over_budget = |one: &&Omission| one.reason == OmissionReason::Budget;
            let counted: i64 = merged.cuts.iter().map(|cut| cut.omitted.count).sum();
            prop_assert_eq!(counted as usize, merged.omitted.iter().filter(over_budget).count());
        }

        #[test]
        fn without_a_budget_the_window_is_whole(pieces in pieces()) {
            let merged = merge(pieces.clone(), None, Tokenizer::O200kBase);
            for message in &pieces.window {
                let recent = |one: &RecalledMessage| {
                    one.message.id == message.id && one.reasons.contains(&Reason::Recent)
                };
                prop_assert!(merged.messages.iter().any(recent));
            }
        }
    }
}

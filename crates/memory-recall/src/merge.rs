//! Merges window, matches and neighbors into one answer. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use memory_budget::{Amount, Room, Size, Tokenizer};
use memory_contract::{
    MessageId, limits,
    message::{Message, Part, Role},
    size::message_bytes_at_most,
};
use memory_store::{Hydrated, Neighbor};

use crate::query::{Omission, OmissionReason, Reason, RecallCut, RecalledMessage};
use crate::rank::Ranked;

/// A message that was selected as a match.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Match {
    pub(crate) found: Hydrated,
    pub(crate) ranked: Ranked,
    /// The passage of a long message that was found; `None` for the message as a whole.
    pub(crate) passage: Option<String>,
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
    /// Whether matches are kept that have the content of others.
    pub(crate) keeps_repeats: bool,
}

/// A merged answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Merged {
    pub(crate) messages: Vec<RecalledMessage>,
    pub(crate) total_tokens: usize,
    pub(crate) omitted: Vec<Omission>,
    /// The messages that did not fit.
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
    pub(crate) fn new(message: &Message) -> Self {
        let parts = match message.parts.as_slice() {
            [
                Part {
                    content: memory_contract::message::Content::Text(text),
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

/// Merges the pieces: without duplicates by id and content, except those that are kept, within the
/// budget, ordered by thread and seq. The budget is spent in this order: the window, newest first;
/// the matches, best first; the neighbors, first of better matches, then nearer ones.
pub(crate) fn merge(pieces: MergeInput, max_tokens: Option<usize>, tokenizer: Tokenizer) -> Merged {
    let mut entries = Entries {
        keeps_repeats: pieces.keeps_repeats,
        ..Entries::default()
    };
    for message in pieces.window.into_iter().rev() {
        entries.add(message, pieces.window_ordinal, Reason::Recent);
    }
    let mut ranks = HashMap::new();
    for (rank, one) in (1_u32..).zip(pieces.matches) {
        let Match {
            found,
            ranked,
            passage,
        } = one;
        if let Some(entry) = entries.add(found.message, found.thread_ordinal, Reason::Match) {
            ranks.insert(ranked.id, rank);
            entry.set_rank(rank, &ranked, passage);
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

/// The most bytes of a message in an answer, with the data of its files that are added later.
pub(crate) fn bytes_of(message: &Message) -> Size {
    Size::of_bytes(message_bytes_at_most(message))
}

/// Counts the messages that did not fit, by their reason. Each has its reason and its stored tokens.
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
    /// Whether matches are kept that have the content of others, as the window's always are.
    keeps_repeats: bool,
    omitted: Vec<Omission>,
}

impl Entries {
    /// Adds a message, or a reason to one that is present; `None` for a duplicate of
    /// another message that is not kept.
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
                let new = self.contents.insert(Content::new(&message));
                let is_kept = match reason {
                    Reason::Recent => true,
                    Reason::Match => self.keeps_repeats,
                    Reason::Neighbor => false,
                };
                if !new && !is_kept {
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
            passage: None,
            neighbor_of: Vec::new(),
        }
    }

    /// A match without other reasons.
    pub(crate) fn of_match(rank: u32, found: Match) -> Self {
        let mut message = Self::new(found.found.message);
        message.reasons.push(Reason::Match);
        message.set_rank(rank, &found.ranked, found.passage);
        message
    }

    fn set_rank(&mut self, rank: u32, ranked: &Ranked, passage: Option<String>) {
        self.rank = rank;
        self.score = ranked.relevance.unwrap_or_default();
        self.dense_score = ranked.dense;
        self.lexical_score = ranked.lexical;
        self.passage = passage;
    }
}

#[cfg(test)]
mod tests;

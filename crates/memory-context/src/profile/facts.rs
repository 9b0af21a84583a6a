//! What holds of a user, merged and ordered.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use memory_contract::{MemoryId, ThreadId, limits, memory::MemoryTimes};
use memory_store::{Caller, HeldMemories, HeldMemory, MemoryOwners, Store, StoreError};
use time::OffsetDateTime;

/// A fact, and the memories that state it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fact {
    /// The text of the oldest memory, as are topic and times.
    pub(crate) text: String,
    /// Empty for none.
    pub(crate) topic: String,
    pub(crate) event: Option<OffsetDateTime>,
    pub(crate) valid_from: OffsetDateTime,
    /// The memories, the oldest first, each with the thread that it came from.
    pub(crate) memories: Vec<(MemoryId, Option<ThreadId>)>,
    /// Whether one of the memories is pinned.
    pub(crate) pinned: bool,
    /// The position of the oldest memory in the order of creation.
    ordinal: i64,
}

/// Facts about a user. A fact is named by its place in the order of a page: by topic, those
/// without one last, then by creation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    /// In the order of a page.
    facts: Vec<Fact>,
    /// Places, the most important first.
    by_importance: Vec<usize>,
    /// How many memories hold, also those that were not read.
    total: i64,
}

impl Facts {
    /// Reads what holds of a user, or held at some times.
    ///
    /// # Errors
    /// Only errors of the database.
    pub(crate) async fn read(
        store: &Store,
        caller: &Caller,
        owners: &MemoryOwners,
        times: MemoryTimes,
    ) -> Result<Self, StoreError> {
        let memories = store.memories(caller);
        let held = memories.held_memories(owners, times, limits::PROFILE_MEMORIES);
        Ok(Self::of(held.await?))
    }

    /// Merges memories that say the same, which those of several apps may do.
    pub(super) fn of(held: HeldMemories) -> Self {
        let HeldMemories { memories, total } = held;
        let mut merged: Vec<Vec<HeldMemory>> = Vec::with_capacity(memories.len());
        let mut known: HashMap<Vec<u8>, usize> = HashMap::with_capacity(memories.len());
        for memory in memories {
            match known.entry(memory.content_hash.clone()) {
                Entry::Occupied(found) => merged[*found.get()].push(memory),
                Entry::Vacant(new) => {
                    new.insert(merged.len());
                    merged.push(vec![memory]);
                }
            }
        }
        // A fact is as important as the most important of its memories.
        let facts = merged.into_iter().filter_map(Fact::of);
        let mut ranked: Vec<(usize, Fact)> = facts.enumerate().collect();
        ranked.sort_by(|(_, one), (_, other)| one.order().cmp(&other.order()));
        let (ranks, facts): (Vec<usize>, Vec<Fact>) = ranked.into_iter().unzip();
        let mut by_importance: Vec<usize> = (0..facts.len()).collect();
        by_importance.sort_by_key(|&place| ranks[place]);
        Self {
            facts,
            by_importance,
            total,
        }
    }

    /// The facts in the order of a page.
    pub(crate) fn in_order(&self) -> &[Fact] {
        &self.facts
    }

    /// The facts with their places, the most important first.
    pub(crate) fn by_importance(&self) -> impl Iterator<Item = (usize, &Fact)> {
        self.by_importance
            .iter()
            .map(move |&place| (place, &self.facts[place]))
    }

    /// How many memories hold, also those that were not read.
    pub(super) fn total(&self) -> i64 {
        self.total
    }

    /// The size of the texts, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.facts.iter().map(|fact| fact.text.len()).sum()
    }
}

impl Fact {
    /// The fact that some memories state; `None` without any.
    fn of(mut memories: Vec<HeldMemory>) -> Option<Self> {
        memories.sort_by_key(|memory| memory.ordinal);
        let pinned = memories.iter().any(|memory| memory.pinned);
        let ids = memories.iter().map(|memory| (memory.id, memory.thread));
        let ids = ids.collect();
        let oldest = memories.into_iter().next()?;
        Some(Self {
            text: oldest.text,
            topic: oldest.topic,
            event: oldest.event,
            valid_from: oldest.valid_from,
            memories: ids,
            pinned,
            ordinal: oldest.ordinal,
        })
    }

    /// What facts are ordered by. A changed fact moves no other one, so the text of a page
    /// changes little.
    fn order(&self) -> (bool, &str, i64) {
        (self.topic.is_empty(), &self.topic, self.ordinal)
    }
}

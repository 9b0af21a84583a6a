//! Compares memories with what an import of them stored or found.

use memory_contract::memory::normalized;
use memory_contract::proto::{ImportedMemory, Memory};

use crate::units::memory_digest;

/// What became of an imported memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryOutcome {
    /// It was stored.
    Stored,
    /// It had been stored before, with this content.
    Known,
    /// It was not stored, because another memory of the user has its text.
    Merged,
    /// It was not stored, because another memory of the user has its external id.
    NameTaken,
    /// A memory with its id has other content, and was kept.
    Different,
}

/// What became of a memory that was sent.
pub fn memory_outcome(sent: &Memory, imported: &ImportedMemory) -> MemoryOutcome {
    let ImportedMemory {
        memory,
        created,
        missing_source_count,
        ..
    } = imported;
    let there = memory.clone().unwrap_or_default();
    let digest = |memory: &Memory| {
        let mut memory = memory.clone();
        // Where a memory of another user has the id, the server chooses one.
        memory.memory_id.clear();
        if *missing_source_count > 0 {
            memory.source_message_ids.clear();
        }
        // The server takes the time of the import where none was sent.
        if sent.create_time.is_none() {
            memory.create_time = None;
        }
        if sent.valid_from.is_none() {
            memory.valid_from = None;
        }
        if sent.known_until.is_none() {
            memory.known_until = None;
        }
        memory_digest(&memory)
    };
    let is_other = there.memory_id != sent.memory_id;
    let has_text = normalized(&there.text) == normalized(&sent.text);
    match (*created, digest(&there) == digest(sent)) {
        (true, true) => MemoryOutcome::Stored,
        (true, false) if is_other => MemoryOutcome::Stored,
        (false, true) => MemoryOutcome::Known,
        (false, false) if is_other && has_text => MemoryOutcome::Merged,
        (false, false) if is_other => MemoryOutcome::NameTaken,
        (_, false) => MemoryOutcome::Different,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(id: &str, text: &str, topic: &str) -> Memory {
        Memory {
            memory_id: id.to_owned(),
            text: text.to_owned(),
            topics: vec![topic.to_owned()],
            ..Default::default()
        }
    }

    fn outcome(there: Memory, created: bool) -> MemoryOutcome {
        let imported = ImportedMemory {
            memory: Some(there),
            created,
            ..Default::default()
        };
        memory_outcome(&memory("1", "Lives in Oslo", "home"), &imported)
    }

    #[test]
    fn each_outcome_is_told_from_what_is_stored() {
        let oslo = "Lives in Oslo";
        for (there, created, expected) in [
            (memory("1", oslo, "home"), true, MemoryOutcome::Stored),
            (memory("2", oslo, "home"), true, MemoryOutcome::Stored),
            (memory("1", oslo, "home"), false, MemoryOutcome::Known),
            (memory("2", oslo, "home"), false, MemoryOutcome::Known),
            (memory("2", oslo, "work"), false, MemoryOutcome::Merged),
            (
                memory("2", "lives  in oslo", "home"),
                false,
                MemoryOutcome::Merged,
            ),
            (
                memory("2", "Lives in Bergen", "home"),
                false,
                MemoryOutcome::NameTaken,
            ),
            (
                memory("1", "Lives in Bergen", "home"),
                false,
                MemoryOutcome::Different,
            ),
        ] {
            assert_eq!(outcome(there.clone(), created), expected, "{there:?}");
        }
    }
}

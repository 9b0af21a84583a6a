//! Records the day on which memories were last returned, off the path of reads.

use memory_contract::{MemoryId, memory::Memory};

use super::rows::today;
use crate::MemoryStore;

impl MemoryStore<'_> {
    /// Records that memories were returned, once a day for each. It does not wait; when
    /// the queue is full, nothing is recorded.
    pub fn memories_used<'a>(self, memories: impl IntoIterator<Item = &'a Memory>) {
        let today = today();
        let ids: Vec<MemoryId> = memories
            .into_iter()
            .filter(|memory| memory.last_used.is_none_or(|last| last < today))
            .map(|memory| memory.id)
            .collect();
        if !ids.is_empty() {
            self.uses.push(self.caller.tenant.clone(), ids);
        }
    }
}

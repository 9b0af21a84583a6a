//! The views of what is made of conversations.

use memory_conversations::Conversations;
use memory_database::queue::Turn;

use crate::memories::Uses;

memory_database::views! {
    /// Summaries, observations and the ledger of a thread.
    DistillateStore;
    /// Working memories of sessions.
    WorkingMemoryStore { conversations: Conversations };
    /// Long-term memories.
    MemoryStore { uses: Uses };
}

memory_database::worker_views! {
    /// The queue of threads to distill.
    DistillateWorker { turn: Turn };
    /// Expired working memories.
    WorkingMemoryWorker { conversations: Conversations };
    /// Memories to forget and to extract once more.
    MemoryWorker { uses: Uses };
}

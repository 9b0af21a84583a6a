//! The views of conversations.

use crate::Conversations;

memory_database::views! {
    /// Threads, their branches and heads, and watching them.
    ThreadStore { conversations: Conversations };
    /// Messages, histories, and what recall reads of them.
    MessageStore { conversations: Conversations };
    /// Policies of apps, and of threads together with the policies of their apps.
    PolicyStore;
    /// Content that messages contain themselves.
    ContentStore;
    /// Metadata of files.
    FileStore;
    /// Deletions of users, apps and tenants.
    ErasureStore;
}

memory_database::worker_views! {
    /// Ephemeral threads of all tenants.
    ThreadWorker;
    /// Remembered requests that appended messages.
    MessageWorker;
    /// Content that messages contain themselves.
    ContentWorker;
    /// The queue of erasures, and what is kept of changes.
    ErasureWorker;
}

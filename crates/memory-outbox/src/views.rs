//! The view of the outbox for one caller.

memory_database::views! {
    /// Changes that the index has yet to apply.
    IndexStore;
}

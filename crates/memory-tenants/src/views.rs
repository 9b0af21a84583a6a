//! The views of what belongs to a tenant.

memory_database::views! {
    /// API keys.
    KeyStore;
    /// The record of who changed what.
    AuditStore;
    /// Tokens that language models have used, and storage.
    UsageStore;
}

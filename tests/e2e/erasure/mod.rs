//! Cleared and deleted messages can be neither read nor continued; deleted threads, users, apps
//! and tenants leave nothing behind.

mod clearing;
mod concurrent;
mod deleted_parents;
mod deletions;
pub mod held;

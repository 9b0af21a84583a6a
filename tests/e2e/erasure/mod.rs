//! Cleared and deleted messages can be neither read nor continued.

mod clearing;
mod concurrent;
mod deleted_parents;
mod held;

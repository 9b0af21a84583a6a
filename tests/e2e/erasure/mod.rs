//! Cleared and deleted messages can be neither read nor continued.

mod clearing;
mod deleted_parents;
mod held;

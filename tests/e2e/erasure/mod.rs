//! What is cleared or deleted can be neither read nor continued.

mod clearing;
mod deleted_parents;

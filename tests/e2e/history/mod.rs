//! History is exact, and is cut to its budget in whole turns.

pub mod budgets;
mod formats;
mod golden;
mod oversized_turns;

//! A context holds what its policy selects, in a fixed order, within its budget.

pub mod budgets;
pub mod chat_rules;
mod cuts;
mod formats;
mod instructions;
mod modes;
mod prompt;
mod recalled;

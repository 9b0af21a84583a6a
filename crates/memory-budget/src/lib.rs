#![doc = include_str!("../README.md")]

mod error;
mod tokenizer;
mod turns;
mod cut;
mod fit;

pub use cut::{Budget, Cut, OversizedTurn, cut};
pub use error::BudgetError;
pub use fit::{Fit, fit};
pub use tokenizer::{FRAME_TOKENS, Tokenizer};
pub use turns::{Turn, turns};

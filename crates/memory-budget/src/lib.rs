#![doc = include_str!("../README.md")]

mod cut;
mod error;
mod fit;
mod lines;
mod shorten;
mod tokenizer;
mod turns;
mod window;

pub use cut::{Budget, Cut, OversizedTurn, cut};
pub use error::BudgetError;
pub use fit::{Fit, fit};
pub use tokenizer::{FRAME_TOKENS, Tokenizer};
pub use turns::{Turn, turns};
pub use window::context_window;

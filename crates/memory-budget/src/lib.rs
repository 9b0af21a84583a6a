#![doc = include_str!("../README.md")]

mod amount;
mod budget;
mod cut;
mod error;
mod files;
mod lines;
mod recount;
mod room;
mod shorten;
mod tokenizer;
mod turns;
mod window;

pub use amount::Amount;
pub use budget::{Budget, OversizedTurn};
pub use cut::{Cut, cut, cut_after};
pub use error::BudgetError;
pub use room::{Room, Size};
pub use tokenizer::{FRAME_TOKENS, Tokenizer};
pub use turns::{Turn, turns};
pub use window::context_window;

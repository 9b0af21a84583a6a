#![doc = include_str!("../README.md")]

mod kinds;
mod never_kept;
mod schema;

pub use kinds::{Kinds, check_kinds};
pub use never_kept::NeverKept;
pub use schema::Misfit;

//! The times of questions, as sentences.
#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

mod calendar;
mod chinese;
mod english;
mod french;
mod german;
mod japanese;
mod properties;
mod spanish;
mod table;

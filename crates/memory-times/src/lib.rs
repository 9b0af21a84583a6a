#![doc = include_str!("../README.md")]

mod amounts;
mod calendar;
mod clock;
mod dates;
mod found;
mod grammar;
mod hidden;
mod language;
mod languages;
mod lexicon;
mod meaning;
mod numbers;
mod periods;
mod points;
mod sentence;
mod terms;
mod tokens;

pub use calendar::EARLIEST;
pub use clock::{Clock, NamedTime, UnknownZone};
pub use jiff::Timestamp;
